"""Who is right where the reference and a runtime say contrary things, by the text of ONNX's standard."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truth.operators.case import Case

#: What a decision can be.
WRONG, OPEN, ROUNDING = "the runtime is wrong", "the standard leaves it open", "rounding decides"
_ORT, _OV, _TORCH, _OWN = "onnxruntime", "openvino", "torch", "onnx"


@dataclass(frozen=True)
class Decision:
    """Who is right in some cases.

    Attributes:
        kind: One of the three.
        runtimes: Whom it is about; `onnx` where the reference's own precision and float64 differ.
        operators: The operators.
        why: Where it is, and what the standard says, by its section.
        where: Whether a case is one of them, by the case and how the answers differ.
    """

    kind: str
    runtimes: Sequence[str]
    operators: Sequence[str]
    why: str
    where: Callable[[Case, str], bool] = lambda case, said: True


def decide(case: Case, runtime: str, said: str) -> Decision | None:
    """Return the decision on a disagreement; None if nobody has looked."""
    return next(
        (
            item
            for item in DECISIONS
            if runtime in item.runtimes and case.operator in item.operators and item.where(case, said)
        ),
        None,
    )


def _told(case: Case, **wanted: Any) -> bool:
    return all(case.attributes.get(name) == value for name, value in wanted.items())


def _array(case: Case, at: int = 0) -> Any:
    return case.feed.get(f"i{at}", np.zeros(0))


def _has_nan(case: Case, said: str = "") -> bool:
    return any(array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in case.feed.values())


def _not_finite(case: Case, said: str = "") -> bool:
    return any(array.dtype.kind == "f" and not bool(np.isfinite(array).all()) for array in case.feed.values())


def _shape(case: Case, said: str) -> bool:
    return "shape" in said


def _of_auto_pad(case: Case) -> bool:
    return str(case.attributes.get("auto_pad", "")).startswith("SAME")


def _dilated(case: Case) -> bool:
    return any(step > 1 for step in case.attributes.get("dilations") or ())


_POOLS = ("AveragePool", "LpPool", "MaxPool")
_RECURRENT = ("GRU", "LSTM", "RNN")
_FORESTS = ("TreeEnsembleClassifier",)

DECISIONS: tuple[Decision, ...] = ()
