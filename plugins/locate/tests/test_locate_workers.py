"""`polycmp locate` with a backend in a process of its own."""

from __future__ import annotations

import sys
import tempfile

from toymodels import chain

HERE = f"python={sys.executable}"


def test_parts_of_a_model_run_in_workers(polycmp, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    chain(tmp_path / "m.toy", 2, changed=2)
    chain(tmp_path / "good.toy", 2)
    words = ("-b", f"toy:{HERE},name=cand", "-b", "plain:name=ref,model=good.toy", "--report", "r.json", "--no-float64")
    done = polycmp("locate", "m.toy", *words)
    assert (done.status, done.report()["first_bad"]) == (1, "h2")
    assert not list((tmp_path / "temporary").iterdir())
