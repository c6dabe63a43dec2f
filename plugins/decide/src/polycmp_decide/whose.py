"""Shares of a new file and of a device in an error, from a run of three backends.

The reference is the old model, one candidate is the new model on the reference's own backend, the other is the new
model on the device. What the new file makes of it there is the first one's error; what the device adds is what the two
candidates are apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.report import Facts
    from polycmp.results import Outcome
    from polycmp.runs import Resolved, ResolvedBackend, RunStep

#: From this correlation on two errors are said to add up, or to cancel.
_MIN_CORRELATION = 0.5


@dataclass(frozen=True)
class Columns:
    """Three backends of which the last two have one setting, and the first two one file.

    Attributes:
        device: Label of the new model's run on the device.
        host: Label of its run on the reference's own backend.
        reference: The old model's backend.
    """

    device: str
    host: str
    reference: ResolvedBackend

    @classmethod
    def of(cls, backends: Sequence[ResolvedBackend], reference: str) -> Columns | None:
        """Return the roles of three backends with two models; None if they have other roles.

        Args:
            backends: The backends.
            reference: Label of the reference.
        """
        if len(backends) != 3 or len({item.model.path for item in backends}) != 2:
            return None
        old = next((item for item in backends if item.label == reference), None)
        others = [item for item in backends if item is not old]
        if old is None or any(item.model.path == old.model.path for item in others):
            return None
        on_it = [item for item in others if _settings(item) == _settings(old)]
        on_it = on_it or [item for item in others if item.plan.backend == old.plan.backend]
        if len(on_it) != 1:
            return None
        (device,) = (item for item in others if item is not on_it[0])
        return cls(device.label, on_it[0].label, old)


def split(resolved: Resolved) -> ErrorShares | None:
    """Create the observer of a run of three backends with two models; None for other runs."""
    backends = resolved.backends
    is_such = len(backends) == 3 and len({item.model.path for item in backends}) == 2
    return ErrorShares(backends, resolved.plan.compare.map_output) if is_such else None


class ErrorShares(RunObserver):
    """Adds the shares of a new file and of a device in the error of each of the models' own outputs.

    Args:
        backends: The backends; two of them run the new model.
        names: Names of the reference's outputs, by those of the new model where they differ.
    """

    def __init__(self, backends: Sequence[ResolvedBackend], names: Mapping[str, str]) -> None:
        self._backends, self._names = backends, names
        self._shares: OutputShares | None = None

    def start(self, outcome: Outcome, /) -> None:
        """Find the candidate that runs the new model on the reference's backend, if there is one."""
        columns = Columns.of(self._backends, outcome.reference)
        self._shares = None if columns is None else OutputShares(columns, self._names)

    def on_step(self, step: RunStep, /) -> None:
        """Add the errors of a step."""
        if self._shares is not None:
            self._shares.add(step.outputs)

    def finish(self, outcome: Outcome, /) -> None:
        """Add the shares to the outcome."""
        facts = None if self._shares is None else self._shares.facts()
        if facts is not None and self._shares is not None:
            outcome.blocks.append(facts)
            outcome.extra["error_shares"] = self._shares.document()


class OutputShares:
    """Adds up the squares of both errors of each of the models' own outputs.

    Args:
        columns: The backends.
        names: Names of the reference's outputs, by those of the new model where they differ.
    """

    def __init__(self, columns: Columns, names: Mapping[str, str]) -> None:
        self._columns, self._names = columns, names
        file = columns.reference.model.describe_file()
        self._finals = frozenset[str]() if file is None else frozenset(file.outputs)
        self._sums: dict[str, _Sums] = {}

    def add(self, outputs: Mapping[str, Mapping[str, Any]]) -> None:
        """Add the errors of a step.

        Args:
            outputs: Outputs by label of the run.
        """
        import numpy as np

        from polycmp.tensors import is_floating, to_numpy

        labels = (self._columns.device, self._columns.host, self._columns.reference.label)
        device, host, reference = (dict[str, Any](outputs.get(label, {})) for label in labels)
        for name in device:
            other = self._names.get(name, name)
            if name not in host or other not in reference or (self._finals and other not in self._finals):
                continue
            arrays = [to_numpy(array) for array in (device[name], host[name], reference[other])]
            if len({array.shape for array in arrays}) > 1 or not all(is_floating(array.dtype) for array in arrays):
                continue
            ours, theirs, old = (array.astype(np.float64) for array in arrays)
            with np.errstate(all="ignore"):
                self._sums.setdefault(name, _Sums()).add(theirs - old, ours - theirs)

    @property
    def _finite_sums(self) -> dict[str, _Sums]:
        return {name: sums for name, sums in self._sums.items() if sums.total and math.isfinite(sums.total)}

    def facts(self) -> Facts | None:
        """Describe the shares; None if there is no error."""
        from polycmp.report import Fact, Facts

        columns = self._columns
        items = tuple(
            Fact(name, sums.sentence(columns.host, columns.device)) for name, sums in self._finite_sums.items()
        )
        lines = ("whose error:", *(f"  {fact.name}: {fact.value}" for fact in items))
        return Facts("Whose error", items, lines) if items else None

    def document(self) -> dict[str, Any]:
        """Return the shares as plain values."""
        outputs = {
            name: {
                "file": sums.file_share, "device": 1 - sums.file_share, "correlation": sums.correlation,
                "rms": {"file": sums.rms(sums.of_file), "device": sums.rms(sums.of_device)},
            }
            for name, sums in self._finite_sums.items()
        }  # fmt: skip
        return {"file": self._columns.host, "device": self._columns.device, "outputs": outputs}


class _Sums:
    """Sums over all elements of an output, of squares of the file's error and the device's, and of their product."""

    def __init__(self) -> None:
        self.of_file, self.of_device, self.product, self.count = 0.0, 0.0, 0.0, 0

    def add(self, file: Any, device: Any) -> None:
        self.of_file += float((file * file).sum())
        self.of_device += float((device * device).sum())
        self.product += float((file * device).sum())
        self.count += file.size

    @property
    def total(self) -> float:
        """The squares of both errors."""
        return self.of_file + self.of_device

    @property
    def file_share(self) -> float:
        """The share of the file's error in the squares of both."""
        return self.of_file / self.total

    @property
    def correlation(self) -> float:
        """Correlation of both errors, between -1 and 1."""
        scale = math.sqrt(self.of_file * self.of_device)
        return self.product / scale if scale else 0.0

    def rms(self, squares: float) -> float:
        """Return the root of the mean of squares."""
        return math.sqrt(squares / self.count)

    def sentence(self, host: str, device: str) -> str:
        """Describe the shares."""
        file_rms, device_rms = self.rms(self.of_file), self.rms(self.of_device)
        words = (
            f"the new file makes {100 * self.file_share:.0f} % of the error ({file_rms:.2g} on average, on {host}), "
            f"{device} {100 * (1 - self.file_share):.0f} % ({device_rms:.2g})"
        )
        if abs(self.correlation) >= _MIN_CORRELATION:
            words += "; they add up" if self.correlation > 0 else "; they cancel in part"
        return words


def _settings(backend: ResolvedBackend) -> tuple[str, str]:
    return backend.plan.backend, repr(backend.plan.options)
