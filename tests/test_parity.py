"""Command lines that both tools accept, with nothing but the program's name changed.

`data/parity.json` holds lines on which both agree; `data/stricter.json` those that Polygraphy passes although it
should not, with the reason. Polygraphy's exit status in them was recorded by `tools/record_parity.py`.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from workshop import make_workshop

DATA = Path(__file__).parent / "data"
PARITY = json.loads((DATA / "parity.json").read_text())
STRICTER = json.loads((DATA / "stricter.json").read_text())


@pytest.mark.parametrize("entry", PARITY, ids=[entry["run"] for entry in PARITY])
def test_same_command_same_end(polycmp, tmp_path, entry):
    make_workshop(tmp_path)
    done = polycmp("run", *shlex.split(entry["run"]))
    assert done.status == entry["polycmp"], done.out + done.err
    assert "fault of polycmp" not in done.err
    assert (done.status == 0) == (entry["polygraphy"] == 0)


@pytest.mark.parametrize("entry", STRICTER, ids=[entry["run"] for entry in STRICTER])
def test_polycmp_fails_where_polygraphy_passes_wrongly(polycmp, tmp_path, entry):
    make_workshop(tmp_path)
    done = polycmp("run", *shlex.split(entry["run"]))
    assert entry["polygraphy"] == 0
    assert done.status == entry["polycmp"] != 0, done.out + done.err
    assert entry["why"]


def test_the_list_is_long_enough_and_recorded():
    assert len(PARITY) >= 70
    assert len({entry["run"] for entry in PARITY}) == len(PARITY)
