"""What the page says of commands is so, with both tools."""

from __future__ import annotations

import shlex

import numpy as np
import polygraphy_examples
import public_lines
import pytest
import tool_commands
from cli_table import COMMANDS as OF_POLYGRAPHY
from live_polygraphy import live
from parity_folder import save_outputs
from polygraphy_commands import COMMANDS, DIFFERENCES, MARKS, PAGE, WORDS, table, table_of_words
from test_parity import PARITY
from test_public_lines import run_theirs

from polycmp.comparator import RunResults
from polycmp.plugins import Registry

EACH = pytest.mark.parametrize("row", DIFFERENCES, ids=[row.what.replace("`", "") for row in DIFFERENCES])


@pytest.fixture
def folder(workshop):
    """The folder of the parity list, with outputs of which one element is far off."""
    outputs = RunResults.load(str(workshop / "golden.json"))[0][1][0]
    spoilt = {name: np.array(array) for name, array in outputs.items()}
    spoilt["y"].flat[0] += 1
    save_outputs(workshop / "worst.json", spoilt)
    save_outputs(workshop / "golden.json", dict(outputs))
    return workshop


def shown(row, place, printed):
    """Return where the texts of a row are to be found."""
    return (place / row.file).read_bytes().decode(errors="replace") if row.file else printed


@EACH
def test_polycmp_does_what_the_row_says(polycmp, folder, row, monkeypatch):
    monkeypatch.chdir(folder)
    done = polycmp(*shlex.split(row.run)[1:])
    assert done.status == row.ends[1], done.out + done.err
    done = polycmp(*shlex.split(row.then)[1:]) if row.then else done
    assert row.shows[1] in shown(row, folder, done.out), done.out + done.err


@live
@EACH
def test_the_real_tool_does_what_the_row_says(folder, row):
    done = run_theirs(folder, row.run)
    assert done.returncode == row.ends[0], done.stdout + done.stderr
    done = run_theirs(folder, row.then) if row.then else done
    assert row.shows[0] in shown(row, folder, done.stdout), done.stdout + done.stderr


def lines_of_commands():
    """Return the words of all lines that are run with both tools, without the program's name."""
    public = [line for group in (*public_lines.LINES.values(), public_lines.TENSORRT) for line in group]
    examples = [line for lines in polygraphy_examples.SAME.values() for line in lines]
    with_name = [line.split(" ", 2)[2].removeprefix("TOOL ") for line in (*public, *examples)]
    table_lines = [line.split("  ", 1)[1] for line in tool_commands.TABLE.strip().splitlines()]
    return [*with_name, *table_lines, *(f"run {entry['run']}" for entry in PARITY)]


#: Commands that need TensorRT or a file that only it makes, whose options are compared with those of the real parsers;
#: `check accuracy` is held beside the real one in `test_check_accuracy`.
ELSEWHERE = {
    *("inspect tactics", "inspect diff-tactics", "inspect capability", "debug precision", "debug build"),
    "check accuracy",
}


def test_each_command_is_run_with_both_tools_or_is_refused():
    lines = lines_of_commands()
    known = Registry.discover().commands
    for row in COMMANDS:
        for words in row.theirs:
            assert (words in known) != row.theirs_only, words
            assert row.theirs_only or words in ELSEWHERE or any(line.startswith(f"{words} ") for line in lines), words


def test_each_command_of_polygraphy_has_a_row():
    assert {words for row in COMMANDS for words in row.theirs} == set(OF_POLYGRAPHY)


@pytest.mark.parametrize("words", [words for row in COMMANDS if row.theirs_only for words in row.theirs])
def test_a_refused_command_says_why(polycmp, words):
    done = polycmp(*words.split(), "model.onnx")
    assert (done.status, "why:" in done.err) == (2, True), done.err


def test_the_page_holds_both_tables():
    page = PAGE.read_text(encoding="utf-8")
    assert (table() in page, table_of_words() in page) == (True, True)
    assert (page.count(MARKS[0]), page.count(WORDS[0])) == (1, 1)
