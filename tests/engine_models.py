"""Models, commands and tests that the engines of phones and browsers share."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.cli.main import main
from polycmp.process import ChildProcess
from polycmp.testing.nodes import NodeCorpus, Refusals, node_cases, read_refusals


def network(scale=1.0, size=1):
    """Return y = mean(relu(conv(x))) * scale over the pixels of 8 channels, with filters of a size."""
    rng = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(rng.standard_normal((8, 3, size, size)).astype(np.float32), "w"),
        numpy_helper.from_array(np.float32(scale), "scale"),
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["filtered"], name="conv"),
        helper.make_node("Relu", ["filtered"], ["positive"], name="relu"),
        helper.make_node("GlobalAveragePool", ["positive"], ["mean"], name="pool"),
        helper.make_node("Mul", ["mean", "scale"], ["y"], name="mul"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 16, 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8, 1, 1])
    graph = helper.make_graph(nodes, "net", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def operator(name, kind, **attributes):
    """Return a model of one operator."""
    values = [helper.make_tensor_value_info(each, kind, ["n", "m"]) for each in "xy"]
    nodes = [helper.make_node(name, ["x"], ["y"], **attributes)]
    graph = helper.make_graph(nodes, "one", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def polycmp(*words):
    return main([str(word) for word in words])


def printed(capsys):
    """Everything that was written, with the breaks of tables taken out."""
    streams = capsys.readouterr()
    return " ".join((streams.out + streams.err).split())


@pytest.fixture
def model(tmp_path, monkeypatch):
    """The path of a network, beside which lies one with another scale."""
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "m.onnx")
    onnx.save(network(scale=1.01), "other.onnx")
    return "m.onnx"


class FindsAnotherWeight:
    """What every engine does with two networks that differ in one weight."""

    backend: ClassVar[str]

    def test_agrees_with_onnx_runtime_and_another_weight_is_found(self, model):
        assert polycmp("run", model, "-b", self.backend, "-b", "onnxrt") == 0
        assert polycmp("run", model, "-b", self.backend, "-b", "onnxrt:model=other.onnx") == 1

    def test_locate_names_the_operator_that_differs(self, model, capsys):
        joint = "," if ":" in self.backend else ":"
        assert polycmp("locate", model, "-b", f"{self.backend}{joint}model=other.onnx", "-b", "onnxrt") == 1
        assert "Mul 'mul'" in printed(capsys)


class OneProcess:
    """The process of many runners, one after the other: starting it takes longer than most models.

    Args:
        module: The module of the process.
    """

    def __init__(self, module):
        self.module = module
        self.child = None

    def send(self, message):
        self.child = self.child or ChildProcess(self.module)
        self.child.send(message)

    def receive(self):
        return self.child.receive()

    def ending(self):
        ending = self.child.ending()
        self.end()
        return ending

    def kill(self):
        pass

    def close(self):
        pass

    def end(self):
        child, self.child = self.child, None
        if child is not None:
            child.close()


class FewNodes(NodeCorpus):
    """Of each operator the first one-node model that the engine takes, and the first that it refuses or gets wrong.

    For engines whose converter is a process for each model: starting pnnx takes 0.2 s of processor time, 1,021 times.
    """

    def cases(self):
        refused = read_refusals(self.refusals).reasons
        first = {}
        for case in node_cases():
            first.setdefault((case.model.graph.node[0].op_type, case.name in refused), case)
        return first.values()

    @pytest.fixture(scope="class")
    def listed(self):
        """Return what the list says of these cases."""
        whole = read_refusals(self.refusals)
        names = {case.name for case in self.cases()}
        return Refusals(whole.exact_for, {name: why for name, why in whole.reasons.items() if name in names})

    def test_there_are_cases(self):
        operators = {case.model.graph.node[0].op_type for case in node_cases()}
        assert {case.model.graph.node[0].op_type for case in self.cases()} == operators
