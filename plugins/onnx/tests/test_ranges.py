"""Which values a model's inputs can take, read from what they index."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from small_models import graph_model

from polycmp_onnx.describe import describe

INT64, INT32, FLOAT = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT


TABLE = ("table", np.arange(60, dtype=np.float32).reshape(10, 6))
IDS = ("ids", INT64, ["n"])
OUT = [("y", FLOAT, None)]
CASES = {
    "Gather": ([helper.make_node("Gather", ["table", "ids"], ["y"])], 9),
    "Gather along another axis": ([helper.make_node("Gather", ["table", "ids"], ["y"], axis=-1)], 5),
    "through other operators": (
        [
            helper.make_node("Cast", ["ids"], ["a"], to=INT32),
            helper.make_node("Identity", ["a"], ["b"]),
            helper.make_node("Cast", ["b"], ["c"], to=INT64),
            helper.make_node("Gather", ["table", "c"], ["y"]),
        ],
        9,
    ),
    "the smaller of two tables": (
        [
            helper.make_node("Gather", ["table", "ids"], ["rows"]),
            helper.make_node("Gather", ["table", "ids"], ["y"], axis=1),
        ],
        5,
    ),
    "a table that a node holds": (
        [
            helper.make_node("Constant", [], ["held"], value=numpy_helper.from_array(np.zeros((3, 2), np.float32))),
            helper.make_node("Gather", ["held", "ids"], ["y"]),
        ],
        2,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_index_stays_inside_what_it_indexes(case):
    nodes, last = CASES[case]
    model = graph_model(nodes, [IDS], OUT, [TABLE])
    assert describe(lambda: model).inputs["ids"].range == (0.0, float(last))
    session = ReferenceEvaluator(model)
    session.run(None, {"ids": np.array([0, last])})
    with pytest.raises(IndexError):
        session.run(None, {"ids": np.array([last + 1])})


def test_gather_elements_and_gather_nd():
    elements = graph_model(
        [helper.make_node("GatherElements", ["table", "ids"], ["y"], axis=1)],
        [("ids", INT64, ["n", "m"])],
        OUT,
        [TABLE],
    )
    assert describe(lambda: elements).inputs["ids"].range == (0.0, 5.0)
    nd = graph_model([helper.make_node("GatherND", ["table", "ids"], ["y"])], [("ids", INT64, ["n", 2])], OUT, [TABLE])
    assert describe(lambda: nd).inputs["ids"].range == (0.0, 5.0)  # both axes together: what suits the shorter


def test_a_table_that_is_an_input_itself():
    node = helper.make_node("Gather", ["data", "ids"], ["y"])
    fixed = graph_model([node], [("data", FLOAT, [7, "k"]), IDS], OUT)
    assert describe(lambda: fixed).inputs["ids"].range == (0.0, 6.0)
    assert describe(lambda: fixed).inputs["data"].range is None
    open_ = graph_model([node], [("data", FLOAT, ["rows", 2]), IDS], OUT)
    assert describe(lambda: open_).inputs["ids"].range is None


def test_numbers_that_index_nothing_have_no_range():
    cast = graph_model([helper.make_node("Cast", ["ids"], ["y"], to=FLOAT)], [IDS], OUT)
    assert describe(lambda: cast).inputs["ids"].range is None
    # arithmetic in between moves the numbers, so the table says nothing of the input
    moved = graph_model(
        [helper.make_node("Add", ["ids", "one"], ["next"]), helper.make_node("Gather", ["table", "next"], ["y"])],
        [IDS],
        OUT,
        [TABLE, ("one", np.array(1, np.int64))],
    )
    assert describe(lambda: moved).inputs["ids"].range is None


def test_a_file_is_described_the_same_way(tmp_path):
    onnx.save(graph_model(CASES["Gather"][0], [IDS], OUT, [TABLE]), tmp_path / "m.onnx")
    assert describe(str(tmp_path / "m.onnx")).inputs["ids"].range == (0.0, 9.0)
