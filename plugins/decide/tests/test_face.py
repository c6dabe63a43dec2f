"""The page of a decision."""

from __future__ import annotations

import base64
import re
from io import BytesIO

import pytest


def test_a_page_lists_the_samples_and_shows_them(digits, decide, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    pytest.importorskip("polycmp_report")
    said = decide(f"damaged.onnx float.onnx -b onnxrt --data pictures --report {tmp_path / 'page.html'}", digits)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(item["sample"] in page for item in said.document["changed"])
    assert "Samples that change" in page
    shown = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert len(shown) == min(100, len(said.document["changed"]))
    worst = min(said.document["changed"], key=lambda item: item["new_score"] - item["old_score"])
    with (
        Image.open(digits / "pictures" / worst["sample"]) as file,
        Image.open(BytesIO(base64.b64decode(shown[0]))) as small,
    ):
        assert small.convert("L").tobytes() == file.convert("L").tobytes()
