"""A backend that computes y = 2x, z = x + 1 and w = x without any model, and lies about it as its mode says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np

from hostile_polycmp.endings import ENDINGS
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata

SHARED = {name: np.zeros((2, 4), np.float32) for name in "yzw"}


class Flattering(np.ndarray):
    """Equal to everything."""

    def __eq__(self, other):
        return np.ones(self.shape, bool)

    def __ne__(self, other):
        return np.zeros(self.shape, bool)

    __hash__ = None

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        return np.zeros(self.shape, np.float64)

    def __array_function__(self, function, types, args, kwargs):
        return np.zeros(self.shape, np.float64)


class Agreeable:
    """An element that is equal to everything."""

    def __eq__(self, other):
        return True

    __hash__ = None


class UnhashableNames(dict):
    def keys(self):
        return [["y"]]

    __iter__ = keys


class NotQuite:
    """Looks like an array from far away."""

    dtype = np.dtype(np.float32)
    shape = (2, 4)


def honest(runner, x):
    x = np.asarray(x)
    return {name: array + np.float32(runner.options.seed) for name, array in zip("yzw", (x * 2, x + 1, x), strict=True)}


def _changed(**changes):
    def lie(runner, x):
        made = honest(runner, x)
        return {**made, **{name: change(made[name]) for name, change in changes.items()}}

    return lie


def shared(runner, x):
    for name, array in honest(runner, x).items():
        SHARED[name][...] = array
    return dict(SHARED)


def reuse(runner, x):
    made = honest(runner, x)
    if runner.kept is None:
        runner.kept = made
    for name, array in made.items():
        runner.kept[name][...] = array
    return runner.kept


def late(runner, x):
    spoil(runner)
    runner.kept = honest(runner, x)
    return runner.kept


def spoil(runner):
    for array in (runner.kept or {}).values():
        array[...] = np.nan


def write_hard(runner, x):
    x[...] = 0
    return honest(runner, x)


def write_soft(runner, x):
    if x.flags.writeable:
        x[...] = 0
    return honest(runner, x)


def write_flag(runner, x):
    x.flags.writeable = True
    x[...] = 0
    return honest(runner, x)


def write_base(runner, x):
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    base.flags.writeable = True
    base[...] = 0
    return honest(runner, x)


def write_out(runner, x):
    return honest(runner, np.multiply(x, 0, out=x))


def views(runner, x):
    return {**honest(runner, x), "w": x}


def leak_thread(runner, x):
    threading.Thread(target=time.sleep, args=(1000,), daemon=False).start()
    return honest(runner, x)


def leak_child(runner, x):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    with open(os.environ["HOSTILE_PID"], "w") as file:
        file.write(str(child.pid))
    return honest(runner, x)


def garbage(runner, x):
    print("garbage on stdout")
    print("garbage on stderr", file=sys.stderr)
    os.write(1, b"raw garbage\n")
    os.write(2, b"raw garbage\n")
    return honest(runner, x)


def close_descriptors(runner, x):
    os.closerange(0, 3)
    return honest(runner, x)


def chdir(runner, x):
    os.chdir("/")
    return honest(runner, x)


def numpy_errors(runner, x):
    np.seterr(all="raise")
    return {**honest(runner, x), "y": (np.asarray(x) * 2) + np.float32(3e38)}


def monkeypatch(runner, x):
    np.isnan = np.isfinite = np.abs = np.subtract = lambda *args, **kwargs: np.zeros(())
    return honest(runner, x)


def zero_is_wrong(runner, x):
    made = honest(runner, x)
    return {**made, "y": made["y"] + 1} if not x.any() else made


OUTPUTS = {
    "zero_is_wrong": zero_is_wrong,
    "honest": honest,
    "off": _changed(y=lambda y: y + 1),
    "nan": _changed(y=lambda y: y * np.nan, z=lambda z: z * np.nan, w=lambda w: w * np.nan),
    "float": _changed(y=lambda y: 2.0),
    "int": _changed(y=lambda y: 2),
    "list": _changed(y=list),
    "nested": _changed(y=lambda y: y.tolist()),
    "none": _changed(y=lambda y: None),
    "text": _changed(y=lambda y: "2"),
    "bytes": _changed(y=lambda y: y.tobytes()),
    "not_quite": _changed(y=lambda y: NotQuite()),
    "scalar": _changed(y=lambda y: y[0, 0]),
    "missing": lambda runner, x: {name: array for name, array in honest(runner, x).items() if name != "y"},
    "extra": lambda runner, x: {**honest(runner, x), "more": np.ones(1)},
    "renamed": lambda runner, x: {name.upper(): array for name, array in honest(runner, x).items()},
    "number_name": lambda runner, x: {**honest(runner, x), 5: np.ones(1)},
    "none_name": lambda runner, x: {**honest(runner, x), None: np.ones(1)},
    "unhashable": lambda runner, x: UnhashableNames(honest(runner, x)),
    "nothing": lambda runner, x: None,
    "no_outputs": lambda runner, x: {},
    "pairs": lambda runner, x: list(honest(runner, x).items()),
    "generator": lambda runner, x: (item for item in honest(runner, x).items()),
    "generator_output": _changed(y=lambda y: (row for row in y)),
    "big_endian": _changed(y=lambda y: y.astype(">f4")),
    "big_endian_off": _changed(y=lambda y: (y + 1).astype(">f4")),
    "float64": _changed(y=lambda y: y.astype(np.float64)),
    "integers": _changed(y=lambda y: y.astype(np.int32)),
    "booleans": _changed(y=lambda y: y.astype(bool)),
    "complex": _changed(y=lambda y: y.astype(np.complex64)),
    "strings": _changed(y=lambda y: y.astype(str)),
    "objects": _changed(y=lambda y: y.astype(object)),
    "agreeable": _changed(y=lambda y: np.array([[Agreeable()] * 4] * 2, object)),
    "structured": _changed(y=lambda y: np.zeros(8, [("re", "f4"), ("im", "f4")])),
    "dates": _changed(y=lambda y: np.zeros((2, 4), "M8[s]")),
    "zero_size": _changed(y=lambda y: y[:0]),
    "zero_dim": _changed(y=lambda y: y.sum()),
    "deep": _changed(y=lambda y: np.ones((1,) * 32, np.float32)),
    "transposed": _changed(y=lambda y: y.T),
    "strided": _changed(y=lambda y: np.repeat(y, 2, axis=1)[:, ::2]),
    "flattering": _changed(y=lambda y: (y + 1).view(Flattering)),
    "masked": _changed(y=lambda y: np.ma.masked_array(y + 1, np.ones(y.shape, bool))),
    "shared": shared,
    "reuse": reuse,
    "late": late,
    "write_hard": write_hard,
    "write_soft": write_soft,
    "write_flag": write_flag,
    "write_base": write_base,
    "write_out": write_out,
    "views": views,
    "leak_thread": leak_thread,
    "leak_child": leak_child,
    "garbage": garbage,
    "close_descriptors": close_descriptors,
    "chdir": chdir,
    "numpy_errors": numpy_errors,
    "monkeypatch": monkeypatch,
}

METADATA = {
    "inputs_none": None,
    "inputs_list": ["x"],
    "inputs_dict": {"x": (np.float32, (2, 4))},
    "inputs_other": TensorMetadata().add("another", np.float32, (2, 4)),
}


class HostileRunner(Runner):
    def __init__(self, options, name):
        super().__init__(name)
        self.options = options
        self.kept = None
        self.iterations = 0

    def end(self, stage):
        if self.options.when == stage and self.options.mode in ENDINGS:
            ENDINGS[self.options.mode]()

    def activate(self):
        made = super().activate()
        return None if self.options.mode == "activate_none" else made

    def activate_impl(self):
        self.end("activate")
        if self.options.mode == "odd_notes":
            self.notes, self.backend_version = None, 5

    def get_input_metadata_impl(self):
        self.end("describe")
        if self.options.mode in METADATA:
            return METADATA[self.options.mode]
        return TensorMetadata().add("x", np.float32, (2, 4))

    def infer_impl(self, feed_dict):
        self.end("infer")
        self.iterations += 1
        if self.options.when == "second" and self.iterations == 2:
            ENDINGS[self.options.mode]()
        return OUTPUTS.get(self.options.mode, honest)(self, feed_dict["x"])

    def deactivate_impl(self):
        if self.options.mode == "late":
            spoil(self)
        self.end("deactivate")


def make_runner(model, options, *, name):
    if options.mode == "make_none":
        return None
    if options.when == "make" and options.mode in ENDINGS:
        ENDINGS[options.mode]()
    return HostileRunner(options, name)
