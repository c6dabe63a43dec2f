"""Loading a model that was just written, and running it beside its original, in a process of its own.

Native code may crash while it loads a file: then this process ends, and not the command that wrote the file. The upper
half asks, the lower half, from `main` on, is the child that answers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import describe_exception
from polycmp.process import DiedError, Say, answer_one, ask_child
from polycmp.tensors import is_size

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.runs import Resolved

_LOADING, _RUNNING = "loading it", "running it"
_OF_THE_ORIGINAL = "looking at the original"
#: Seconds for one step.
PATIENCE = 120.0


@dataclass(frozen=True)
class Tried:
    """Result of a trial.

    Attributes:
        loaded: Whether the backend took the file.
        fault: Fault of the file; empty if there is none.
        note: Checks that could not be made, and why; empty if all were made.
        compared: Number of outputs that were compared.
        crashed: Whether the process ended while it loaded the file.
    """

    loaded: bool
    fault: str = ""
    note: str = ""
    compared: int = 0
    crashed: bool = False


def trial_backend(registry: Registry) -> str:
    """Return the installed backend that starts and runs ONNX models most quickly; empty if there is none."""
    from polycmp.plugins import missing_modules

    quick = [
        (tools.trial_cost, item.name)
        for item, tools in registry.equipped(registry.runners.values())
        if tools.trial_cost and "onnx" in item.spec.accepts and not missing_modules(item.spec)
    ]
    return min(quick, key=lambda runner: runner[0])[1] if quick else ""


def attempt(backend: str, path: str, original: str = "", *, feeds_original: bool = False, unit: float = 0.0) -> Tried:
    """Try to load a model and to run it beside its original.

    Args:
        backend: The backend's name.
        path: The file.
        original: The file of what it was made of, with every tensor as an output that the file reads or makes; empty
            to load only.
        feeds_original: Whether inputs are generated for the original, and the file is fed with those and with what
            the original makes; by default they are generated for the file.
        unit: By which share of an output's largest value rounding may change it.
    """
    request = {"backend": backend, "path": path, "original": original, "feeds": feeds_original, "unit": unit}
    results: dict[str, Any] = {}
    try:
        for message in ask_child("polycmp_onnx.trial", request, os.environ, PATIENCE):
            results.update(message)
    except DiedError as death:
        if death.step == _OF_THE_ORIGINAL or "did not answer" in death.how:
            return Tried(bool(results.get("loaded")), note=f"{backend}, {death.step}, {death.how}")
        loaded = bool(results.get("loaded"))
        return Tried(loaded, fault=f"{backend} {death.how} while {death.step}", crashed=not loaded)
    return Tried(
        bool(results.get("loaded")), results.get("fault", ""), results.get("note", ""), results.get("compared", 0)
    )


def main(arguments: list[str]) -> None:
    """Answer one request, as the child.

    Args:
        arguments: The number of the parent process.
    """
    answer_one(int(arguments[0]), _answer)


def _answer(request: Mapping[str, Any], say: Say) -> None:
    from polycmp.plugins import Registry

    registry = Registry.discover()
    name, original = request["backend"], request["original"]
    say({"step": _LOADING})
    try:
        written = _resolved(request["path"], name, registry)
        runner = written.backends[0].make_runner()
        runner.activate()
    except Exception as error:  # noqa: BLE001 - whatever a backend raises
        say({"fault": f"{name} cannot load it: {_why(error)}"})
        return
    say({"loaded": True, "step": _OF_THE_ORIGINAL})
    if not original:
        return
    try:
        before = _resolved(original, name, registry)
        reference = before.backends[0].make_runner()
        reference.activate()
        source, fed = (before.source, reference) if request["feeds"] else (written.source, runner)
        feed = dict(next(iter(source(fed.get_input_metadata()))))
        reference_inputs = reference.get_input_metadata()
        expected = dict(reference.infer({key: value for key, value in feed.items() if key in reference_inputs}))
    except Exception as error:  # noqa: BLE001 - whatever a backend raises
        say({"note": f"{name} does not run the original on generated inputs: {_why(error)}"})
        return
    say({"step": _RUNNING})
    tensors_by_name = {**expected, **feed}
    misfit = next(
        filter(None, (_misfit(entry, tensors_by_name, key) for key, entry in runner.get_input_metadata().items())), ""
    )
    if misfit:
        say({"note": misfit})
        return
    try:
        outputs = dict(runner.infer({key: tensors_by_name[key] for key in runner.get_input_metadata()}))
    except Exception as error:  # noqa: BLE001 - whatever a backend raises
        say({"fault": f"{name} cannot run it on inputs on which it runs the original: {_why(error)}"})
        return
    say(_compared(outputs, tensors_by_name, request["unit"]))


def _resolved(path: str, backend: str, registry: Registry) -> Resolved:
    from polycmp.options import make_options
    from polycmp.plan import BackendPlan, Choice, ComparePlan, DataPlan, Plan
    from polycmp.runs import resolve

    loader = DataPlan().loader.name
    data = DataPlan(Choice(loader, make_options(registry.find_data_loader(loader).spec.options, {}, loader)))
    functions = ComparePlan().functions
    judged = tuple(
        Choice(item.name, make_options(registry.find_compare_func(item.name).spec.options, {}, item.name))
        for item in functions
    )
    options = make_options(registry.find_runner(backend).spec.options, {}, backend)
    backends = (BackendPlan(backend, backend, options),)
    return resolve(Plan(path, "onnx", backends=backends, data=data, compare=ComparePlan(judged)), registry)


def _misfit(entry: Any, tensors_by_name: Mapping[str, Any], name: str) -> str:
    """Return in words why the original's value of a tensor does not fit the file's input; empty if it does."""
    value = np.asarray(tensors_by_name[name])
    fixed = {place: dim for place, dim in enumerate(entry.shape or ()) if is_size(dim)}
    if entry.shape is not None and (
        len(entry.shape) != value.ndim or any(value.shape[place] != dim for place, dim in fixed.items())
    ):
        return f"{name!r} has another shape than in the original, which makes {list(value.shape)}"
    return f"{name!r} is no {value.dtype} as in the original" if entry.dtype not in (None, value.dtype) else ""


def _why(error: Exception) -> str:
    return str(getattr(error, "why", "") or describe_exception(error))


def _compared(outputs: Mapping[str, Any], expected: Mapping[str, Any], unit: float) -> dict[str, Any]:
    """Return the answer to what a file makes where its original makes something."""
    common = [name for name in outputs if name in expected]
    unsure = []
    for name in common:
        one, other = np.asarray(outputs[name]), np.asarray(expected[name])
        fault, doubt = difference(one, other, unit)
        if fault:
            return {"fault": f"{name!r} is not what the original makes of the same inputs: {fault}"}
        unsure += [f"{name!r}: {doubt}"] if doubt else []
    return {"compared": len(common) - len(unsure), "note": "; ".join(unsure)}


def difference(one: Any, other: Any, unit: float) -> tuple[str, str]:
    """Return in words how an output differs from the original's, and what rounding may explain; empty if nothing does.

    Args:
        one: The array.
        other: The original's.
        unit: By which share of the largest value rounding may change it.
    """
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"{one.dtype}{list(one.shape)} instead of {other.dtype}{list(other.shape)}", ""
    if one.dtype.kind in "OSU" or one.size == 0:
        return ("" if one.tolist() == other.tolist() else "another text"), ""
    if one.dtype.kind in "biu":
        count = int((one != other).sum())
        words = f"{count} of {one.size} elements differ" if count else ""
        return (words, "") if count * 16 > one.size else ("", words)
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    left, right = one.astype(wide), other.astype(wide)
    finite = np.isfinite(right)
    if not np.array_equal(np.isfinite(left), finite) or not _equal(left[~finite], right[~finite]):
        return "other elements are NaN or infinite", ""
    error = float(np.abs(left[finite] - right[finite]).max(initial=0.0))
    scale = float(np.abs(right[finite]).max(initial=0.0))
    return (f"off by {error:.3g}, and the largest value is {scale:.3g}" if error > unit * scale else ""), ""


def _equal(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other, equal_nan=True))
