"""A backend with an optimiser of its own, of which each pass is wrong in another way: a plugin that tests write."""

from __future__ import annotations

import pytest
from fakes import FakeSite
from located import REPORT, located

OPTIMISING = """
from dataclasses import dataclass
from polycmp.spec import RunnerSpec, RunnerTools, Switch, hookimpl, opt

@dataclass(frozen=True)
class Options:
    skip: tuple[str, ...] = opt((), help="Passes to leave out.")
    write: str | None = opt(None, help="Where to write the model as it runs.", writes=True)

@hookimpl
def polycmp_runners():
    yield RunnerSpec("optimising", "ONNX Runtime behind an optimiser", "optimising_impl:make", Options, needs=("onnx",),
                     tools=f"{__name__}:Tools")

class Tools(RunnerTools):
    switches = (Switch("skip", values_from="optimising_impl:passes"),)
    rewritten = "write"
"""
OPTIMISER = '''
import os
import time

import onnx
from onnx import helper, numpy_helper
from polycmp_onnxrt.runner import OnnxrtRunner
from polycmp_onnxrt.session import SessionFromOnnx

def passes(model, options):
    return ["Nothing", "Differences", "OpenDifferences", "Casts", "Weights", "NothingEither"]

def only_reader(graph, name):
    readers = [node for node in graph.node if name in node.input]
    return readers[0] if len(readers) == 1 and name not in {item.name for item in graph.output} else None

def casts(graph):
    """Leave a cast to a coarser type and back out, with what reads it reading what it read."""
    for first in [node for node in graph.node if node.op_type == "Cast"]:
        second = only_reader(graph, first.output[0])
        if second is not None and second.op_type == "Cast":
            gone = second.output[0]
            for node in graph.node:
                node.input[:] = [first.input[0] if name == gone else name for name in node.input]
            second.CopyFrom(helper.make_node("Identity", [first.input[0]], [gone]))
            graph.node.remove(first)

def differences(graph):
    """Make one Sub of Neg and Add, with its operands exchanged."""
    for first in [node for node in graph.node if node.op_type == "Neg"]:
        second = only_reader(graph, first.output[0])
        if second is not None and second.op_type == "Add":
            other = next(name for name in second.input if name != first.output[0])
            second.CopyFrom(helper.make_node("Sub", [first.input[0], other], second.output))
            graph.node.remove(first)

def open_differences(graph):
    """Do so where a dimension is not known, as if there were another kernel for such models."""
    if any(dim.dim_param for item in graph.input for dim in item.type.tensor_type.shape.dim):
        differences(graph)

def weights(graph):
    """Round the weights of a product to 8 bits where what it multiplies was rounded to them."""
    if any(node.op_type == "DequantizeLinear" for node in graph.node):
        product = next(node for node in graph.node if node.op_type == "MatMul")
        weight = next(item for item in graph.initializer if item.name == product.input[1])
        real = numpy_helper.to_array(weight)
        scale = abs(real).max() / real.dtype.type(127)
        graph.initializer.remove(weight)
        graph.initializer.append(numpy_helper.from_array((real / scale).round().astype("int8"), "codes"))
        graph.initializer.append(numpy_helper.from_array(scale, "step"))
        graph.node.insert(0, helper.make_node("DequantizeLinear", ["codes", "step"], ["real"], name="weights"))
        product.input[1] = "real"

def make(model, options, *, name):
    loaded = onnx.ModelProto()
    loaded.CopyFrom(model.load("onnx")())
    for key, apply in (("Casts", casts), ("Differences", differences), ("OpenDifferences", open_differences),
                       ("Weights", weights)):
        if key not in options.skip:
            apply(loaded.graph)

    def session():
        first = os.environ.pop("SLOW", "")
        time.sleep(float(first or 0))
        if options.write:
            onnx.save(loaded, options.write)
        return SessionFromOnnx(loaded, optimization="off")()

    return OnnxrtRunner(session, name)
'''


@pytest.fixture
def optimising(tmp_path):
    """Search on a backend with an optimiser of its own; return the exit status and the report."""
    site = FakeSite(tmp_path / "site")
    site.plugin("optimising", OPTIMISING)
    (site.folder / "optimising_impl.py").write_text(OPTIMISER)

    def run(model, *words, backend="optimising"):
        done = site.polycmp("locate", model, "-b", backend, "-b", "onnx", *words, *REPORT, cwd=tmp_path)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, located(tmp_path)

    return run
