"""Judging an output by how much rounding moves it, instead of by tolerances that the user chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.judge import OutputJudge
from polycmp.compare.simple import Simple
from polycmp.compare.verdicts import DetailedVerdict
from polycmp.records import dataclass
from polycmp.tensors import dtype_class

if TYPE_CHECKING:
    from polycmp.builtin_options import SimpleOptions

#: By how much two correct backends may be further apart than the sum of one sample of the rounding of each. Measured:
#: at most 3.4 times, in 60 comparisons of ten trained models (silero-vad, magika, PP-OCR; recurrent, convolutional and
#: attention networks) in ONNX Runtime against the reference evaluator and against itself without optimisation; twice
#: that is allowed. Rounding to float16 at a single operator of MiniLM is 74 times as far away or more.
MARGIN = 8.0


@dataclass(frozen=True)
class NoiseFloor:
    """How far rounding takes an output from the exact result, on both sides together.

    Attributes:
        largest: The largest error of any element.
        rms: The root of the mean square of the errors.
        source: How that is known, in words.
    """

    largest: float
    rms: float
    source: str


@dataclass(frozen=True)
class NoiseJudge(OutputJudge):
    """Judge an output by a noise floor; whole numbers are compared as `simple` does it.

    Args:
        options: What `simple` is told, but for its tolerances.
        floor: Gives the noise floor of an output.
        detail: Whether to compute what only a report shows, too.
    """

    options: SimpleOptions
    floor: Callable[[str, NDArray[Any]], NoiseFloor]
    detail: bool = False

    def judge(self, candidate: NDArray[Any], reference: NDArray[Any], output: str) -> DetailedVerdict:
        """Return the verdict on one output."""
        if candidate.shape != reference.shape or dtype_class(reference.dtype) not in {"float", "complex"}:
            return Simple(self.options, self.detail).judge(candidate, reference, output)
        floor = self.floor(output, reference)
        largest, rms = MARGIN * floor.largest, MARGIN * floor.rms
        options = replace(self.options, atol={"": largest}, rtol={"": 0.0})
        verdict = Simple(options, self.detail).judge(candidate, reference, output)
        made = _rms(candidate, reference)
        bound = f"rounding explains up to {largest:.2g}, {rms:.2g} on average ({floor.source})"
        if verdict.passed and made > rms:
            reason = f"the errors are {made:.3g} on average (root mean square)"
            verdict = replace(verdict, passed=False, reason=reason)
        text = f"{verdict.reason}; {bound}" if verdict.reason else bound
        return replace(verdict, reason=text, tolerance={"atol": largest, "rms": rms})


def _rms(candidate: NDArray[Any], reference: NDArray[Any]) -> float:
    """Return the root of the mean square of the differences, over pairs of finite numbers."""
    kind = np.complex128 if "complex" in {dtype_class(a.dtype) for a in (candidate, reference)} else np.float64
    errors = np.abs(candidate.astype(kind) - reference.astype(kind))
    return root_mean_square(errors[np.isfinite(errors)])


def root_mean_square(errors: NDArray[Any]) -> float:
    """Return the root of the mean square; 0 for nothing."""
    return float(np.sqrt(np.mean(np.square(errors)))) if errors.size else 0.0
