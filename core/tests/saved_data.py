"""Files of inputs and outputs that tests write, and what such files hold."""

from __future__ import annotations

from importlib.util import find_spec

import ml_dtypes
import numpy as np
import pytest

from polycmp.results import IterationResult
from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs, open_runs


def inputs(path, *feeds):
    """Save feeds, each with a number for every input."""
    with InputsWriter(path) as writer:
        for feed in feeds:
            writer.add({name: np.float32(value) * np.ones((1, 2), np.float32) for name, value in feed.items()})


def outputs(path, label, *values):
    """Save the output `o` of a run, with a number for every iteration."""
    with OutputsWriter(path) as writer:
        for value in values:
            writer.add(label, {"o": np.full(3, value)}, 0.5)


def read(path):
    """Return the first element of every input in a file, by iteration."""
    return [{name: float(array.flat[0]) for name, array in feed.items()} for feed in open_inputs([path])]


NEEDS_SAFETENSORS = pytest.mark.skipif(find_spec("safetensors") is None, reason="safetensors is not installed")


#: What runs were made with.
LAPTOP = {"numpy": "2.4.6", "processor": "A", "cores": "2", "processor flags": "avx2 fma"}
SERVER = {**LAPTOP, "processor": "B", "cores": "64", "processor flags": "avx2 fma avx512_vnni amx_int8"}
#: A file of each format, and a folder.
ANY_FORMAT = ["saved.npz", "saved.json", "folder", pytest.param("saved.safetensors", marks=NEEDS_SAFETENSORS)]


def save_with_environment(path, value, environment):
    """Save a run of two iterations, the first with what it was made with."""
    outputs = IterationResult({"y": np.arange(4.0) + value})
    outputs.environment = environment
    with OutputsWriter(path) as writer:
        writer.add("run", outputs)
        writer.add("run", {"y": np.arange(4.0)})


#: Arrays of all types, layouts and names.
FEED = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "strided": np.arange(20, dtype=np.int16)[::3],
    "rank 0": np.array(3.5),
    "empty": np.zeros((0, 3), np.int64),
    "not numbers": np.array([np.nan, np.inf, -np.inf, -0.0], np.float16),
    "bool": np.array([True, False]),
    "uint64": np.array([2**64 - 1], np.uint64),
    "complex": np.array([1 + 2j], np.complex64),
    "complex128": np.array([[1 + 2j, 3]], np.complex128),
    "big-endian": np.arange(3, dtype=">f4"),
    "bfloat16": np.array([1.5, np.nan, -np.inf], ml_dtypes.bfloat16),
    "fp8": np.arange(5).astype(ml_dtypes.float8_e4m3fn),
    "int4": np.array([[1, -8], [7, 0]], ml_dtypes.int4),
    "strings": np.array([["a", "ä\0"], ["", "\ud800"]], dtype=object),
    "bytes": np.array([b"\0\xff", "text"], dtype=object),
    "/encoder/../é:0\n": np.array([1], np.int8),
    "../../escape": np.array([2], np.int8),
    "polygraphy_class": np.array([3], np.int8),
}


def same(one, other):
    """Return whether two arrays are equal, bit for bit."""
    if one.dtype == object:
        return other.dtype == object and one.shape == other.shape and one.tolist() == other.tolist()
    if one.dtype.name != other.dtype.name or one.shape != other.shape:
        return False
    return one.tobytes() == other.astype(one.dtype, copy=False).tobytes()  # the byte order itself need not survive


def write_inputs(path, count=3):
    """Save iterations of `FEED` with their number."""
    with InputsWriter(path) as writer:
        for i in range(count):
            writer.add({**FEED, "i": np.array([i])})


def write_outputs(path, labels=("one", "two"), count=3):
    """Save iterations of `FEED` with their number, as outputs of some runs."""
    with OutputsWriter(path) as writer:
        for i in range(count):
            for label in labels:
                writer.add(label, {**FEED, "i": np.array([i])}, 0.25 + i)


def read_everything(path):
    """Read every byte of saved outputs."""
    for run in open_runs(path):
        for iteration in run.iterations:
            for array in iteration.values():
                array.tobytes()
