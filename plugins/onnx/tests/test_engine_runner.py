"""A backend in a process of its own by `EngineRunner`, as an author of one writes it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from engine_models import operator
from in_parts import a_few
from onnx import TensorProto, helper

from polycmp.errors import BackendError, ModelError
from polycmp.process import ChildProcess
from polycmp_onnx.engine_runner import EngineRunner

TESTS = Path(__file__).parents[3] / "tests"


class ToyRunner(EngineRunner):
    engine = "Toy"
    child = "toy_engine"
    options = 1.0
    reasons = re.compile("error")

    def installed_version(self):
        return "1.0"

    def prepare(self, feed_dict):
        if feed_dict is None:
            self.convert(factor=self.options)

    def held(self, name, array):
        return array


def runner(op_type, kind=TensorProto.FLOAT, **changes):
    def start():
        return ChildProcess("toy_engine", path=[str(TESTS), *sys.path])

    return ToyRunner(operator(op_type, kind), start=start, **changes)


def test_outputs_come_back_in_the_types_that_the_model_declares():
    with runner("Neg", options=2.0) as active:
        assert active.backend_version == "1.0"
        result = active.infer({"x": np.float32([[1, 2]])})["y"]
    assert result.dtype == np.float32 and result.tolist() == [[-2, -4]]


def test_a_model_that_the_engine_refuses_is_an_error_with_what_it_printed():
    with pytest.raises(ModelError) as caught, runner("Sin"):
        pass
    assert "Toy cannot take the model" in str(caught.value)
    assert caught.value.why == "it has no Sin; toy: error: no Sin today"


def test_an_error_of_one_word_is_told_with_its_type():
    with pytest.raises(ModelError) as caught, runner("Abs"):
        pass
    assert caught.value.why == "KeyError: 'axes'"


def test_an_engine_that_ends_is_an_error_in_words():
    with runner("Cos") as active, pytest.raises(BackendError, match="ended with exit status 7"):
        active.infer({"x": np.ones((1, 2), np.float32)})


def test_an_engine_that_fills_the_disk_is_ended():
    with pytest.raises(ModelError) as caught, runner("Tan"):
        pass
    assert caught.value.why == "it wrote a file of more than 1.1 GB and was ended"


@pytest.mark.parametrize("kind", a_few([TensorProto.BFLOAT16, TensorProto.INT4, TensorProto.FLOAT8E5M2], 2))
def test_types_that_files_of_numpy_do_not_know_arrive(kind):
    array = np.array([[1, 2, -3]]).astype(helper.tensor_dtype_to_np_dtype(kind))
    with runner("Identity", kind=kind) as active:
        result = active.infer({"x": array})["y"]
    assert result.dtype == array.dtype and result.tolist() == array.tolist()
