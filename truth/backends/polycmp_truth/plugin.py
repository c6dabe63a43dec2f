"""What these backends are called. Light: only `polycmp.spec` is imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import RunnerSpec, hookimpl, opt


@dataclass(frozen=True)
class TogetherOptions:
    """Options of the backend `together`."""

    at: str = opt("", help="The tensor that is wrong.", metavar="TENSOR")
    inside: str = opt("", help="The tensor that a fused kernel would not keep.", metavar="TENSOR")
    fault: str = opt("row-noise", help="What goes wrong: a fault of the backend faulty.")


@dataclass(frozen=True)
class RaceOptions:
    """Options of the backend `race`."""

    at: str = opt("", help="The tensor that is another one in each run.", metavar="TENSOR")
    inside: str = opt(
        "", help="The tensor that a fused kernel would not keep; none for a race by itself.", metavar="TENSOR"
    )
    share: float = opt(0.01, help="By which share of its value at most.")


@hookimpl
def polycmp_runners() -> Iterable[RunnerSpec]:
    """Contribute the backends."""
    yield RunnerSpec(
        name="together",
        summary="ONNX Runtime, wrong only where two operators are run together",
        factory="polycmp_truth.runners:make_together",
        options=TogetherOptions,
        accepts=("onnx",),
        hidden=True,
    )
    yield RunnerSpec(
        name="race",
        summary="ONNX Runtime with one tensor that is another one in each run",
        factory="polycmp_truth.runners:make_race",
        options=RaceOptions,
        accepts=("onnx",),
        hidden=True,
    )
