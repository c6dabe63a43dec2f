"""What users see of the backend `iree`: commands, types and errors."""

from __future__ import annotations

import numpy as np
import pytest
from engine_models import FindsAnotherWeight, network, operator, polycmp, printed
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import BackendError, ModelError
from polycmp_iree import IreeRunner
from polycmp_iree.plugin import Options
from polycmp_iree.runner import compiler_flags

pytest.importorskip("iree.compiler", reason="needs IREE: make test-iree")


class TestFindsAnotherWeight(FindsAnotherWeight):
    backend = "iree"


@pytest.mark.parametrize(
    "chosen", ["optimization=O2,data_tiling", "microkernels=false,const_eval=false", "threads=2", "target=vmvx"]
)
def test_what_the_compiler_does_is_chosen_by_options(model, chosen):
    assert polycmp("run", model, "-b", f"iree:cpu=generic,{chosen}", "-b", "onnxrt") == 0


def test_options_become_words_of_the_compiler():
    words = compiler_flags(Options(optimization="O3", microkernels=False, flags=("--iree-opt-strip-assertions",)))
    assert {"--iree-opt-level=O3", "--iree-llvmcpu-enable-ukernels=none", "--iree-opt-strip-assertions"} <= {*words}
    assert "--iree-llvmcpu-target-cpu=host" in words


def test_the_virtual_machine_is_another_target_and_not_one_beside_the_processor():
    """Out of int32's range the two cut numbers otherwise, which the standard leaves open."""
    beyond = np.array([1e10, 2.0], np.float32)
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT32)
    ends = (
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [2])],
    )
    cast = helper.make_model(helper.make_graph([node], "cast", *ends), opset_imports=[helper.make_opsetid("", 17)])
    results = []
    for target in ("llvm-cpu", "vmvx"):
        with IreeRunner(cast, options=Options(target=target)) as runner:
            results.append(runner.infer({"x": beyond})["y"].tolist())
    assert results[0][1] == results[1][1] == 2
    assert results[0][0] != results[1][0]


def test_a_word_that_the_compiler_does_not_know_is_an_error_that_names_it(model, capsys):
    assert polycmp("run", model, "-b", "iree:flags=[--iree-nonsense]") == 3
    assert "--iree-nonsense" in printed(capsys).replace("- -", "--")


def test_sizes_stay_open():
    with IreeRunner(operator("Neg", TensorProto.FLOAT)) as runner:
        for shape in ((2, 3), (5, 1)):
            assert runner.infer({"x": np.ones(shape, np.float32)})["y"].tolist() == (-np.ones(shape)).tolist()


def test_nothing_that_the_compiler_prints_reaches_standard_output(model, capfd):
    assert polycmp("run", model, "-b", "iree", "-q") == 0
    streams = capfd.readouterr()
    assert "warning" not in streams.out + streams.err


@pytest.mark.parametrize(
    "name", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "bool"]
)
def test_types_come_back_as_the_model_declares_them(name):
    array = np.array([[1, 0, 3], [7, 5, 2]]).astype(name)
    with IreeRunner(operator("Identity", helper.np_dtype_to_tensor_dtype(array.dtype))) as runner:
        result = runner.infer({"x": array})["y"]
    assert result.dtype == array.dtype and result.tolist() == array.tolist()


def test_an_operator_that_it_does_not_know_is_named():
    model = operator("CumProd", TensorProto.FLOAT)
    model.graph.node[0].input.append("axis")
    model.graph.initializer.append(numpy_helper.from_array(np.int64(0), "axis"))
    model.opset_import[0].version = 26
    with pytest.raises(ModelError) as caught, IreeRunner(model):
        pass
    assert "it has no CumProd" in caught.value.why


def test_inputs_that_do_not_fit_are_an_error_in_words():
    with IreeRunner(network()) as runner, pytest.raises(BackendError, match="inference failed"):
        runner.infer({"x": np.ones((2, 3, 16, 15), np.float32)}, check_inputs=False)


def test_a_process_that_ends_is_an_error_in_words():
    with IreeRunner(operator("Identity", TensorProto.FLOAT)) as runner:
        runner._child.kill()
        with pytest.raises(BackendError, match="its process died"):
            runner.infer({"x": np.ones((2, 3), np.float32)})
