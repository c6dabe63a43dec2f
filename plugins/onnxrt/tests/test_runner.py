"""The backend `onnxrt` as users meet it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxrt_models import FLOAT, FakeModel, double, identity, infer, model, value

from polycmp.cli.main import main
from polycmp.errors import BackendError, DataError, ModelError
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx
from polycmp_onnxrt.plugin import Options
from polycmp_onnxrt.runner import make_runner


def test_factory_runs_a_model_with_the_options_given():
    runner = make_runner(FakeModel(double()), Options(threads=1, optimization="ORT_DISABLE_ALL"), name="mine")
    assert runner.name == "mine"
    with runner:
        outputs = runner.infer({"x": np.array([1, 2], np.float32)})
        assert outputs["y"].tolist() == [2, 4]
        options = runner._session.get_session_options()
        assert options.graph_optimization_level == onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        assert options.intra_op_num_threads == 1
        assert options.inter_op_num_threads == 1


def test_scalar_list_and_torch_like_inputs():
    class Tensor:
        dtype, shape = np.dtype(np.float32), (2,)

        def numpy(self):
            return np.ones(2, np.float32)

    assert infer(double(), x=Tensor())["y"].tolist() == [2, 2]


def test_unknown_rank_takes_any_shape():
    made = identity(FLOAT, None)
    assert infer(made, x=np.ones((2, 3), np.float32))["y"].shape == (2, 3)
    assert infer(made, x=np.float32(3).reshape(()))["y"] == 3


@pytest.mark.parametrize("op", ["SequenceConstruct", "Optional"])
def test_an_output_that_holds_tensors_is_handed_out(op):
    made = model([helper.make_node(op, ["x"], ["s"])], [value("x")], [])
    tensor = helper.make_tensor_type_proto(FLOAT, ["n"])
    wrap = helper.make_sequence_type_proto if op == "SequenceConstruct" else helper.make_optional_type_proto
    made.graph.output.append(helper.make_value_info("s", wrap(tensor)))
    with OnnxrtRunner(SessionFromOnnx(made)) as runner:
        found = runner.infer({"x": np.ones(2, np.float32)})["s"]
    assert np.array_equal(found[0] if op == "SequenceConstruct" else found, [1, 1])


def test_an_input_that_is_a_sequence_is_refused_with_a_way_out():
    made = model([helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)], [], [value("y")])
    made.graph.input.append(helper.make_tensor_sequence_value_info("s", FLOAT, ["n"]))
    with pytest.raises(BackendError, match=r"input 's' holds seq") as caught:
        OnnxrtRunner(SessionFromOnnx(made)).activate()
    assert "surgeon extract" in caught.value.hint


def test_maps_of_a_classifier_are_an_array_for_each_class(tmp_path, monkeypatch, capsys):
    nodes = [
        helper.make_node("Softmax", ["x"], ["p"]),
        helper.make_node("ArgMax", ["x"], ["label"], axis=1, keepdims=0),
        helper.make_node("ZipMap", ["p"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]),
    ]
    maps = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(FLOAT, []))
    maps = helper.make_value_info("maps", helper.make_sequence_type_proto(maps))
    graph = helper.make_graph(nodes, "g", [value("x", shape=("n", 3))], [value("label", TensorProto.INT64), maps])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "m.onnx", "-b", "onnxrt", "-b", "onnxrt:optimization=off", "--input-shapes", "x:[2,3]"]) == 0
    said = capsys.readouterr().out
    assert [name for name in ("maps.0", "maps.1", "maps.2") if f"{name}   float32[2]" in said] == [
        "maps.0",
        "maps.1",
        "maps.2",
    ]


def test_a_wrong_feed_is_refused():
    with OnnxrtRunner(SessionFromOnnx(double())) as runner, pytest.raises(DataError, match="float64"):
        runner.infer({"x": np.ones(2)})


def test_a_failed_activation_leaves_the_runner_inactive():
    runner = OnnxrtRunner(SessionFromOnnx(b"nonsense"))
    with pytest.raises(ModelError):
        runner.activate()
    assert not runner.is_active


def test_the_program_in_the_readme_runs(tmp_path, monkeypatch):
    onnx.save(double(), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "{'y': [2.0, 4.0]}\n"), done.stderr


def test_an_input_that_is_an_output_too_is_given_back_in_memory_of_its_own():
    double = helper.make_node("Add", ["x", "x"], ["y"])
    made = model([double], [value("x")], [value("x"), value("y")])
    given = np.ones(4, np.float32)
    with OnnxrtRunner(SessionFromOnnx(made)) as runner:
        outputs = runner.infer({"x": given})
        given[...] = 7
        assert outputs["x"].tolist() == [1, 1, 1, 1]
        assert not np.may_share_memory(outputs["x"], given)
