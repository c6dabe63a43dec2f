"""What causes are asked of: the measured tensors, the whole model, and what looking inside did to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from polycmp.layerwise import PartitionedRun, final_outputs
from polycmp_locate.causes.operator import Evidence, blame
from polycmp_locate.pairing.view import file_graph
from polycmp_locate.rounding.difference import distance
from polycmp_locate.trials.fusion import find_probes
from polycmp_locate.trials.probe import check_probe
from polycmp_locate.trials.probing import SHARE, is_fusion, is_moved
from polycmp_locate.trials.whole import WholeModel
from polycmp_locate.values.judged import Judged, Judgement, Probe
from polycmp_locate.values.measured import Measured


class Case:
    """One verdict in the making; what takes a run is asked for once, when a cause first needs it.

    Args:
        measured: The tensors.
        whole: The whole model, and trials with it.
        before: An earlier verdict, which says what looking inside did; None for the first one.

    Attributes:
        probe: Effect of the probes on the result.
        moved: Distance of the outputs of the fusing side's own runs, relative; 0 where they agree.
    """

    def __init__(self, measured: Measured, whole: WholeModel, before: Judged | None = None) -> None:
        self.measured, self.rows, self.whole, self.setting = measured, measured.rows, whole, whole.setting
        self.probe = self._check_probe() if before is None or before.probe is None else before.probe
        self._is_probed = bool(measured.finals) if before is None else before.is_probed
        self.moved = 0.0

    # --- verdicts

    @cached_property
    def of_operators(self) -> Judgement:
        """The verdict on single operators."""
        whole = self.whole
        final, network = frozenset(final_outputs(self.setting.reference.graph)), self.setting.network
        equalised = network.equalised if network is not None else ()
        pairing, fed = self.setting.pairing, self.setting.reference.graph.inputs
        recorded = self.rows if pairing is not None and pairing.recorded and self.setting.is_measured else ()
        judged_whole = {
            row.tensor for row in recorded if row.tensor in final and all(name in fed for name in row.node.inputs)
        }
        evidence = Evidence(
            self.rows, whole.flow, whole.failing, whole.beyond.keys(), final, whole.leads, whole.cures, equalised,
            judged_whole,
        )  # fmt: skip
        return blame(evidence)

    def nobody(self, **changes: Any) -> Judged:
        """Return a verdict that blames no operator."""
        none = {"first_bad": None, "origin": None, "last_good": None, "turning": None}
        return self.judged(self.of_operators, **{**none, **changes})

    def judged(self, judgement: Judgement, **changes: Any) -> Judged:
        """Return a verdict with all that it rests on."""
        judged = judged_by_rows(judgement, self.measured, self.whole)
        return replace(judged, **{"probe": self.probe, "is_probed": self._is_probed, **changes})

    # --- whether what was seen is evidence

    def _check_probe(self) -> Probe:
        whole, finals = self.whole, self.measured.finals
        probe = check_probe(
            whole.plain, finals, whole.expected, lambda output: self.setting.agree(output, whole.expected)
        )
        judged = whole.failing or {name: whole.error(name, output) for name, output in whole.plain.items()}
        return replace(
            probe,
            error=max(judged.values(), default=0.0),
            probed_error=max((gap for name, gap in self._probed.items() if name in judged), default=0.0),
        )

    @cached_property
    def _probed(self) -> Mapping[str, float]:
        """The errors of the outputs where both sides are probed."""
        expected = self.measured.expected
        return {
            name: distance(actual, expected[name]) for name, actual in self.measured.finals.items() if name in expected
        }

    # --- operators that are right alone and wrong together

    @cached_property
    def fusing_side(self) -> PartitionedRun | None:
        """The backend whose outputs probing makes right; None if there is none."""
        failing = self.whole.failing
        if self.probe.plain_passed or not self.measured.finals or _has_one_operator(self.moved_side):
            return None
        if all(self._probed.get(name, error) >= error for name, error in failing.items()):
            return None  # what rounding explains may take a run of the model
        if not self.whole.beyond:
            return None
        error = max(self.whole.beyond.values())
        probed_error = max(self._probed.get(name, math.inf) for name in self.whole.beyond)
        self.probe = replace(self.probe, error=error, probed_error=probed_error)
        return self.moved_side if is_fusion(error, probed_error) else None

    @property
    def moved_side(self) -> PartitionedRun:
        """The backend that probes moved further: of one side or both they moved by three quarters of the error."""
        moved = is_moved(self.probe.relative, self.probe.error)
        return self.setting.candidate if moved else self.setting.reference

    @property
    def is_gone(self) -> bool:
        """Whether probing leaves next to nothing of the outputs' error."""
        gone = [self._probed.get(name, math.inf) <= SHARE * error for name, error in self.whole.failing.items()]
        return bool(gone) and all(gone) and math.isfinite(self.probe.error)

    @cached_property
    def probes(self) -> tuple[str, ...]:
        """Tensors that as further outputs make the fusing side right; none if only cutting the model does.

        Where its runs differ, most of the error is gone by chance in some of them: there it is right in two runs, as
        far as rounding explains.
        """
        side = self.fusing_side
        if side is None:
            return ()
        self.whole.on_stage("looking for the operators that are wrong together")
        whole = self.whole
        helps = whole.is_right(side) if self.moved else whole.removes(side, whole.beyond, self.probe.error)
        runs = 2 if self.moved else 1
        return find_probes(side, whole.feed, self.measured.groups, final_outputs(side.graph), helps, runs)


def _has_one_operator(side: PartitionedRun) -> bool:
    """Return whether a backend's model has a single operator, so that nothing is computed together."""
    return len(file_graph(side.graph).nodes) < 2


def judged_by_rows(judgement: Judgement, measured: Measured, whole: WholeModel) -> Judged:
    """Return the verdict that the rows alone give.

    Args:
        judgement: The part of it that follows from them.
        measured: The tensors.
        whole: The whole model.
    """
    return Judged(
        **vars(judgement),
        rows=measured.rows,
        finals=whole.finals,
        unseen=measured.unseen,
        borrowed=measured.borrowed,
        is_whole=measured.is_whole,
    )
