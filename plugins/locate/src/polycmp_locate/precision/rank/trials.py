"""Trials of mixed models, judged as `polycmp run` judges outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polycmp.results import BackendResult
from polycmp.runs import BackendRun, Resolved, ResolvedBackend, copy_outputs
from polycmp.session import judge_outputs
from polycmp.tensors import Feed, Outputs, to_numpy
from polycmp_locate.precision.rank.figures import ratio_db
from polycmp_locate.precision.rank.result import MixedTrial
from polycmp_locate.precision.rank.search import OutOfRuns
from polycmp_locate.whole_outputs import why_failed

if TYPE_CHECKING:
    from polycmp_locate.precision.mixed import Layer, Mixer


class Trials:
    """Judges the reduced model with some layers in float; each choice of layers is run once.

    Args:
        mixer: Makes the models.
        layers: The layers that may stay in float.
        backend: Backend that runs the models.
        cases: All inputs, each with the reference's outputs.
        resolved: The run, for how its plan judges.
        reference: The label of the backend to believe.
        on_stage: Told what happens next.

    Attributes:
        done: The trials in their order.
        limit: Largest number of models to run; None for any number.
    """

    def __init__(
        self,
        mixer: Mixer,
        layers: Sequence[Layer],
        backend: ResolvedBackend,
        cases: Sequence[tuple[Feed, Outputs]],
        resolved: Resolved,
        reference: str,
        on_stage: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.done: dict[frozenset[int], MixedTrial] = {}
        self.limit: int | None = None
        self.result = BackendResult(label=backend.label, backend=backend.plan.backend)
        self._mixer, self._layers, self._backend, self._cases = mixer, layers, backend, cases
        self._resolved = resolved
        self._reference, self._on_stage = reference, on_stage

    def passes(self, float_layers: frozenset[int]) -> bool:
        """Return whether the model is within the tolerance with some layers in float.

        Raises:
            OutOfRuns: It was not tried yet, and no further run is allowed.
        """
        return self.trial(float_layers).passed

    def trial(self, float_layers: frozenset[int]) -> MixedTrial:
        """Run and judge the model with some layers in float.

        Raises:
            OutOfRuns: It was not tried yet, and no further run is allowed.
        """
        result = self.done.get(float_layers)
        if result is None:
            if self.limit is not None and len(self.done) >= self.limit:
                raise OutOfRuns
            self._on_stage(f"run {len(self.done) + 1}: {len(float_layers)} of {len(self._layers)} layers in float")
            result = self.done[float_layers] = self._run(float_layers)
        return result

    def _run(self, float_layers: frozenset[int]) -> MixedTrial:
        from polycmp_locate.precision.mixed import LoadedModel

        loader = LoadedModel(self._mixer.mix(self._layers[index] for index in float_layers))
        scratch = BackendResult(label=self._backend.label, backend=self._backend.plan.backend)
        live = BackendRun(scratch, lambda: self._backend.make_runner(loader), self._backend.needs)
        all_outputs: list[Outputs] = []
        live.activate()
        self.result.version = self.result.version or scratch.version
        for feed, _ in self._cases:
            outputs = live.infer(feed) if live.is_active else None
            if outputs is None:
                live.deactivate()
                return MixedTrial(float_layers, False, float("-inf"), error=scratch.error, verdict="error")
            all_outputs.append(copy_outputs(outputs))
        live.deactivate()
        pairs = [(feed, outputs, expected) for (feed, expected), outputs in zip(self._cases, all_outputs, strict=True)]
        ratio = min(
            (ratio for _, outputs, expected in pairs for ratio in _ratios(outputs, expected)), default=float("inf")
        )
        outcome = judge_outputs(self._resolved, self._backend.label, self._reference, pairs)
        return MixedTrial(
            float_layers, outcome.verdict == "passed", ratio, why_failed(outcome), verdict=outcome.verdict
        )


def _ratios(outputs: Outputs, expected: Outputs) -> list[float]:
    """Return the signal-to-noise ratio of every output that both have."""
    ratios = []
    for name in outputs:
        one, two = to_numpy(outputs[name]), to_numpy(expected[name]) if name in expected else None
        if two is not None and one.shape == two.shape and two.dtype.kind in "fV":
            ratios.append(ratio_db(two, one))
    return ratios
