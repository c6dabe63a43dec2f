"""Two models of which one is the other in a smaller type: what they have in common."""

from __future__ import annotations

import low_precision_models as low_precision
import onnx
import pytest

from polycmp.errors import ModelError
from polycmp_locate.precision.mixed import Mixer
from polycmp_locate.precision.model_pair import same_opset


def test_models_with_nothing_in_common_cannot_be_ranked(polycmp, models):
    words = models(low_precision.float16, 1.0, layers=3, outlier=0)
    model = onnx.load("small.onnx")
    node = onnx.helper.make_node("Softmax", ["x"], ["y"])
    del model.graph.node[:]
    model.graph.node.append(node)
    onnx.save(model, "small.onnx")
    done = polycmp("locate", *words, "--rank")
    assert (done.status, "no tensor in common" in " ".join(done.err.split())) == (3, True), done.out + done.err


def test_no_layers_are_mixed_of_models_with_nothing_in_common():
    exact = low_precision.chain(2)
    other = onnx.ModelProto()
    other.CopyFrom(exact)
    for node in other.graph.node:
        node.input[:] = [f"z_{name}" if not name.startswith(("w", "b")) else name for name in node.input]
        node.output[:] = [f"z_{name}" for name in node.output]
    with pytest.raises(ModelError, match="no tensor in common"):
        Mixer(exact, other)


def test_a_float_model_is_brought_to_the_opset_of_the_reduced_one(polycmp, models):
    words = models(low_precision.float16, 1e6, layers=4, outlier=2)
    small = onnx.version_converter.convert_version(onnx.load("small.onnx"), 18)
    onnx.save(small, "small.onnx")
    done = polycmp("locate", *words, "--atol", "1e-2", "--save-mixed", "mixed.onnx")
    assert done.status == 1, done.out + done.err
    assert onnx.load("mixed.onnx").opset_import == small.opset_import


def test_an_opset_that_the_float_model_cannot_have_is_told_with_what_to_do():
    exact, reduced = low_precision.chain(2), low_precision.chain(2)
    reduced.opset_import[0].version = 1
    with pytest.raises(ModelError, match="the float model has opset 17, the reduced one 1") as caught:
        same_opset(exact, reduced)
    assert caught.value.hint == "export the float model with opset 1"
