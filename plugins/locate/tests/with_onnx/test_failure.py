"""The operator at which a backend fails, by an error or with its process."""

from __future__ import annotations

from pathlib import Path

import converted_models as converted
import faulty_models
import numpy as np
import onnx
import pytest
from located import REPORT, locate_files, located
from onnx import helper, numpy_helper, save_model


def test_the_operator_that_kills_a_backend_is_named(polycmp, tmp_path):
    model = faulty_models.chain(tmp_path / "m.onnx", 4)
    words = ("-b", "faulty:backend=onnxrt,fault=crash,at=c3", "-b", "onnxrt", "--use-subprocess", *REPORT, "--explain")
    done = polycmp("locate", model, *words)
    assert done.status == 1
    found = located(tmp_path)
    assert (found["words"], found["operator"]["name"]) == ("the backend fails here", "c3")
    assert "SIGSEGV" in next(iter(found["backends"].values()))["error"]


def test_the_operator_that_a_backend_lacks_is_named(polycmp, tmp_path):
    """Found without any process of its own, since the backend only raises."""
    model = onnx.load(faulty_models.chain(tmp_path / "m.onnx", 4))
    (tmp_path / "ops.py").write_text(
        "from onnx.reference.op_run import OpRun\n"
        "class Softplus(OpRun):\n"
        "    op_domain = ''\n"
        "    def _run(self, x):\n"
        "        raise ValueError('no such luck')\n"
        "new_ops = [Softplus]\n"
    )
    model.graph.node[3].op_type = "Softplus"
    onnx.save(model, tmp_path / "m.onnx")
    done = polycmp(
        "locate", "m.onnx", "-b", "onnx:ops=ops.py", "-b", "onnxrt", "--max-memory", "20K", *REPORT, "--explain"
    )
    assert done.status == 1
    found = located(tmp_path)
    assert (found["words"], found["operator"]["name"]) == ("the backend fails here", "r2")
    assert "no such luck" in " ".join(done.out.split())


def test_operators_that_run_as_one_are_all_named_where_the_backend_fails_in_them(polycmp, tmp_path):
    """onnxslim 0.1.90 makes MatMul and Add a Gemm, whose bias has more rows than its product."""
    weights = {"w": np.ones((4, 5), np.float32), "b": np.arange(15, dtype=np.float32).reshape(3, 5)}

    def saved(name: str, *nodes: onnx.NodeProto) -> Path:
        held = [helper.make_tensor_value_info(*item) for item in (("x", 1, [1, 4]), ("y", 1, [3, 5]))]
        graph = helper.make_graph(
            nodes, "g", held[:1], held[1:], [numpy_helper.from_array(v, k) for k, v in weights.items()]
        )
        save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / name)
        return tmp_path / name

    last = helper.make_node("Relu", ["a"], ["y"], name="y")
    matmul = helper.make_node("MatMul", ["x", "w"], ["m"], name="m")
    good = saved("good.onnx", matmul, helper.make_node("Add", ["m", "b"], ["a"], name="a"), last)
    slim = saved("slim.onnx", helper.make_node("Gemm", ["x", "w", "b"], ["a"], name="m"), last)
    assert locate_files(polycmp, slim, good).status == 1
    assert "cannot run Gemm 'm' and Relu 'y' (nothing between them" in located(tmp_path)["sentence"]


def test_an_operator_that_makes_what_a_weight_is_called_is_named(polycmp, tmp_path):
    """Every operator runs alone, and none of them is where the backend says that the file is wrong."""
    nodes = [
        converted.node("Relu", "x", "r"),
        converted.node("Add", "r one", "s"),
        converted.node("Tanh", "s", "t"),
        converted.node("Neg", "t", "y"),
    ]
    old = converted.save(tmp_path / "old.onnx", nodes, {"one": np.ones(1, np.float32)})
    new = onnx.load(old)
    new.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1, np.float32), "t"))
    (tmp_path / "new.onnx").write_bytes(new.SerializeToString())
    done = locate_files(polycmp, tmp_path / "new.onnx", old)
    assert done.status == 1, done.err
    sentence = located(tmp_path)["sentence"]
    assert "new cannot run the model: Tanh 'n_t' makes 't', which is also the name of what a weight gives" in sentence


def test_an_output_that_nothing_makes_is_named(polycmp, tmp_path):
    """OnnxSlim 0.1.90 leaves such a file: of two equal operators it removes one whose result is an output."""
    nodes = [converted.node("Relu", "x", "r"), converted.node("Exp", "r", "z"), converted.node("Exp", "r", "y")]
    old = converted.save(tmp_path / "old.onnx", nodes, {})
    new = onnx.load(old)
    new.graph.output.append(onnx.helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, None))
    (tmp_path / "old.onnx").write_bytes(new.SerializeToString())
    del new.graph.node[1]
    (tmp_path / "new.onnx").write_bytes(new.SerializeToString())
    done = locate_files(polycmp, tmp_path / "new.onnx", old)
    assert done.status == 1, done.err
    what = "'z' is an output of the file, which no operator makes and no weight holds"
    says = f"new cannot run the model: {what}; in old it is what Exp 'n_z' makes; it says"
    assert says in located(tmp_path)["sentence"]


def test_a_tensor_that_nothing_makes_is_named_with_what_reads_it_and_no_reason_is_invented(polycmp, tmp_path):
    """Where 'x' was read in the other file, a constant seemed to stand there."""
    nodes = [
        converted.node("Relu", "x", "r"),
        converted.node("Exp", "r", "e"),
        converted.node("Add", "e x", "s"),
        converted.node("Neg", "s", "y"),
    ]
    old = converted.save(tmp_path / "old.onnx", nodes, {})
    model = onnx.load(old)
    model.graph.node[2].input[1] = "gone"
    save_model(model, tmp_path / "new.onnx")
    done = locate_files(polycmp, tmp_path / "new.onnx", old)
    sentence = located(tmp_path)["sentence"]
    assert done.status == 1, done.err
    assert "new cannot run Add 'n_s', not even alone: Add 'n_s' reads 'gone', which no operator makes" in sentence
    assert "frozen" not in sentence


@pytest.mark.parametrize(("lost", "what"), [("e", "what Exp 'n_e' makes"), ("w", "a weight")])
def test_what_a_file_has_lost_is_named_as_the_other_file_has_it(polycmp, tmp_path, lost, what):
    """Tools leave such a file that take an operator away from one of its readers, or drop a weight as unused."""
    nodes = [
        converted.node("Exp", "x", "e"),
        converted.node("Add", "e w", "s"),
        converted.node("Mul", "s x", "y"),
    ]
    old = converted.save(tmp_path / "old.onnx", nodes, {"w": np.ones(converted.WIDTH, np.float32)})
    model = onnx.load(old)
    for items in (model.graph.node, model.graph.initializer):
        gone = [item for item in items if lost in (getattr(item, "name", ""), *getattr(item, "output", ()))]
        for item in gone:
            items.remove(item)
    save_model(model, tmp_path / "new.onnx")
    done = locate_files(polycmp, tmp_path / "new.onnx", old)
    assert done.status == 1, done.err
    said = f"Add 'n_s' reads {lost!r}, which no operator makes and no weight holds; in old it is {what}"
    assert said in located(tmp_path)["sentence"]
