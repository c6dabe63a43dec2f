"""All reports of a search tell the same."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from toymodels import chain


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
