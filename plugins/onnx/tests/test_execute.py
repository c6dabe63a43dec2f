"""Running models for the tools: on ONNX Runtime where that can, and what is said where nothing can."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import graph_model, unary_model

from polycmp.errors import BackendError, UsageError
from polycmp_onnx.tools.execute import RefusedError, engine, provider_names, run_model

pytest.importorskip("onnxruntime")
X = np.float32([-1, 0, 1, 2])


def test_outputs_come_by_name_and_further_arrays_are_left_out():
    found = run_model(unary_model("Relu"), {"x": X, "other": X}, optimize="enable_all")
    assert {name: array.tolist() for name, array in found.items()} == {"y": [0, 0, 1, 2]}
    assert engine() == "ONNX Runtime"


def test_types_that_numpy_lacks_go_in_and_out():
    narrow = TensorProto.BFLOAT16
    made = run_model(unary_model("Cast", result=narrow, to=narrow), {"x": X})["y"]
    assert made.dtype == ml_dtypes.bfloat16
    back = run_model(unary_model("Cast", kind=narrow, result=TensorProto.FLOAT, to=TensorProto.FLOAT), {"x": made})
    assert back["y"].tolist() == X.tolist()


def test_a_model_that_is_not_loaded_is_told_from_one_that_does_not_run():
    with pytest.raises(RefusedError, match="cannot be loaded"):
        run_model(unary_model("Relu", kind=TensorProto.STRING), {"x": X})
    wrong = graph_model(
        [helper.make_node("Reshape", ["x", "s"], ["y"])], [("x", TensorProto.FLOAT, ["n"])],
        [("y", TensorProto.FLOAT, [5])], [("s", np.array([5]))],
    )  # fmt: skip
    with pytest.raises(BackendError, match="cannot be run") as caught:
        run_model(wrong, {"x": X})
    assert not isinstance(caught.value, RefusedError)
    assert caught.value.whose == "ONNX Runtime"


def test_a_provider_is_named_by_any_part_once():
    assert provider_names(["cpu", "CPUExec"]) == ("CPUExecutionProvider",)
    with pytest.raises(UsageError, match="no execution provider 'abacus'") as caught:
        provider_names(["abacus"])
    assert "CPUExecutionProvider" in caught.value.why
