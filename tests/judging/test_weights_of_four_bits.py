"""Files whose weights are packed to 4 bits, with a step for each block: they are judged by those steps."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from in_parts import a_few
from onnx import TensorProto, helper
from small_models import graph_model

RNG = np.random.default_rng(5)
ROWS, COLUMNS, BLOCK = 32, 8, 16
WEIGHT = RNG.standard_normal((ROWS, COLUMNS)).astype(np.float32)


def exact(weight: np.ndarray = WEIGHT) -> onnx.ModelProto:
    """Return x [16,32] -> MatMul."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    return model(nodes, [("w", weight)])


def packed(factor: float, weight: np.ndarray = WEIGHT) -> onnx.ModelProto:
    """Return the same with codes of 4 bits, whose scales are a factor too large."""
    blocks = weight.T.reshape(COLUMNS, ROWS // BLOCK, BLOCK)
    scales = np.abs(blocks).max(axis=2, keepdims=True) / 7
    codes = np.clip(np.round(blocks / scales) + 8, 0, 15).astype(np.uint8)
    both = codes[..., 0::2] | codes[..., 1::2] << 4
    sizes = {"K": ROWS, "N": COLUMNS, "bits": 4, "block_size": BLOCK}
    node = helper.make_node(
        "MatMulNBits", ["x", "w_Q4", "scales"], ["y"], name="product", domain="com.microsoft", **sizes
    )
    made = model([node], [("w_Q4", both), ("scales", (factor * scales).astype(np.float32).reshape(-1))])
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


def model(nodes, weights) -> onnx.ModelProto:
    shapes = [("x", TensorProto.FLOAT, [16, ROWS])], [("y", TensorProto.FLOAT, [16, COLUMNS])]
    return graph_model(nodes, *shapes, weights)


@pytest.mark.parametrize(
    "words", a_few([(), ("--mark-all",), ("--tolerance", "auto")], 2), ids=["run", "mark-all", "auto"]
)
@pytest.mark.parametrize("factor, status", [(1.0, 0), (1.3, 1), (-1.0, 1)], ids=["right", "too large", "negated"])
def test_what_four_bits_leave_passes_where_the_files_hold_one_network(polycmp, tmp_path, factor, status, words):
    """Rounding to 4 bits is a tenth of what the output varies by: what the files hold decides whether it is a fault."""
    onnx.save(exact(), tmp_path / "old.onnx")
    onnx.save(packed(factor), tmp_path / "new.onnx")
    for files in (("new.onnx", "old.onnx"), ("old.onnx", "new.onnx")):
        said = polycmp("run", *files, "-b", "onnxrt", *words, "--report", "r.json")
        assert said.status == status, said.out
        (found,) = json.loads((tmp_path / "r.json").read_text())["comparison_results"]
        output = found["outputs"]["y"]
        if status == 0:
            assert "the files hold the same network" in output["reason"]
            assert 0.1 < output["max_error"] <= output["functions"]["simple"]["tolerance"]["atol"]


@pytest.mark.parametrize("words", [(), ("--mark-all",)], ids=["run", "mark-all"])
def test_what_two_backends_make_of_the_same_network_stays_open(polycmp, tmp_path, words):
    """The files say nothing of what a kernel for 4 bits does, whose fault could be as large as that rounding."""
    onnx.save(exact(), tmp_path / "old.onnx")
    onnx.save(packed(1.0), tmp_path / "new.onnx")
    said = polycmp("run", "-b", "onnxrt:model=new.onnx", "-b", "onnx:model=old.onnx", *words)
    assert said.status == 3, said.out
    assert "UNDECIDED" in said.out


def test_an_output_that_another_file_makes_of_it_stays_open_where_the_files_cannot_be_compared(polycmp, tmp_path):
    """Under other names, of other operators, the weight has no counterpart, and nothing says what it holds."""
    halves = [("w1", WEIGHT[: ROWS // 2]), ("w2", WEIGHT[ROWS // 2 :]), ("sizes", np.array([ROWS // 2, ROWS // 2]))]
    nodes = [
        helper.make_node("Split", ["x", "sizes"], ["a", "b"], axis=1),
        helper.make_node("MatMul", ["a", "w1"], ["one"]),
        helper.make_node("MatMul", ["b", "w2"], ["two"]),
        helper.make_node("Add", ["one", "two"], ["y"]),
    ]
    onnx.save(model(nodes, halves), tmp_path / "old.onnx")
    onnx.save(packed(1.0), tmp_path / "new.onnx")
    said = polycmp("run", "new.onnx", "old.onnx", "-b", "onnxrt")
    assert said.status == 3, said.out


@pytest.mark.parametrize("factor, status", [(1.0, 0), (1.5, 1), (-1.0, 1)], ids=["right", "too large", "negated"])
@pytest.mark.parametrize("power", a_few([1, 3]))
def test_locate_knows_what_steps_of_blocks_leave_of_peaked_weights(polycmp, tmp_path, power, factor, status):
    onnx.save(exact(WEIGHT**power), tmp_path / "old.onnx")
    onnx.save(packed(factor, WEIGHT**power), tmp_path / "new.onnx")
    said = polycmp("locate", "new.onnx", "-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx")
    assert said.status == status, said.out


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (1.2, 1)], ids=["right", "too large"])
def test_a_factor_of_weights_is_found_for_inputs_that_go_in_one_direction(polycmp, tmp_path, factor, status):
    """Behind an LSTM 4 bits explained a scale that was far too large: its states lay in one direction."""
    few = np.random.default_rng(1).standard_normal((ROWS, 4)).astype(np.float32)
    few[8:] *= 1e-3
    sizes = [("x", TensorProto.FLOAT, [16, ROWS])], [("y", TensorProto.FLOAT, [16, COLUMNS])]
    weight = np.concatenate([few, few], axis=1)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    onnx.save(graph_model(nodes, *sizes, [("w", weight)]), tmp_path / "old.onnx")
    onnx.save(packed(factor, weight), tmp_path / "new.onnx")
    along = np.random.default_rng(2).uniform(0.5, 1.5, (16, 1)) * np.random.default_rng(3).standard_normal((1, ROWS))
    np.savez(tmp_path / "x.npz", x=along.astype(np.float32))
    sides = ["-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", "--load-inputs", "x.npz"]
    said = polycmp("locate", "new.onnx", *sides)
    assert said.status == status, said.out
