"""Two models of which one is the other in a smaller type: what they have in common."""

from __future__ import annotations

import low_precision_models as low_precision
import onnx
import pytest

from polycmp.errors import ModelError
from polycmp_locate.precision.mixed import Mixer


def test_models_with_nothing_in_common_cannot_be_ranked(polycmp, models):
    words = models(low_precision.float16, 1.0, layers=3, outlier=0)
    model = onnx.load("small.onnx")
    node = onnx.helper.make_node("Softmax", ["x"], ["y"])
    del model.graph.node[:]
    model.graph.node.append(node)
    onnx.save(model, "small.onnx")
    done = polycmp("locate", *words, "--rank")
    assert (done.status, "no tensor in common" in " ".join(done.err.split())) == (3, True), done.out + done.err


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide nothing: these tests need ONNX."""


def test_no_layers_are_mixed_of_models_with_nothing_in_common():
    exact = low_precision.chain(2)
    other = onnx.ModelProto()
    other.CopyFrom(exact)
    for node in other.graph.node:
        node.input[:] = [f"z_{name}" if not name.startswith(("w", "b")) else name for name in node.input]
        node.output[:] = [f"z_{name}" for name in node.output]
    with pytest.raises(ModelError, match="no tensor in common"):
        Mixer(exact, other)
