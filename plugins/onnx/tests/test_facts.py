"""Facts that tell models apart, of files that may be anything."""

from __future__ import annotations

from pathlib import Path

from polycmp_onnx.facts import facts


def test_the_opset_is_told_and_nothing_of_other_files(mlp_file, tmp_path):
    assert facts(mlp_file) == {"opset": 17}
    (tmp_path / "text.json").write_bytes(Path(mlp_file).read_bytes())
    assert facts(str(tmp_path / "text.json")) == facts(str(tmp_path / "nothing.onnx")) == {}


def test_a_file_that_breaks_off_has_an_opset_or_none(mlp_file, tmp_path):
    whole = Path(mlp_file).read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "part.onnx").write_bytes(whole[:length])
        assert facts(str(tmp_path / "part.onnx")) in ({}, {"opset": 17})
