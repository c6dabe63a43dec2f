"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polycmp.spec import RunnerSpec, RunnerTools, hookimpl, opt


@dataclass(frozen=True)
class Options:
    """Options of the backend `tract`."""

    fp16: bool = opt(False, help="Calculate in float16 what the model has in float32.")


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `tract`."""
    yield RunnerSpec(
        name="tract",
        summary="tract, an engine in Rust",
        factory="polycmp_tract.runner:make_runner",
        options=Options,
        accepts=("onnx",),
        needs=("tract",),
        tools="polycmp_tract.plugin:TractTools",
    )


class TractTools(RunnerTools):
    """An engine that calculates on one core in the model's types unless it is told otherwise."""

    narrows = (("fp16", "float16"),)
    concurrent = True
