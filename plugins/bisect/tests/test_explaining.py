"""The page for an issue: what whoever mends it needs."""

from __future__ import annotations

import re
import zipfile

import pytest
from releases import write_model


@pytest.mark.corpus
def test_the_page_tells_what_whoever_mends_it_needs(polycmp, tmp_path):
    for number, factor in enumerate((2, 2, 3)):
        write_model(tmp_path / f"n{number}.onnx", factor)
    words = ("n0.onnx", "n1.onnx", "n2.onnx", "-b", "onnxrt", "-b", "onnxrt:model=n0.onnx", "--over", "files")
    done = polycmp("bisect", *words, "--no-locate", "--explain", "page")
    assert done.status == 1, done.err
    assert "the text of an issue: page/issue.md" in done.out
    page = (tmp_path / "page/issue.md").read_text()
    assert page.startswith("# n2.onnx gives wrong results; n1.onnx is right\n")
    assert "| n1.onnx | good, y off by 0 of its range |" in page
    with zipfile.ZipFile(tmp_path / "page/case.zip") as archive:
        assert any(name.endswith(".onnx") for name in archive.namelist())
    assert "[case.zip](case.zip)" in page
    assert re.search(r"onnxruntime==\S+ numpy==", page)
