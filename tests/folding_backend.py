"""A backend that is wrong where it computes two operators together, on any release of ONNX Runtime."""

from __future__ import annotations

import pytest
from fakes import FakeSite, runner

FOLDING = '''
from onnx import ModelProto, helper, numpy_helper
from polycmp_onnxrt.runner import OnnxrtRunner
from polycmp_onnxrt.session import SessionFromOnnx

def folded(model):
    """Fold zeros around an input into the pooling behind them, which pads with minus infinity, as ONNX Runtime did
    before 1.32; not where the tensor between the two is an output."""
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    sizes = {each.name: numpy_helper.to_array(each).tolist() for each in graph.initializer}
    shown = {each.name for each in graph.output}
    pads = {node.output[0]: node for node in graph.node if node.op_type == "Pad" and node.output[0] not in shown}
    for node in graph.node:
        if node.op_type == "MaxPool" and node.input[0] in pads:
            pad = pads[node.input[0]]
            before, after = sizes[pad.input[1]][2:4], sizes[pad.input[1]][6:8]
            node.input[0] = pad.input[0]
            node.attribute.append(helper.make_attribute("pads", [*before, *after]))
            graph.node.remove(pad)
            break
    return made

def make(model, options, *, name):
    load = model.load("onnx")
    return OnnxrtRunner(SessionFromOnnx(lambda: folded(load())), name)
'''


@pytest.fixture
def folding(tmp_path):
    """A command with that backend."""
    site = FakeSite(tmp_path / "site")
    site.plugin("folding", runner("folding", factory="folding_impl:make"))
    (site.folder / "folding_impl.py").write_text(FOLDING)
    return lambda *words: site.polycmp(*words, cwd=tmp_path)
