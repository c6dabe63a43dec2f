"""Outcome of a run: backends, comparisons, a verdict. Reports show it; they decide nothing."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import polycmp
from polycmp._commands import NextStep, Repeat
from polycmp.compare.verdicts import PairComparison, verdict_over
from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK, PolycmpError
from polycmp.results.machine import processor_name
from polycmp.tensors import TensorMetadata


@dataclass(frozen=True)
class Timing:
    """Durations of one backend's calls, in seconds.

    The first call is kept apart, since it often pays for lazy set-up; the other figures are over the later calls, or
    over the only one where there was no other.

    Attributes:
        first: The first call.
        mean: Mean.
        median: Median.
        p90: 90th percentile (linear interpolation).
        p99: 99th percentile.
        count: Calls measured, the first included.
    """

    first: float
    mean: float
    median: float
    p90: float
    p99: float
    count: int

    @staticmethod
    def of(seconds: Sequence[float]) -> Timing | None:
        """Return the figures for a list of durations, None for an empty one."""
        if not seconds:
            return None
        later = sorted(seconds[1:] or seconds)
        return Timing(
            first=seconds[0],
            mean=math.fsum(later) / len(later),
            median=_quantile(later, 0.5),
            p90=_quantile(later, 0.9),
            p99=_quantile(later, 0.99),
            count=len(seconds),
        )


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


@dataclass
class BackendResult:
    """One run: a backend that ran here, or one read from a file.

    Attributes:
        label: Label of the run in reports.
        backend: The backend's name; `saved` for a run that was read.
        version: Version of the library underneath, as far as known.
        options: Options that differ from the defaults, as text.
        model: The model file it ran.
        iterations: Iterations completed.
        timing: Durations; None if it never ran.
        outputs: Names, types and shapes of its outputs in the last iteration.
        error: Error in one line; empty if it did not fail.
        hint: The next command to type after that failure; empty for none.
        died: Whether that failure is of its process, which crashed, hung, or was killed.
        notes: Remarks for the reader (fallbacks, an execution provider that was not used).
        precision: The coarsest type that its options let it calculate in; empty for the model's own.
        environment: Facts about the environment that made saved outputs, by what they are; of a run that was read.
    """

    label: str
    backend: str
    version: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    iterations: int = 0
    timing: Timing | None = None
    outputs: TensorMetadata = field(default_factory=TensorMetadata)
    error: str = ""
    hint: str = ""
    died: bool = False
    notes: list[str] = field(default_factory=list)
    precision: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Invalid:
    """An output that holds NaN or infinity, found by `--validate`.

    Attributes:
        label: The run.
        output: The output.
        iteration: The iteration, counted from 0.
        nan: Number of NaNs.
        inf: Number of infinities.
        first: Index of the first of them.
    """

    label: str
    output: str
    iteration: int
    nan: int
    inf: int
    first: tuple[int, ...]


@dataclass
class Outcome:
    """Everything a run found out.

    Attributes:
        reference: Label of the reference; empty if nothing was compared.
        backends: The runs in their order.
        comparisons: One per candidate.
        expected: Whether a comparison was asked for: at least two runs.
        invalid: Outputs with NaN or infinity that `--validate` found.
        inputs: Names, types and shapes of the inputs of the last iteration.
        command: The command line, for reports.
        notes: Remarks that concern the whole run.
        repeats: For each failure on a feed that can be made again alone, how to.
        next_steps: The commands that look further into a difference.
        output_names: For models that name outputs differently, the reference's names that seem to be the same outputs,
            by the candidate's label and its names.
        blocks: Blocks of `polycmp.report` that a recorder adds, shown before the comparisons.
        extra: Further content of the JSON document from recorders, by key.
        looks: Data for reports from observers, by the report's name; then by the candidate's label and the output's
            name.
        environment: Versions and machine, for reports.
        seconds: Wall-clock duration of the whole run.
        errors: Errors of observers while the run went on: the verdict holds, but their own work is incomplete.
    """

    reference: str = ""
    backends: list[BackendResult] = field(default_factory=list)
    comparisons: list[PairComparison] = field(default_factory=list)
    expected: bool = False
    invalid: list[Invalid] = field(default_factory=list)
    inputs: TensorMetadata = field(default_factory=TensorMetadata)
    command: str = ""
    notes: list[str] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)
    next_steps: list[NextStep] = field(default_factory=list)
    output_names: dict[str, Mapping[str, str]] = field(default_factory=dict)
    blocks: list[Any] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    looks: dict[str, Mapping[tuple[str, str], Any]] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    errors: list[PolycmpError] = field(default_factory=list)

    @property
    def failed_backends(self) -> list[BackendResult]:
        """The runs that ended with an error."""
        return [backend for backend in self.backends if backend.error]

    @property
    def exit_code(self) -> int:
        """The exit status: 0 equal, 1 different, 3 could not compare, or the comparison tells nothing."""
        return {"passed": EXIT_OK, "failed": EXIT_DIFFERENT}.get(self.verdict, EXIT_FAILED)

    def _compared_anything(self) -> bool:
        return any(
            any(output.candidate_type and output.reference_type for output in pair.outputs.values())
            for pair in self.comparisons
        )

    @property
    def verdict(self) -> str:
        """`passed`, `failed`, `blind`, `undecided` or `error`, as in the JSON report."""
        if self.failed_backends or (self.expected and not self._compared_anything()):
            return "error"
        return "failed" if self.invalid else verdict_over(self.comparisons)


def describe_environment() -> dict[str, str]:
    """Return versions of Python, polycmp and NumPy, the platform, and the processor; nothing that names a person."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "polycmp": polycmp.__version__,
        "numpy": np.__version__,
        "platform": _platform(),
        "cpu": processor_name(),
        "cpu_count": str(os.cpu_count() or 0),
    }


def _platform() -> str:
    """Name the platform as `platform.platform()` does, on Linux without starting a process to ask for the processor."""
    if platform.system() != "Linux":
        return platform.platform()
    library = "".join(platform.libc_ver())
    parts = [platform.system(), platform.release(), platform.machine(), *(["with", library] if library else [])]
    return "-".join(parts)
