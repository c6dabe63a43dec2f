"""What the page says is different is so, with both tools."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from copied_processes import ran_python
from live_polygraphy import POLYGRAPHY_PYTHON, live
from polygraphy_differences import COMMANDS, HEAD, PAGE, PROGRAMS, ROWS, STRICTER, table_of_commands, table_of_programs
from test_parity import PARITY
from test_polygraphy_programs import printed

RUN = [row for row in ROWS if row.program]
EACH = pytest.mark.parametrize("row", RUN, ids=[row.theirs[:40] for row in RUN])


def write_program(folder, row):
    """Write the program of a row."""
    (folder / "row.py").write_text(HEAD + row.program, encoding="utf-8")


@EACH
def test_a_program_shows_the_difference(tmp_path, row):
    write_program(tmp_path, row)
    done = ran_python("-m", "polycmp_polygraphy", "row.py", cwd=tmp_path)
    assert printed(done).strip() == row.prints_ours
    assert row.prints_ours != row.prints_theirs


@live
@EACH
def test_the_real_tool_does_what_the_row_says(tmp_path, row):
    write_program(tmp_path, row)
    command = [POLYGRAPHY_PYTHON, "row.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240)
    assert printed(done).strip() == row.prints_theirs


@live
@pytest.mark.parametrize("entry", [*STRICTER, *PARITY], ids=[entry["run"] for entry in [*STRICTER, *PARITY]])
def test_a_command_ends_with_the_real_tool_as_the_table_says(workshop, entry):
    program = Path(POLYGRAPHY_PYTHON).parent / "polygraphy"
    done = subprocess.run(
        [program, "run", *shlex.split(entry["run"])],
        cwd=workshop, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == entry["polygraphy"], done.stdout + done.stderr


def test_a_row_that_is_not_run_is_a_refusal_with_its_reason():
    assert all(row.ours.startswith("refused: ") for row in ROWS if not row.program)


def test_the_page_holds_both_tables():
    page = PAGE.read_text(encoding="utf-8")
    assert (table_of_commands() in page, table_of_programs() in page) == (True, True)
    assert (page.count(COMMANDS[0]), page.count(PROGRAMS[0])) == (1, 1)
