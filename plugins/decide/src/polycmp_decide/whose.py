"""Whose error is it: a run of three backends tells what the file's makers did from what the device does.

The reference is the old model, one candidate is the new model on the reference's own backend, the other is the new
model on the device. What the new file makes of it there is the first one's error; what the device adds is what the two
candidates are apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.results import Outcome
    from polycmp.runs import Resolved, ResolvedBackend, RunStep

#: From this correlation on two errors are said to add up, or to cancel.
_CORRELATED = 0.5


def split(resolved: Resolved) -> ErrorShares | None:
    """Make the observer of a run of three backends with two models; None of other runs."""
    backends = resolved.backends
    is_such = len(backends) == 3 and len({item.model.path for item in backends}) == 2
    return ErrorShares(backends, resolved.plan.compare.map_output) if is_such else None


class ErrorShares(RunObserver):
    """Adds up the squares of both errors of each of the models' own outputs.

    Args:
        backends: The backends; two of them run the new model.
        names: Names of the reference's outputs, by those of the new model where they differ.
    """

    def __init__(self, backends: Sequence[ResolvedBackend], names: Mapping[str, str]) -> None:
        self._backends, self._names = backends, names
        self._device = self._host = self._reference = ""
        self._finals: frozenset[str] = frozenset()
        self._sums: dict[str, _Sums] = {}

    def start(self, outcome: Outcome, /) -> None:
        """Find out which of the candidates runs the new model on the reference's backend; maybe none does."""
        reference = next((item for item in self._backends if item.label == outcome.reference), None)
        others = [item for item in self._backends if item is not reference]
        if reference is None or any(item.model.path == reference.model.path for item in others):
            return
        on_it = [item for item in others if _settings(item) == _settings(reference)]
        on_it = on_it or [item for item in others if item.plan.backend == reference.plan.backend]
        if len(on_it) == 1:
            (device,) = (item for item in others if item is not on_it[0])
            self._device, self._host, self._reference = device.label, on_it[0].label, reference.label
            file = reference.model.describe_file()
            self._finals = frozenset() if file is None else frozenset(file.outputs)

    def on_step(self, step: RunStep, /) -> None:
        """Take in the errors of a step."""
        import numpy as np

        from polycmp.tensors import is_floating, to_numpy

        labels = (self._device, self._host, self._reference)
        device, host, reference = (dict[str, Any](step.outputs.get(label, {})) for label in labels)
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

    def finish(self, outcome: Outcome, /) -> None:
        """Add the shares to the outcome."""
        from polycmp.report import Fact, Facts

        facts, document = [], {}
        for name, sums in self._sums.items():
            if not sums.total or not math.isfinite(sums.total):
                continue
            facts.append(Fact(name, sums.sentence(self._host, self._device)))
            document[name] = {
                "file": sums.file_share, "device": 1 - sums.file_share, "correlation": sums.correlation,
                "rms": {"file": sums.rms(sums.of_file), "device": sums.rms(sums.of_device)},
            }  # fmt: skip
        if facts:
            lines = ("whose error:", *(f"  {fact.name}: {fact.value}" for fact in facts))
            outcome.blocks.append(Facts("Whose error", tuple(facts), lines))
            outcome.extra["error_shares"] = {"file": self._host, "device": self._device, "outputs": document}


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
        """How far both errors go the same way, between -1 and 1."""
        scale = math.sqrt(self.of_file * self.of_device)
        return self.product / scale if scale else 0.0

    def rms(self, squares: float) -> float:
        """Return the root of the mean of squares."""
        return math.sqrt(squares / self.count)

    def sentence(self, host: str, device: str) -> str:
        """Return the shares in words."""
        file, mine = self.rms(self.of_file), self.rms(self.of_device)
        words = (
            f"the new file makes {100 * self.file_share:.0f} % of the error ({file:.2g} on average, on {host}), "
            f"{device} {100 * (1 - self.file_share):.0f} % ({mine:.2g})"
        )
        if abs(self.correlation) >= _CORRELATED:
            words += "; they add up" if self.correlation > 0 else "; they cancel in part"
        return words


def _settings(backend: ResolvedBackend) -> tuple[str, str]:
    return backend.plan.backend, repr(backend.plan.options)
