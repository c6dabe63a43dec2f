"""The process of an engine: what it tells of errors, how much it may write, and types that go in and out."""

from __future__ import annotations

import numpy as np
import pytest
from in_parts import a_few
from onnx import TensorProto, helper
from toy_runner import runner

from polycmp.errors import ModelError
from polycmp_onnx.engine_child import largest_file


def test_an_error_of_one_word_is_told_with_its_type():
    with pytest.raises(ModelError) as caught, runner("Abs"):
        pass
    assert caught.value.why == "KeyError: 'axes'"


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


def test_a_file_may_be_several_times_as_large_as_the_model(tmp_path):
    before = largest_file(str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(bytes(1000))
    (tmp_path / "model.onnx.data").write_bytes(bytes(2000))
    (tmp_path / "log.txt").write_bytes(bytes(9000))
    assert largest_file(str(tmp_path)) - before == 8 * 3000
