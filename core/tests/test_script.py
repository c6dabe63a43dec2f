"""A user's Python file, imported in isolation."""

from __future__ import annotations

import os
import sys

import pytest

from polycmp._script import load_script
from polycmp.errors import DataError


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(text, name="mine.py"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_it_may_be_called_as_a_module_is_and_import_its_neighbours(script):
    script("answer = 42\n", "a_neighbour_of_mine.py")
    path = script("import json as real\nfrom a_neighbour_of_mine import answer\nname = real.__name__\n", "json.py")
    assert (load_script(path, "answer"), load_script(path, "name")) == (42, "json")
    assert sys.modules["json"].__file__ != path
    del sys.modules["a_neighbour_of_mine"]


def test_it_is_executed_once_until_it_changes(script, tmp_path):
    path = script("runs = []\nruns.append(1)\n")
    first = load_script(path, "runs")
    assert load_script(path, "runs") is first
    script("runs = [1, 2]\n")
    os.utime(path, ns=(1, 1))
    assert load_script(path, "runs") == [1, 2]


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("load = 1\n", "has no 'load_data'", "load"),
        ("import no_such_module_at_all\n", "fails to import", "no_such_module_at_all"),
        ("raise SystemExit(3)\n", "fails to import", "SystemExit"),
        ("def load_data(:\n", "fails to import", "SyntaxError"),
    ],
)
def test_what_is_wrong_with_it_is_said_with_what_to_try(script, text, what, why):
    path = script(text)
    with pytest.raises(DataError, match=what) as caught:
        load_script(path, "load_data")
    assert why in caught.value.why
    assert path in caught.value.hint
    assert not [
        name for name in sys.modules if getattr(sys.modules[name], "__file__", "") == path and "load" not in text
    ]


def test_ctrl_c_in_it_goes_through_and_a_missing_one_is_named(script, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        load_script(script("raise KeyboardInterrupt\n"), "x")
    with pytest.raises(DataError, match=r"no such script: .*nothing\.py"):
        load_script(str(tmp_path / "nothing.py"), "x")
    with pytest.raises(DataError, match="is not a Python file"):
        load_script(script("x = 1\n", "x.txt"), "x")
