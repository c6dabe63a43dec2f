"""`polycmp locate` with a backend in a process of its own."""

from __future__ import annotations

import sys
import tempfile
import venv

from toymodels import chain, node, write

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
