"""A healthy third-party distribution, written from the design page alone: a backend, a compare function, data."""

from __future__ import annotations

from fakes import FakeSite

PYPROJECT_ENTRY = {"acme": "acme_polycmp.plugin"}

PLUGIN = """\
from dataclasses import dataclass
from polycmp.spec import CompareFuncSpec, DataLoaderSpec, RunnerSpec, hookimpl, opt


@dataclass(frozen=True)
class RunnerOptions:
    gain: float = opt(1.0, help="What the output is multiplied by.", alias="--acme-factor")
    mode: str = opt("plain", help="How to compute.", choices=("plain", "halved"))
    fast: bool = opt(False, help="Skip what is not needed.")


@dataclass(frozen=True)
class CompareOptions:
    allowed: int = opt(0, help="How many signs may differ.")


@dataclass(frozen=True)
class DataOptions:
    step: float = opt(0.5, help="Distance of neighbours.")
    count: int = opt(2, help="How many inputs.")


@hookimpl
def polycmp_runners():
    yield RunnerSpec(name="acme", summary="Acme accelerator", factory="acme_polycmp.runner:make_runner",
                     options=RunnerOptions, accepts=("onnx",), needs=("onnx",))


@hookimpl
def polycmp_compare_funcs():
    return [CompareFuncSpec("acme_signs", "Signs agree", "acme_polycmp.compare:make", CompareOptions)]


@hookimpl
def polycmp_data_loaders():
    yield DataLoaderSpec("acme_ramp", "Rising numbers", "acme_polycmp.data:make", DataOptions)
"""

RUNNER = """\
import numpy as np
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata


class AcmeRunner(Runner):
    def __init__(self, load, name, options):
        super().__init__(name)
        self.load = load
        self.options = options

    def activate_impl(self):
        self.graph = self.load().graph

    def get_input_metadata_impl(self):
        value = self.graph.input[0]
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        return TensorMetadata().add(value.name, np.float32, shape)

    def infer_impl(self, feed_dict):
        (x,) = feed_dict.values()
        gain = self.options.gain * (0.5 if self.options.mode == "halved" else 1)
        return {self.graph.output[0].name: (x * gain).astype(np.float32)}

    def deactivate_impl(self):
        del self.graph


def make_runner(model, options, *, name):
    assert model.path and model.kind == "onnx"
    return AcmeRunner(model.load("onnx"), name, options)
"""

COMPARE = """\
import numpy as np
from polycmp.spec import Verdict


def make(options):
    def compare(candidate, reference, *, output):
        wrong = int((np.sign(candidate) != np.sign(reference)).sum())
        passed = wrong <= options.allowed
        return Verdict(passed, "" if passed else f"{wrong} signs of {output} differ", {"signs": wrong})

    return compare
"""

DATA = """\
import numpy as np


def make(options):
    def load(inputs):
        for start in range(options.count):
            feed = {}
            for name, entry in inputs.items():
                ramp = np.arange(np.prod(entry.shape)) * options.step - start
                feed[name] = ramp.reshape(entry.shape).astype(entry.dtype)
            yield feed

    return load
"""


def install_outsider(site: FakeSite) -> None:
    """Install it as `acme-polycmp` 2.3."""
    files = {"plugin": PLUGIN, "runner": RUNNER, "compare": COMPARE, "data": DATA, "__init__": ""}
    sources = {f"acme_polycmp/{name}.py": text for name, text in files.items()}
    site.install("acme-polycmp", PYPROJECT_ENTRY, sources, version="2.3")
