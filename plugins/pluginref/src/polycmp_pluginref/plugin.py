"""Light module that the core reads for this backend's name, options and needs; no heavy import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polycmp.spec import RunnerSpec, RunnerTools, hookimpl, opt


@dataclass(frozen=True)
class Options:
    """Options of this backend; each field becomes the flag `--pluginref-FIELD`.

    Attributes:
        dtype: The type to calculate in.
        ops: Files with more references.
    """

    dtype: str = opt(
        "", help="Compute in this type instead of the model's own.", choices=("", "float64", "float16", "bfloat16")
    )
    ops: tuple[str, ...] = opt((), help="Python files that register more references.", metavar="FILE.py")


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Contribute the backend `pluginref`."""
    yield RunnerSpec(
        name="pluginref",
        summary="NumPy references for TensorRT plugin operators, the rest by the ONNX reference evaluator",
        factory="polycmp_pluginref.runner:make_runner",
        options=Options,
        accepts=("onnx",),
        needs=("onnx",),
        tools="polycmp_pluginref.plugin:PluginrefTools",
    )


class PluginrefTools(RunnerTools):
    """References that calculate in the type that is asked for."""

    narrows = (("dtype", ""),)
