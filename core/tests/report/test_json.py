"""The report of the core is the command's document."""

from __future__ import annotations

import json

from polycmp.report import Result
from polycmp.report.writers import write_json as write


def test_the_document_is_written_as_it_is(tmp_path):
    document = {"schema": 1, "verdict": "passed", "seconds": float("nan"), "names": ("a", "b")}
    write(Result("run", "passed", "PASSED", "fine", document=document), str(tmp_path / "r.json"))
    found = json.loads((tmp_path / "r.json").read_text())
    assert list(found) == list(document)
    assert (found["seconds"], found["names"]) == ("nan", ["a", "b"])
