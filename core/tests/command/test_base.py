"""A command whose options come from sections and plugins: its help, and calls that are checked before they run."""

from __future__ import annotations

import pytest

from polycmp.command import BackendCommand, check_calls
from polycmp.errors import UsageError


def test_help_shows_the_plugin_that_is_asked_for_and_folds_the_others(polycmp):
    plain, of_toy, everything = (
        polycmp("run", *words).out for words in (("--help",), ("--help", "toy"), ("--help", "all"))
    )
    assert "More options, from plugins: see polycmp run --help NAME" in plain
    assert "--toy-amount" not in plain
    assert "--toy-amount" in of_toy
    assert "--warm-up" not in of_toy
    assert "--toy-amount" in everything
    assert "--warm-up" in everything
    assert "[default: 1.0]" in of_toy
    done = polycmp("run", "--help", "toyy")
    assert done.status == 2
    assert "polycmp run has no options of 'toyy'" in done.err
    assert "did you mean 'toy'" in done.err


def test_help_for_a_plugin_that_is_not_there_says_how_to_get_it(polycmp):
    done = polycmp("run", "--help", "trt")
    assert (done.status, done.out) == (3, "")
    assert "pip install 'polycmp-trt" in done.err
    assert "--toy-threads" in polycmp("run", "--help", "toy").out
    assert "--toy-threads" not in polycmp("run", "--help").out


def test_a_section_that_does_not_exist_is_a_mistake_of_who_writes_the_command():
    with pytest.raises(ValueError, match=r"mine: there is no section 'dat'; there are .*data"):
        BackendCommand("mine", lambda call: 0, options=("dat.input_shapes",))


def test_a_call_that_is_not_to_run_is_refused_before_it_runs(polycmp, model, monkeypatch):
    def refuse(call):
        raise UsageError(f"{call.options.model} is not to be run")

    monkeypatch.setattr("polycmp.command.base._checks", [])
    check_calls(refuse)
    done = polycmp("run", "m.toy", "-b", "toy", "--save-outputs", "o.npz")
    assert (done.status, "m.toy is not to be run" in done.err) == (2, True)
    assert not (done.folder / "o.npz").exists()
