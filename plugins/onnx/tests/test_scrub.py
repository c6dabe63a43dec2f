"""What only a model's owner is to see, taken out of it: names, texts and the values of weights."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp_onnx import scrub_names
from polycmp_onnx.reference import make_evaluator
from polycmp_onnx.scrub import left_as_it_is, redraw, redraw_weights, replace_texts, scrub_texts

SECRET = "secret"


def own(name):
    """Return a name that tells whose it is."""
    return f"{SECRET}_{name}"


def secret_model():
    """A model of its owner's function and an If, which reads a weight from around it; every name and text is told."""
    branches = [
        helper.make_graph(
            [helper.make_node(op, [own("h"), own("w")], [own(op)], own(f"node_{op}"))], own("graph"), [],
            [helper.make_tensor_value_info(own(op), TensorProto.FLOAT, None)], doc_string=SECRET,
        )
        for op in ("Add", "Sub")
    ]  # fmt: skip
    scaled = helper.make_node("LeakyRelu", [own("d")], [own("e")])
    scaled.attribute.append(
        onnx.AttributeProto(name="alpha", ref_attr_name=own("factor"), type=onnx.AttributeProto.FLOAT)
    )
    body = helper.make_graph(
        [scaled], own("body"), [], [helper.make_tensor_value_info(own("e"), TensorProto.FLOAT, None)]
    )
    function = helper.make_function(
        own("domain"), own("Twice"), [own("a"), own("c")], [own("b")],
        [helper.make_node("Add", [own("a"), own("a")], [own("d")], own("inside")),
         helper.make_node("If", [own("c")], [own("b")], own("choice"), then_branch=body, else_branch=body)],
        [helper.make_opsetid("", 17)], attributes=[own("factor")],
    )  # fmt: skip
    nodes = [
        helper.make_node(
            own("Twice"),
            [own("x"), own("which")],
            [own("h")],
            own("call"),
            domain=own("domain"),
            **{own("factor"): 0.5},
        ),
        helper.make_node("If", [own("which")], [own("y")], own("if"), then_branch=branches[0], else_branch=branches[1]),
    ]
    graph = helper.make_graph(
        nodes, own("main"),
        [helper.make_tensor_value_info(own("x"), TensorProto.FLOAT, [own("n"), 4]),
         helper.make_tensor_value_info(own("which"), TensorProto.BOOL, [])],
        [helper.make_tensor_value_info(own("y"), TensorProto.FLOAT, [own("n"), 4])],
        [numpy_helper.from_array(np.float32([1, 2, 3, 4]), own("w"))],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(own("domain"), 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=8, producer_name=SECRET)
    helper.set_model_props(model, {SECRET: SECRET})
    return model


@pytest.mark.parametrize("which", [True, False])
def test_no_name_is_left_and_the_model_computes_the_same(which):
    model, x = secret_model(), -np.ones((2, 4), np.float32)
    before = make_evaluator(model).run(None, {own("x"): x, own("which"): np.array(which)})[0]
    names = scrub_names(model)
    assert SECRET not in str(model)
    onnx.checker.check_model(model)
    feed = {names[own("x")]: x, names[own("which")]: np.array(which)}
    np.testing.assert_array_equal(make_evaluator(model).run([names[own("y")]], feed)[0], before)
    assert (names[own("x")], names[own("y")], names[own("w")], names[own("n")]) == (
        "input0", "output1", "weight0", "size0",
    )  # fmt: skip


def test_texts_become_others_and_equal_ones_stay_equal():
    nodes = [
        helper.make_node("LabelEncoder", ["x"], ["h"], domain="ai.onnx.ml", keys_strings=["cat", "dog"],
                         values_strings=["dog", ""], default_string="cat"),
        helper.make_node("LSTM", ["h", "h", "h"], ["y"], activations=["Tanh", "Relu", "Relu"], hidden_size=1),
    ]  # fmt: skip
    weight = helper.make_tensor("w", TensorProto.STRING, [2], [b"dog", b"eel"])
    model = helper.make_model(helper.make_graph(nodes, "g", [], [], [weight]))
    known = scrub_texts(model)
    assert set(known) == {"cat", "dog", "eel", ""}
    found = {item.name: list(item.strings) for node in model.graph.node for item in node.attribute if item.strings}
    assert found["keys_strings"] == [known["cat"].encode(), known["dog"].encode()]
    assert found["values_strings"] == [known["dog"].encode(), b""]
    assert found["activations"] == [b"Tanh", b"Relu", b"Relu"]  # by which the operator chooses how to work
    assert list(model.graph.initializer[0].string_data) == [known["dog"].encode(), known["eel"].encode()]
    fed = replace_texts(np.array([["cat", "fox"], ["dog", ""]], object), known)
    assert fed.tolist() == [[known["cat"], "text4"], [known["dog"], ""]]
    numbers = np.arange(3)
    assert replace_texts(numbers, known) is numbers


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8])
def test_weights_are_drawn_anew_with_the_same_zeros_range_and_type(dtype):
    old = np.tile(np.array([0, 1, 2, 3, 50, 60, 70, 80], dtype), 40)
    new = redraw(old, np.random.default_rng(0))
    assert new.dtype == dtype
    assert ((new == 0) == (old == 0)).all()
    assert (new != old).mean() > 0.5
    assert (new.min(), new[new != 0].min() >= 1, new.max() <= 80) == (0, True, True)
    assert abs(float(new.mean(dtype=float)) - float(old.mean(dtype=float))) < 8


@pytest.mark.parametrize(
    "array",
    [np.arange(7, dtype=np.float32), np.arange(100), np.full(100, 2, np.float32), np.zeros(100, np.float32)],
    ids=["few", "sizes or positions", "one number", "zeros"],
)
def test_what_says_nothing_or_has_to_stay_is_not_drawn_anew(array):
    assert redraw(array, np.random.default_rng(0)) is array


def test_numbers_of_weights_and_attributes_are_replaced_and_counted_and_what_is_left_is_told():
    numbers = np.linspace(1, 2, 20, dtype=np.float32)
    nodes = [
        helper.make_node("LinearRegressor", ["x"], ["h"], domain="ai.onnx.ml", coefficients=numbers.tolist()),
        helper.make_node("Mine", ["h"], ["y"], domain="org.mine", text="why"),
    ]
    weights = [numpy_helper.from_array(array, name) for name, array in (("w", numbers), ("at", np.arange(20)))]
    model = helper.make_model(helper.make_graph(nodes, "g", [], [], weights))
    assert left_as_it_is(model) == [
        "1 weight of whole numbers, which may be sizes or positions", "the operator org.mine.Mine with its texts",
    ]  # fmt: skip
    assert redraw_weights(model, np.random.default_rng(0)) == 2
    assert (numpy_helper.to_array(model.graph.initializer[0]) != numbers).all()
    assert numpy_helper.to_array(model.graph.initializer[1]).tolist() == list(range(20))
    assert list(model.graph.node[0].attribute[0].floats) != numbers.tolist()
