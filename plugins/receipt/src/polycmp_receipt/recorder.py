"""Observer that writes a receipt while `run` compares."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polycmp.plan import to_values, without_written_files
from polycmp.spec import RunObserver
from polycmp.tensors import to_numpy
from polycmp_receipt.statement import Receipt, digests_of

if TYPE_CHECKING:
    from polycmp.results import Outcome
    from polycmp.runs import Resolved, RunStep
    from polycmp_receipt.plugin import ReceiptOptions


def record(resolved: Resolved, options: ReceiptOptions) -> ReceiptRecorder:
    """Create the observer that writes a receipt."""
    return ReceiptRecorder(resolved, options.file)


class ReceiptRecorder(RunObserver):
    """Adds up digests of what goes in and what comes out.

    Args:
        resolved: The run.
        path: Where to write the receipt; empty to keep it.

    Attributes:
        receipt: The receipt, once the run is over; None before.
    """

    def __init__(self, resolved: Resolved, path: str = "") -> None:
        self._resolved, self._path = resolved, path
        self._inputs = hashlib.sha256()
        self._iteration = -1
        self._outputs: dict[str, dict[str, _Digest]] = {}
        self._files: dict[str, str] = {}
        self.receipt: Receipt | None = None

    def start(self, outcome: Outcome, /) -> None:
        """Read the models before they run: what is written later is not what was run."""
        del outcome
        for model in self._resolved.models.values():
            self._files |= digests_of(model)

    def on_step(self, step: RunStep, /) -> None:
        """Add the outputs of a step, which comes once per window, always with the same inputs."""
        if step.index != self._iteration:
            self._iteration = step.index
            _add(self._inputs, step.feed)
        for label, outputs in step.made.items():
            known = self._outputs.setdefault(label, {})
            for name, array in outputs.items():
                _add(known.setdefault(name, hashlib.sha256()), {name: array})

    def finish(self, outcome: Outcome, /) -> None:
        """Write the receipt.

        Raises:
            FileError: It cannot be written.
        """
        plan = without_written_files(self._resolved.plan)
        self.receipt = Receipt(
            files=self._files,
            run=to_values(plan, self._resolved.registry),
            command=outcome.command,
            inputs=self._inputs.hexdigest(),
            outputs={
                label: {name: digest.hexdigest() for name, digest in known.items()}
                for label, known in self._outputs.items()
            },
            verdicts={
                pair.candidate: {name: item.verdict for name, item in pair.outputs.items()}
                for pair in outcome.comparisons
            },
            verdict=outcome.verdict,
            versions={backend.label: backend.version for backend in outcome.backends},
            environment={key: str(value) for key, value in outcome.environment.items()},
        )
        if self._path:
            self.receipt.save(self._path)


class _Digest(Protocol):
    def update(self, data: Any, /) -> None: ...

    def hexdigest(self) -> str: ...


def _add(digest: _Digest, arrays: Mapping[str, Any]) -> None:
    """Add arrays to a digest, with their names, types and shapes."""
    for name in sorted(arrays):
        array = to_numpy(arrays[name]) if hasattr(arrays[name], "dtype") else np.asarray(arrays[name], object)
        digest.update(f"{name} {array.dtype} {array.shape}\0".encode())
        if array.dtype.hasobject:
            digest.update(repr(array.tolist()).encode())
        else:
            digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
