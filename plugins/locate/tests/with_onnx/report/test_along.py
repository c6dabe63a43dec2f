"""The error along a model, drawn on the page of a search."""

from __future__ import annotations

from xml.etree import ElementTree

import faulty_models


def test_the_page_draws_every_tensor_and_needs_no_network(polycmp, tmp_path):
    good, bad = faulty_models.chain(tmp_path / "good.onnx", 6), faulty_models.chain(tmp_path / "bad.onnx", 6, 4)
    words = ("-b", "onnxrt", "-b", f"onnxrt:name=<ref>,model={good}")
    polycmp("locate", bad, *words, "--report", "found.html", "--report", "found.xml")
    page = (tmp_path / "found.html").read_text()
    drawing = page.partition('class="drift"')[2].partition("</svg>")[0]
    assert drawing.count('<a href="#detail-') == page.count('id="detail-') == 12
    assert "&lt;ref&gt;" in page
    assert "<ref>" not in page
    assert page.count('src="') == page.count('src="data:image/png;base64,')
    root = ElementTree.parse(tmp_path / "found.xml").getroot()
    failed = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    assert (failed, root.get("tests"), root.get("failures")) == (["conv4"], "12", "1")
