"""The backends: NumPy, right or wrong as asked for."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from polycmp.errors import BackendError
from polycmp.loader import resolve
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, is_floating
from toybox.loader import UnpackToy
from toybox.model import Toy, rounded, run_node, weight
from toybox.plugin import RunnerOptions, ShutOptions


class ToyRunner(Runner):
    """Runs a toy.

    Args:
        load: Makes the toy.
        options: How, and what goes wrong.
        name: The label in reports.
    """

    def __init__(self, load: Callable[[], Toy], options: RunnerOptions | None = None, name: str = "") -> None:
        super().__init__(name)
        self.load = load
        self.options = options or RunnerOptions()
        self.activations = 0

    def activate_impl(self) -> None:
        toy, options = resolve(self.load), self.options
        hidden = [name for name in toy.outputs if name in options.hides]
        if hidden:
            raise BackendError(f"cannot give out {hidden[0]!r}", whose=self.name)
        unknown = [node for node in toy.nodes if node.op in options.refuses]
        if unknown:
            what = f"has no operator {unknown[0].op} ({unknown[0].name})"
            raise BackendError(what, whose=self.name, hint="use another one")
        self.toy = toy
        self.weights = {name: rounded(weight(spec), options.dtype) for name, spec in toy.weights.items()}
        self.activations += 1
        self.drawn = np.random.uniform()
        self.calls = 0
        self.last_size = None
        self.backend_version = "toy 1"
        if options.threads > 8:
            self.notes.append("only 8 threads are used")

    def get_input_metadata_impl(self) -> TensorMetadata:
        return self.toy.metadata

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        self.size = next((array.size for array in feed_dict.values()), 0)
        values = {name: rounded(array, self.options.dtype) for name, array in feed_dict.items()} | self.weights
        for node in self.toy.nodes:
            for name, array in zip(node.outputs, run_node(node, values, self.options.dtype), strict=True):
                values[name] = self.spoil(array) if self.goes_wrong(name) else array
        self.calls += 1
        self.last_size = self.size
        if self.options.seconds:
            self.inference_time = self.options.seconds
        return {name: np.array(values[name]) for name in self.toy.outputs}

    def deactivate_impl(self) -> None:
        del self.toy, self.weights

    def goes_wrong(self, tensor: str) -> bool:
        """Return whether the fault shows in a tensor of this session."""
        options = self.options
        if not options.fault or tensor != options.at or self.calls < options.after:
            return False
        made = {name for node in self.toy.nodes for name in node.outputs}
        outputs = set(self.toy.outputs)
        if not set(options.shown) <= outputs:
            return False
        return set(options.beside) <= made and set(options.fused) <= made - outputs

    def spoil(self, array: Any) -> Any:
        """Return a tensor with the fault."""
        fault, amount = self.options.fault, self.options.amount
        if fault in FATAL:
            FATAL[fault]()
        if fault == "open":
            if any(entry.is_dynamic() for entry in self.toy.metadata.values()):
                _raise()
            return array
        if not is_floating(array.dtype):
            return array + int(amount)
        if fault in ELEMENTS:
            array.reshape(-1)[:1] = ELEMENTS[fault]
            return array
        if fault == "neighbours":
            return array - (amount * array.mean(axis=0, keepdims=True)).astype(array.dtype)
        change = {
            "add": amount,
            "scale": array * amount,
            "constant": amount - array,
            "noise": np.random.uniform(-amount, amount, array.shape),
            "restart": amount * (self.activations > 1),
            "session": amount * self.drawn,
            "race": np.random.uniform(-amount, amount, array.shape) * (self.options.threads > 1),
            "memory": amount * (self.last_size not in (None, self.size)),
            "place": amount * np.arange(len(array) if array.ndim else 1).reshape(-1, *[1] * (array.ndim - 1)),
            "threads": amount * (self.options.threads > 1),
            "fixed": amount * (not any(entry.is_dynamic() for entry in self.toy.metadata.values())),
        }[fault]
        return (array + change).astype(array.dtype)


def _raise() -> None:
    raise BackendError("has had enough", hint="give it a rest")


def _overwrite() -> None:
    raise MemoryError("no room left")


ELEMENTS = {"nan": np.nan, "inf": np.inf}
FATAL: dict[str, Callable[[], Any]] = {
    "raise": _raise,
    "overwrite": _overwrite,
    "die": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "leave": lambda: os._exit(7),
    "hang": lambda: time.sleep(600),
}


def make_runner(model: Any, options: RunnerOptions, *, name: str) -> ToyRunner:
    """Return the backend with faults on demand."""
    return ToyRunner(model.load("toy"), options, name=name)


def make_plain(model: Any, options: None, *, name: str) -> ToyRunner:
    """Return the backend without."""
    return ToyRunner(model.load("toy"), name=name)


def make_shut(model: Any, options: ShutOptions, *, name: str) -> ToyRunner:
    """Return the backend that shows nothing inside."""
    return ToyRunner(model.load("toy"), RunnerOptions(fault="noise" if options.noise else "", at=options.noise), name)


def make_packed(model: Any, options: None, *, name: str) -> ToyRunner:
    """Return the backend that takes packed toys."""
    return ToyRunner(UnpackToy(model.load("packed")), name=name)
