"""What users see of the backend `tvm`: commands, types and errors."""

from __future__ import annotations

import json

import numpy as np
import pytest
from engine_models import FindsAnotherWeight, network, operator, polycmp, printed
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import BackendError, ModelError
from polycmp_tvm import TvmRunner
from polycmp_tvm.plugin import Options

pytest.importorskip("tvm", reason="needs TVM: make test-tvm")


class TestFindsAnotherWeight(FindsAnotherWeight):
    backend = "tvm"


@pytest.mark.parametrize(
    "chosen", ["cpu=host,opt_level=4", "llvm_level=0,vectorize=false", "disable_passes=[FuseOps,FoldConstant]"]
)
def test_what_the_compiler_does_is_chosen_by_options(model, chosen):
    assert polycmp("run", model, "-b", f"tvm:{chosen}", "-b", "onnxrt") == 0


def test_a_target_is_json_too(model, capsys):
    target = json.dumps({"kind": "llvm", "mcpu": "x86-64", "opt-level": 1})
    assert polycmp("run", model, "--tvm-target", target, "-b", "tvm", "-b", "onnxrt") == 0
    assert polycmp("run", model, "--tvm-target", '{"kind": "llvm", "nonsense": 1}', "-b", "tvm") == 3
    assert "nonsense" in printed(capsys)


def test_fast_math_changes_what_is_not_finite():
    model = operator("IsNaN", TensorProto.FLOAT)
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.BOOL
    feed = {"x": np.float32([[np.nan, 1]])}
    found = []
    for fast in (False, True):
        with TvmRunner(model, options=Options(fast_math=fast)) as runner:
            found.append(runner.infer(feed)["y"].tolist())
    assert found == [[[True, False]], [[False, False]]]


@pytest.mark.parametrize(("chosen", "what"), [("cpu=z80", "LLVM knows no processor 'z80'"), ("target=moon", "moon")])
def test_what_it_cannot_compile_for_is_an_error_in_one_line(model, capsys, chosen, what):
    assert polycmp("run", model, "-b", f"tvm:{chosen}") == 3
    text = printed(capsys)
    assert what in text and "Traceback" not in text


def test_sizes_stay_open():
    with TvmRunner(operator("Neg", TensorProto.FLOAT)) as runner:
        for shape in ((2, 3), (5, 1)):
            assert runner.infer({"x": np.ones(shape, np.float32)})["y"].tolist() == (-np.ones(shape)).tolist()


def test_sizes_that_it_has_to_know_are_those_of_each_feed():
    model = operator("Add", TensorProto.FLOAT)  # of two inputs, of whose sizes nothing says that they fit
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["other", "m"]))
    model.graph.node[0].input.append("z")
    with TvmRunner(model) as runner:
        for rows in (2, 3):
            feed = {"x": np.ones((rows, 3), np.float32), "z": np.ones((1, 3), np.float32)}
            assert runner.infer(feed)["y"].tolist() == np.full((rows, 3), 2).tolist()


def test_nothing_that_the_compiler_prints_reaches_standard_output(model, capfd):
    assert polycmp("run", model, "-b", "tvm", "-q") == 0
    streams = capfd.readouterr()
    assert "arn" not in streams.out + streams.err


@pytest.mark.parametrize("kind", [
    "FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE", "FLOAT8E4M3FN", "FLOAT8E5M2", "INT8", "INT16", "INT32", "INT64", "UINT8",
    "UINT32", "BOOL",
])  # fmt: skip
def test_types_come_back_as_the_model_declares_them(kind):
    number = TensorProto.DataType.Value(kind)
    array = np.array([[1, 0, 3], [7, 5, 2]]).astype(helper.tensor_dtype_to_np_dtype(number))
    with TvmRunner(operator("Identity", number)) as runner:
        result = runner.infer({"x": array})["y"]
    assert result.dtype == array.dtype and result.tolist() == array.tolist()


def test_a_shape_is_an_output_like_others():
    model = operator("Shape", TensorProto.FLOAT)
    y = helper.make_tensor_value_info("y", TensorProto.INT64, [2])
    model.graph.output[0].CopyFrom(y)
    with TvmRunner(model) as runner:
        assert runner.infer({"x": np.ones((2, 3), np.float32)})["y"].tolist() == [2, 3]


def test_an_operator_that_it_does_not_know_is_named():
    model = operator("CumProd", TensorProto.FLOAT)
    model.graph.node[0].input.append("axis")
    model.graph.initializer.append(numpy_helper.from_array(np.int64(0), "axis"))
    model.opset_import[0].version = 26
    with pytest.raises(ModelError) as caught, TvmRunner(model) as runner:
        runner.infer({"x": np.ones((2, 3), np.float32)})
    assert "CumProd" in caught.value.why and "\n" not in caught.value.why


def test_inputs_that_do_not_fit_are_an_error_in_words():
    with TvmRunner(network()) as runner, pytest.raises(BackendError, match="inference failed") as caught:
        runner.infer({"x": np.ones((2, 3, 16, 15), np.float32)}, check_inputs=False)
    assert "15 vs. 16" in caught.value.why


def test_a_process_that_ends_is_an_error_in_words():
    with TvmRunner(operator("Identity", TensorProto.FLOAT)) as runner:
        runner._child.kill()
        with pytest.raises(BackendError, match="its process died"):
            runner.infer({"x": np.ones((2, 3), np.float32)})
