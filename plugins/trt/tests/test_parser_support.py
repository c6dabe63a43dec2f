"""Cutting parts out of a model, as `inspect capability --with-partitioning` does; no TensorRT needed."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polycmp_trt.build.network import ParserProblem
from polycmp_trt.show.parser_support import cut_out, divide, problem_of


def model():
    nodes = [
        helper.make_node("Add", ["x", "w"], ["a"], name="add"),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Mul", ["b", "x"], ["c"], name="mul"),
        helper.make_node("Neg", ["a"], ["d"], name="neg"),
        helper.make_node("Sub", ["c", "d"], ["y"], name="sub"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        [numpy_helper.from_array(np.array([1, -2, 3], np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def names(values):
    return [value.name for value in values]


def test_a_part_has_the_inputs_outputs_and_weights_it_needs() -> None:
    part = cut_out(model(), [0, 1])
    assert names(part.graph.input) == ["x"]
    assert names(part.graph.output) == ["a", "b"]
    assert names(part.graph.initializer) == ["w"]
    onnx.checker.check_model(part, full_check=True)


def test_a_part_of_an_old_model_keeps_onnx_s_rules() -> None:
    old = model()
    old.ir_version = 3  # in which each weight has to be an input, too
    old.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, old.graph.initializer[0].dims))
    part = cut_out(old, [0, 1])
    assert names(part.graph.input) == ["x"]
    onnx.checker.check_model(part)


def test_nodes_need_not_be_neighbours() -> None:
    part = cut_out(model(), [4, 1])
    assert names(part.graph.node) == ["relu", "sub"]
    assert names(part.graph.input) == ["a", "c", "d"]
    assert names(part.graph.output) == ["b", "y"]
    assert not part.graph.initializer


def test_the_parts_together_compute_what_the_model_does() -> None:
    whole = model()
    tensors = {"x": np.array([0.5, 1.5, -2], np.float32)}
    wanted = ReferenceEvaluator(whole).run(["y"], tensors)[0]
    for nodes in ([0], [1, 2], [3], [4]):
        part = cut_out(whole, nodes)
        outputs = names(part.graph.output)
        feed = {name: tensors[name] for name in names(part.graph.input)}
        tensors.update(zip(outputs, ReferenceEvaluator(part).run(outputs, feed), strict=True))
    np.testing.assert_array_equal(tensors["y"], wanted)


def test_all_nodes_are_the_model_itself() -> None:
    whole = model()
    assert cut_out(whole, range(5)) is whole


def stops_at_the_first(bad):
    """A parser that tells only what lies before the first node it cannot do, and that node."""

    def ask(nodes):
        wrong = next((position for position, node in enumerate(nodes) if node in bad), None)
        if wrong is None:
            return None
        return [(tuple(range(wrong)), True), ((wrong,), False)] if wrong else [((0,), False)]

    return ask


def tells_everything(bad):
    """A parser that sorts all nodes into groups at once."""

    def ask(nodes):
        if not bad & set(nodes):
            return None
        return [((position,), node not in bad) for position, node in enumerate(nodes)]

    return ask


def refuses_as_a_whole(bad):
    """A parser that only says no."""
    return lambda nodes: [(tuple(range(len(nodes))), False)] if bad & set(nodes) else None


@pytest.mark.parametrize("parser", [stops_at_the_first, tells_everything, refuses_as_a_whole])
@pytest.mark.parametrize("bad", [set(), {0}, {2}, {5}, {2, 3}, {0, 5}, {1, 3, 5}, {0, 1, 2, 3, 4, 5}])
def test_every_good_node_is_found_and_no_bad_one(parser, bad) -> None:
    def first_bad(nodes):
        return next(position for position, node in enumerate(nodes) if node in bad)

    found = divide(tuple(range(6)), parser(bad), first_bad)
    assert sorted(node for group in found for node in group) == sorted(set(range(6)) - bad)


def test_single_nodes_that_are_called_unsupported_are_asked_about_again() -> None:
    # What TensorRT 8.6 said of four nodes of which only the third is at fault.
    answers = {(0, 1, 2, 3): [((0, 1), False), ((3,), False)], (2, 3): [((1,), False)], (2,): []}
    assert sorted(divide((0, 1, 2, 3), answers.get, lambda _: 0)) == [(0, 1), (3,)]


def test_a_node_without_a_name_is_told_by_its_number() -> None:
    assert problem_of(ParserProblem(3, "", "Mystery", "no importer")).node == "3"
    assert problem_of(ParserProblem(3, "odd", "Mystery", "no importer")).node == "odd"
    assert problem_of(ParserProblem(-1, "", "", "empty")).node == "?"
