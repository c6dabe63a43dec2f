"""The search on real backends: from the command line to the operator that is named."""

from __future__ import annotations

import sys

import faulty_models
import pytest
from located import REPORT, located


@pytest.mark.parametrize("memory", [(), ("--max-memory", "20K")], ids=["at once", "in windows"])
@pytest.mark.parametrize("mode", [(), ("--bisect",)], ids=["full", "bisect"])
def test_a_changed_weight_names_its_convolution(polycmp, tmp_path, mode, memory):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *REPORT, *mode, *memory)
    assert done.status == 1
    found = located(tmp_path)
    assert (found["first_bad"], found["operator"]["type"], found["operator"]["name"]) == ("conv8", "Conv", "c8")
    assert found["last_good"] == "relu7"
    assert "relu7" in found["operator"]["inputs"]
    assert found["operator"]["inputs"]["relu7"]["min"] == 0
    assert found["words"] in {"wrong", "worse than this precision explains"}
    alone = "run alone on the reference's tensors, onnxrt computes what its file says, which is something else"
    assert alone in " ".join(done.out.split())
    if mode:
        assert len(found["tensors"]) < 12
    else:
        assert [row["tensor"] for row in found["tensors"]][:3] == ["conv1", "relu1", "conv2"]
        assert len(found["tensors"]) == 24


def test_nothing_wrong_is_status_0(polycmp, tmp_path):
    model = faulty_models.chain(tmp_path / "m.onnx")
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnxrt:optimization=off", "--atol", "1e-2", *REPORT)
    assert done.status == 0
    assert "NO FAULT" in done.out
    assert located(tmp_path)["first_bad"] is None


def test_one_backend_is_wrong_usage(polycmp, tmp_path):
    done = polycmp("locate", faulty_models.chain(tmp_path / "m.onnx", 2), "-b", "onnxrt")
    assert done.status == 2
    assert "needs two backends" in done.err


def test_outputs_that_the_loader_marks_do_not_hide_the_model_s_own(polycmp, tmp_path):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", "--mark-all", *REPORT)
    assert done.status == 1
    assert located(tmp_path)["first_bad"] == "conv8"


def test_a_backend_in_a_process_of_its_own_is_looked_into_as_well(polycmp, tmp_path):
    good, bad = faulty_models.chain(tmp_path / "good.onnx", 4), faulty_models.chain(tmp_path / "bad.onnx", 4, changed=2)
    words = ("-b", f"onnxrt:python={sys.executable}", "-b", f"onnxrt:name=ref,model={good}", *REPORT)
    done = polycmp("locate", bad, *words)
    assert done.status == 1
    assert located(tmp_path)["first_bad"] == "conv2"
