"""The search: what one stage hands to the next, on models of twelve layers, and what cannot be searched."""

from __future__ import annotations

import sys
import tempfile
import venv
from dataclasses import FrozenInstanceError

import pytest
from toymodels import chain, node, number, small, write

from polycmp_locate.judge import judge
from polycmp_locate.measure.measure import measure
from polycmp_locate.report.report import report
from polycmp_locate.sweep.bisect import bisect
from polycmp_locate.sweep.sweep import open_way, sweep


def test_operators_of_suspicious_tensors_are_measured_and_others_not(setting, feed):
    with open_way(setting, feed) as way:
        rows = {row.tensor: row for row in measure(sweep(way), setting).rows}
    assert rows["h4"].standalone is None
    assert rows["h5"].standalone.relative > 0.1
    assert rows["h5"].inputs.keys() == {"r4"}
    with open_way(setting, feed) as way:
        rows = {row.tensor: row for row in measure(sweep(way), setting, extent="all").rows}
    assert rows["h4"].standalone is None
    assert rows["y"].standalone.relative == 0.0


@pytest.mark.parametrize("look", [sweep, bisect])
def test_the_layer_with_other_weights_is_named(setting, feed, whole, look):
    with open_way(setting, feed) as way:
        judged = judge(measure(look(way), setting), whole)
    assert (judged.verdict, judged.first_bad.tensor, judged.open_until) == ("wrong", "h5", None)
    assert judged.is_whole is (look is sweep)
    found = report(judged, setting)
    assert found.sentence.startswith("wrong: MatMul 'n_h5' computes 'h5'")


def test_no_stage_changes_what_another_one_made(setting, feed, whole):
    with open_way(setting, feed) as way:
        measured = measure(sweep(way), setting)
        judged = judge(measured, whole)
    for value, name in ((measured, "rows"), (measured.rows[0], "relative"), (judged, "verdict")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)


FOUR = {"x": ["float32", [4]]}


REPORT = ("--report", "r.json", "--explain")


def test_the_reference_may_be_named(locate, tmp_path):
    small(tmp_path / "m.toy")
    _, found = locate("-b", "plain", "-b", "toy:name=bad,fault=add,at=h", "--reference", "plain")
    assert (found["candidate"], found["reference"]) == ("bad", "plain")


def test_a_later_feed_is_searched_if_the_first_shows_nothing(polycmp, tmp_path):
    nodes = [node("Relu", "x", "h"), node("Mul", "h k", "y")]
    for path, factor in (("m.toy", 1), ("good.toy", 2)):
        write(tmp_path / path, nodes, {"k": number(factor)}, FOUR)
    (tmp_path / "feeds.py").write_text(
        "import numpy as np\n"
        "def load_data():\n    for value in (-1, -1, 1):\n        yield {'x': np.full(4, value, np.float32)}\n"
    )
    words = ("-b", "plain", "-b", "plain:name=ref,model=good.toy", "--data-loader-script", "feeds.py", *REPORT)
    done = polycmp("locate", "m.toy", *words)
    assert (done.status, done.report()["iteration"], done.report()["first_bad"]) == (1, 2, "y")


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("-b", "toy"), 2, "a search needs two backends"),
        (("-b", "toy", "-b", "shut"), 2, "cannot run parts of a model"),
        (("-b", "toy", "-b", "shut"), 2, "outputs can be compared: polycmp run MODEL"),
        (("-b", "toy", "-b", "plain", "--reference", "plane"), 2, "did you mean 'plain'"),
        (("-b", "toy", "-b", "plain", "--save-outputs", "o.npz"), 2, "--save-outputs"),
        (("-b", "toy", "-b", "needy"), 3, "a_library_that_nobody_has"),
        (("-b", "toy", "-b", "plain", "--data-loader", "ramp", "--ramp-count", "0"), 2, "gave no inputs"),
    ],
)
def test_what_cannot_be_searched(polycmp, tmp_path, words, status, says):
    small(tmp_path / "m.toy")
    done = polycmp("locate", "m.toy", *words)
    assert done.status == status
    assert says in done.err


HERE = f"python={sys.executable}"


def one_operator(path):
    """Alone, an operator is all that there is to blame."""
    write(path, [node("Relu", "x", "y")], {}, {"x": ["float32", [2, 8]]})


def test_parts_of_a_model_run_in_workers(polycmp, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    chain(tmp_path / "m.toy", 2, changed=2)
    chain(tmp_path / "good.toy", 2)
    words = ("-b", f"toy:{HERE},name=cand", "-b", "plain:name=ref,model=good.toy", "--report", "r.json", "--no-float64")
    done = polycmp("locate", "m.toy", *words)
    assert (done.status, done.report()["first_bad"]) == (1, "h2")
    assert not list((tmp_path / "temporary").iterdir())


def test_an_interpreter_without_polycmp_accuses_no_operator(polycmp, tmp_path):
    venv.create(tmp_path / "old", symlinks=True)
    python = tmp_path / "old" / "bin" / "python"
    chain(tmp_path / "m.toy", 2)
    one_operator(tmp_path / "one.toy")
    for model in ("m.toy", "one.toy"):
        done = polycmp("locate", model, "-b", f"toy:python={python},name=old", "-b", "plain:name=ref")
        assert done.status == 3, done.out
        assert "cannot run polycmp" in done.words
        assert "FOUND" not in done.words


def test_an_interpreter_that_is_not_there_accuses_no_operator(polycmp, tmp_path):
    one_operator(tmp_path / "m.toy")
    done = polycmp("locate", "m.toy", "-b", f"toy:python={tmp_path / 'none'},name=old", "-b", "plain:name=ref")
    assert done.status == 3, done.out
    assert "cannot start" in done.words
    assert "FOUND" not in done.words
