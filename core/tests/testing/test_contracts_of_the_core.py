"""What the core itself contributes, and the toy box of its tests, keep the contracts."""

from __future__ import annotations

from dataclasses import replace

import commandline
import numpy as np
import pytest
from toymodels import drawn

from polycmp.builtin.functions.metric_options import IouMatchOptions
from polycmp.builtin.functions.metrics import IouMatch
from polycmp.comparator import CompareFunc
from polycmp.tensors import TensorMetadata
from polycmp.testing import (
    CompareFuncContract,
    DataLoaderContract,
    LoaderContract,
    RunnerContract,
)

with pytest.MonkeyPatch.context() as path:  # its metadata is not to be found by the tests of other files
    path.syspath_prepend(str(commandline.TOYDIST))
    from toybox.compare import make_signs
    from toybox.data import make_ramp
    from toybox.loader import CutToy, ToyFromPath
    from toybox.model import Node, Toy, parse
    from toybox.plugin import RampOptions, SignsOptions
    from toybox.runner import ToyRunner

TOY = Toy(
    {"x": ("float32", ("n", 4))},
    ("y", "s"),
    (Node("MatMul", ("x", "w"), ("h",)), Node("Relu", ("h",), ("y",)), Node("Shape", ("x",), ("s",))),
    {"w": drawn(4, 3)},
)


class TestToyRunner(RunnerContract):
    capabilities = {"dynamic_shapes", "broken_model"}
    atol = 1e-6

    def load(self):
        return replace(TOY)

    def make_runner(self, load):
        return ToyRunner(load, name="toy")

    def feeds(self):
        return [{"x": np.full((2, 4), fill, np.float32)} for fill in (0.5, -1.0)]

    def other_shapes(self):
        return {"x": np.ones((5, 4), np.float32)}

    def load_broken(self):
        return parse(b"{}", "broken.toy")

    def expected(self, feed):
        weights = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
        return {"y": np.maximum(feed["x"] @ weights, 0), "s": np.array(feed["x"].shape)}


def whole():
    return TOY


class TestCutToy(LoaderContract):
    capabilities = {"broken_source"}

    def make_loader(self):
        return CutToy(whole, TensorMetadata().add("h", "float32", (2, 3)), ["y"])

    def make_broken(self):
        return CutToy(ToyFromPath("no/such.toy"), TensorMetadata(), ["y"])


class TestRamp(DataLoaderContract):
    capabilities = {"several", "dynamic_shapes", "repeatable"}

    def make_data_loader(self):
        return make_ramp(RampOptions())


class TestSigns(CompareFuncContract):
    capabilities = {"integer", "empty", "scalar"}

    def make_compare_func(self):
        return make_signs(SignsOptions())

    def different(self):
        return np.array([1.0, 2.0]), np.array([1.0, -2.0])


class TestSimple(CompareFuncContract):
    capabilities = {"integer", "bool", "string", "low_bit", "empty", "scalar"}

    def make_compare_func(self):
        return CompareFunc.simple()

    def different(self):
        candidate, reference = self.equal()
        return -candidate, reference


class TestL2(TestSimple):
    def make_compare_func(self):
        return CompareFunc.l2()


class TestCosine(TestSimple):
    def make_compare_func(self):
        return CompareFunc.cosine_similarity()


class TestPsnr(TestSimple):
    def make_compare_func(self):
        return CompareFunc.psnr()


class TestSnr(TestSimple):
    def make_compare_func(self):
        return CompareFunc.snr()


class TestUlp(TestSimple):
    def make_compare_func(self):
        return CompareFunc.ulp()


class TestIndices(TestSimple):
    def make_compare_func(self):
        return CompareFunc.indices()

    def equal(self):
        return np.array([[3, 1, 2]]), np.array([[3, 1, 2]])

    def different(self):
        return np.array([[3, 1, 2]]), np.array([[0, 1, 2]])


class TestIou(CompareFuncContract):
    def make_compare_func(self):
        return IouMatch(IouMatchOptions())

    def equal(self):
        boxes = np.array([[0, 0, 1, 1], [2, 2, 4, 4]], np.float32)
        return boxes, boxes.copy()

    def different(self):
        candidate, reference = self.equal()
        return candidate + 9, reference
