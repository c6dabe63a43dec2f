"""The folder of a case that shows the fault by itself."""

from __future__ import annotations

import faulty_models
import onnx


def test_the_saved_case_repeats_the_fault_in_a_shell(polycmp, shell, tmp_path):
    good, bad = (faulty_models.chain(tmp_path / f"{name}.onnx", 4, at) for name, at in (("good", None), ("bad", 3)))
    polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", "--save-repro", "case")
    case = tmp_path / "case"
    assert [node.name for node in onnx.load(case / "model.onnx").graph.node] == ["c3"]
    assert "polycmp locate" in (case / "README.md").read_text()
    again = shell(f"sh {case}/run.sh", tmp_path)
    assert again.status == 1, again.err
    assert "FAILED: 1 of 1 output differs" in again.out
