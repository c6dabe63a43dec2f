"""Two files of which one rounds coarser: each tensor is judged by what rounds on its way, in every command."""

from __future__ import annotations

import json

import converted_models as converted
import pytest
from located import locate_files, located


@pytest.fixture
def half(polycmp, tmp_path):
    good = converted.network(tmp_path / "good.onnx")
    assert polycmp("convert", good, "--fp-to-fp16", "-o", "half.onnx").status == 0
    return good, tmp_path / "half.onnx"


def test_run_mark_all_judges_each_tensor_by_the_coarsest_type_on_its_way(polycmp, half, tmp_path):
    good, converted = half
    backends = ("-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}")
    done = polycmp("run", converted, *backends, "--mark-all", "--report", "run.json")
    assert done.status == 0, done.out
    outputs = json.loads((tmp_path / "run.json").read_text())["comparison_results"][0]["outputs"]
    assert len(outputs) >= 21
    assert all(item["passed"] for item in outputs.values())
    assert "rounding explains up to" in outputs["gelu1"]["reason"]
    assert "tensors were paired" in " ".join(done.out.split())


def test_run_mark_all_still_fails_what_rounding_does_not_explain(polycmp, half, tmp_path):
    good, made = half
    bad = converted.edited(made, tmp_path / "bad.onnx", converted.scaled("1.down.weight", 1.2))
    done = polycmp(
        "run", bad, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}", "--mark-all", "--report", "run.json"
    )
    assert done.status == 1, done.out
    outputs = json.loads((tmp_path / "run.json").read_text())["comparison_results"][0]["outputs"]
    assert outputs["gelu1"]["passed"]
    assert not outputs["down1"]["passed"]


def test_run_mark_all_leaves_tolerances_alone_that_the_user_chose(polycmp, half):
    good, converted = half
    backends = ("-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}")
    assert polycmp("run", converted, *backends, "--mark-all", "--atol", "1e-6", "--rtol", "1e-6").status == 1


def test_run_mark_all_shows_the_pairs_of_two_exports(polycmp, tmp_path):
    good, other = converted.network(tmp_path / "good.onnx"), converted.exported(tmp_path / "other.onnx")
    done = polycmp(
        "run", other, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}", "--mark-all", "--report", "r.json"
    )
    assert done.status == 0, done.out
    outputs = json.loads((tmp_path / "r.json").read_text())["comparison_results"][0]["outputs"]
    assert "/layer1/act" in outputs
    assert "/layer1/erf" not in outputs
    assert "real tensors of new have no counterpart" in " ".join(done.out.split())


def test_a_model_converted_to_float16_is_judged_by_the_rounding_of_float16(polycmp, half, tmp_path):
    good, converted = half
    done = locate_files(polycmp, converted, good)
    assert done.status == 0, done.out
    found = located(tmp_path)
    assert found["pairing"]["share"] == 1.0
    assert found["words"] == "within rounding"
    rows = {row["tensor"]: row for row in found["tensors"]}
    assert rows["gelu1"]["matched_by"] == "name"
    assert rows["gelu1"]["coarsest_type"] == "float16"
