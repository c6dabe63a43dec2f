"""The page of a search."""

from __future__ import annotations

import re

import converted_models as converted
from located import locate_files


def test_the_page_shows_how_tensors_were_paired(polycmp, tmp_path):
    good, other = converted.network(tmp_path / "good.onnx"), converted.exported(tmp_path / "other.onnx")
    locate_files(polycmp, other, good, "--report", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "without counterpart in new" in page
    assert re.search(r"paired by structure with \S*gelu1\S* of old", page)
    assert "made by Div, Erf, Add, Mul, Mul; in old by Gelu" in page
