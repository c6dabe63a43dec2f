"""Outputs of models as they are shipped, where looking inside a model may have changed its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polycmp.compare.impostors import same_but_rounding
from polycmp.messages import only_errors
from polycmp.runs.backend_run import BackendRun, copy_outputs
from polycmp.runs.loop import Step
from polycmp.runs.pairing import InputPairing
from polycmp.runs.resolution import Resolved
from polycmp.tensors import Feed, Outputs, dtype_class, to_numpy

_REAL = frozenset({"float", "complex"})


class PlainOutputs:
    """Runs of models with their own outputs only, beside those that also show tensors inside.

    Where tensors between operators are outputs, a backend does not run these operators as one, and rounds otherwise.

    Args:
        resolved: The backends.
        reference: Label of the reference.
        final: Names of the models' own outputs.
        names: Names of outputs in the reference's model, by those in the candidate's where they differ.
    """

    def __init__(self, resolved: Resolved, reference: str, final: frozenset[str], names: Mapping[str, str]) -> None:
        self._resolved, self._reference, self._final, self._names = resolved, reference, final, names
        self._runs: dict[str, BackendRun] | None = None

    def take_place(self, step: Step, reference: str) -> Step:
        """Return a step in which own outputs that differ are those of the models as they are.

        Args:
            step: A step, or a window of one.
            reference: Label of the run to believe.
        """
        expected = step.outputs.get(reference, {})
        others = [outputs for label, outputs in step.outputs.items() if label != reference]
        if not any(self._differ(outputs, expected) for outputs in others):
            return step
        plain = self._infer(step.feed)
        return replace(
            step,
            outputs={
                label: {**outputs, **self._among(outputs, plain[label], is_reference=label == reference)}
                if label in plain
                else outputs
                for label, outputs in step.outputs.items()
            },
        )

    def close(self) -> None:
        """Deactivate the runs."""
        for run in (self._runs or {}).values():
            with only_errors():
                run.deactivate()
        self._runs = None

    def _differ(self, outputs: Outputs, expected: Outputs) -> bool:
        """Return whether an own output of a candidate is off by more than a few roundings."""
        for name in self._final.intersection(outputs):
            other = expected.get(name, expected.get(self._names.get(name, name)))
            if other is not None and not _agree(to_numpy(outputs[name]), to_numpy(other)):
                return True
        return False

    def _among(self, outputs: Outputs, plain: Outputs, *, is_reference: bool) -> Outputs:
        """Return the outputs of a plain run by the names that a step has for them."""
        plain_names = {name: self._names.get(name, name) if is_reference else name for name in outputs}
        return {name: plain[other] for name, other in plain_names.items() if other in plain}

    def _infer(self, feed: Feed) -> dict[str, Outputs]:
        """Return the own outputs of all models by the run's label; without those that fail, which is no failure."""
        if self._runs is None:
            self._runs = self._activated()
        plain: dict[str, Outputs] = {}
        for label, run in self._runs.items():
            with only_errors():
                outputs = run.infer(feed)
            if outputs is not None:
                plain[label] = copy_outputs(outputs)
        return plain

    def _activated(self) -> dict[str, BackendRun]:
        runs = {}
        for backend in self._resolved.backends:
            graph = backend.model.graph() if backend.inside == "graph" else None
            final_outputs = [name for name in graph.outputs if name in self._final] if graph is not None else []
            if graph is None or not final_outputs:
                continue
            run = backend.make_run(graph.mark(final_outputs))
            with only_errors():
                run.activate()
            runs[backend.label] = run
        InputPairing.of(self._resolved, self._reference).join(list(runs.values()))
        return runs


def _agree(one: Any, two: Any) -> bool:
    """Return whether two arrays agree to a few roundings to the coarser of their types."""
    if {dtype_class(one.dtype), dtype_class(two.dtype)} <= _REAL:
        one, two = sorted((one, two), key=lambda array: int(array.dtype.itemsize))
        two = two.astype(one.dtype)
    return same_but_rounding(one, two)
