"""The command of a search: what it keeps of the run after which it is named, and that it finds the fault."""

from __future__ import annotations

import html
import shlex

import pytest
from next_commands import WRONG, core_alone, next_of
from toymodels import chain

__all__ = ["core_alone"]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ((), []),
        (("--input-shapes", "x:[3,8]", "--seed", "7"), ["--input-shapes", "x:[3,8]", "--seed", "7"]),
        (("--iterations", "2", "--validate", "--warm-up", "1"), ["--validate", "--iterations", "2"]),
        (("--reference", "plain", "--atol", "1e-6", "--save-outputs", "o.json"),
         ["--reference", "plain", "--atol", "1e-06"]),
        (("--toy-mark-all",), ["--toy-mark-all"]),
    ],
    ids=["plain", "inputs", "options that the search lacks", "files", "all tensors"],
)  # fmt: skip
def test_the_next_step_finds_the_fault(polycmp, tmp_path, words, kept):
    chain(tmp_path / "m o d e l.toy")
    done = polycmp("run", "m o d e l.toy", "-b", WRONG, "-b", "plain", *words, "--report", "r.json", "r.md", "r.html")
    assert done.status == 1
    step = next_of(done)
    assert step == ["locate", "m o d e l.toy", "-b", WRONG, "-b", "plain", *kept]
    assert done.report()["next_steps"] == [
        {
            "command": shlex.join(["polycmp", *step]),
            "purpose": "Find the first tensor inside a model that goes wrong.",
        }
    ]
    assert "- next: <code>polycmp locate " in (tmp_path / "r.md").read_text()
    page = (tmp_path / "r.html").read_text()
    assert "next: Find the first tensor inside a model that goes wrong." in page
    assert html.escape(shlex.join(["polycmp", *step])) in page
    found = polycmp(*step, "--report", "found.json")
    assert found.status == 1
    assert found.report("found.json")["origin"] == "h2"


def test_the_search_gets_the_feed_that_failed(polycmp, tmp_path):
    chain(tmp_path / "m.toy")
    done = polycmp("run", "m.toy", "-b", WRONG, "-b", "plain", "--data-loader", "edges")
    assert done.status == 1
    step = next_of(done)
    assert step[-4:] != ["--data-loader", "edges"]  # the options that make the feed alone stand behind
    assert polycmp(*step).status == 1


def test_a_saved_run_is_what_the_search_believes(polycmp, tmp_path):
    chain(tmp_path / "m.toy")
    assert polycmp("run", "m.toy", "-b", "plain", "--save-outputs", "good.json").status == 0
    done = polycmp("run", "m.toy", "-b", WRONG, "--load-outputs", "good.json")
    assert done.status == 1
    step = next_of(done)
    assert step == ["locate", "m.toy", "-b", WRONG, "--load-outputs", "good.json"]
    assert polycmp(*step).status == 1
