"""Results of a search as reports show them: all tell the same."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from toymodels import chain

from polycmp.results.outcome import BackendResult
from polycmp_locate.report.presentation import result_of
from polycmp_locate.values.located import Located


def test_all_reports_tell_the_same(polycmp, tmp_path):
    pytest.importorskip("polycmp_report")
    chain(tmp_path / "m.toy", changed=8)
    chain(tmp_path / "good.toy")
    backends = ("-b", "toy", "-b", "plain:name=ref,model=good.toy")
    words = ("--report", "r.json", "--report", "r.html", "--report", "r.xml")
    done = polycmp("locate", "m.toy", *backends, *words)
    found = done.report()
    page = (tmp_path / "r.html").read_text()
    assert page.count('<a href="#detail-') == page.count('id="detail-') == len(found["tensors"])
    assert "MatMul &#x27;n_h8&#x27; computes" in page or "MatMul &#39;n_h8&#39; computes" in page
    root = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None] == ["h8"]


def test_what_was_seen_before_a_backend_failed_is_told_on_the_terminal():
    found = Located("new", "old")
    found.backends = [BackendResult(label="new", backend="onnxrt")]
    found.backends[0].error = "inference failed"
    found.sentence = "within rounding: no operator is wrong"
    shown = result_of(found)
    assert shown.heading == "ERROR"
    assert shown.sentence == "new failed; seen without that: within rounding: no operator is wrong"
