"""Operators that are right one by one, and wrong where a backend computes them together.

Asked of outputs that probing makes right and that nothing cheaper explains. It takes the probes, and one run of the
model for each optimisation that the backend can leave out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import PartitionedRun, a_few
from polycmp_locate.causes.case import Case
from polycmp_locate.pairing.view import SharedGraph
from polycmp_locate.trials.fusion import around
from polycmp_locate.trials.rewriting import rewrites
from polycmp_locate.trials.switches import TRIALS, Cured, find_cure
from polycmp_locate.values.judged import FUSION, Fused, Judged, Probe
from polycmp_locate.values.measured import Row

#: What helps where no setting does: the trial that named the operators.
_MARK = "; workaround: --save-marked FILE writes the model with that"
#: Operators that a backend rewrites in one go, from which on naming them tells nothing.
_MAX_REPLACED = 24


@dataclass(frozen=True)
class Together:
    """Operators that are right one by one, and wrong where a backend computes them together.

    Attributes:
        label: The backend.
        moved: Distance of its outputs from those of another run, relative; 0 where its runs agree.
    """

    label: str
    moved: float = 0.0

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return the verdict as a sentence: the operators, what proves it, and how to prevent it."""
        label = self.label
        probe, fused = judged.seen_probe, judged.fused or Fused(())
        if probe is None:
            return ""
        when = "with probes" if probe.cures else f"once {label} computes the model in parts"
        moves = f"the outputs' error of {probe.error:.2g} relative becomes {probe.probed_error:.2g} {when}"
        if self.moved:
            moves += f" (two runs of {label} differ by {self.moved:.2g}: memory that nothing wrote, or a race)"
        hangs_on = fused.hangs_on
        way_round = fused.way_round or (_MARK if probe.cures else "")
        if not probe.cures:
            labels = fused.labels if fused.nodes else "the operators"
            return f"{FUSION}: {moves}; {labels} are right one by one, but wrong together{hangs_on}{way_round}"
        outputs = "is an output" if len(probe.cures) == 1 else "are outputs"
        right = f"{label} is right once {a_few(probe.cures)} {outputs}"
        if fused.replaced_by:
            kinds = " and ".join(fused.replaced_by)
            wrong = f"{label} computes {fused.labels} as one {kinds}{hangs_on}, which is wrong"
            return f"{FUSION}: {wrong}: {moves}, and {right}{way_round}"
        apart = " and ".join(node.label for node in fused.nodes)
        more = "" if len(probe.cures) == 1 else f" and {len(probe.cures) - 1} more"
        return (
            f"{FUSION}: {right}; that keeps {apart}{more} apart, so computing them together (a fused operator, or "
            f"shared memory) is wrong{hangs_on}: {moves}{way_round}"
        )


def ask(case: Case) -> Judged | None:
    """Return the verdict on operators that a backend computes together; None if probing does not make it right."""
    side, whole = case.fusing_side, case.whole
    if side is None:
        return None
    probes = case.probes
    each = side.forecast.text(len(side.graph.nodes))
    each = f"{each} each" if each else ""
    whole.on_stage(f"looking for what the backend can leave out, in up to {TRIALS} runs of the model{each}")
    fused = find_fused(side, probes, whole.is_right_on(side))
    return _blame(case.nobody(cause=Together(side.label, case.moved)), case.probe, side.graph, probes, fused)


def _blame(nobody: Judged, probe: Probe, graph: ModelGraph, probes: tuple[str, ...], fused: Fused | None) -> Judged:
    """Return the verdict on operators that a backend fuses.

    Args:
        nobody: The verdict that blames no operator, with its cause.
        probe: Effect of the probes on the result.
        graph: The backend's model.
        probes: Tensors whose probing prevents the fault; empty if only cutting the model does.
        fused: Fusions that the backend reports; None if it reports none.
    """
    judged = replace(nobody, verdict=FUSION, probe=replace(probe, cures=probes))
    if not probes:
        text = f"{probe.sentence}; no probes in the whole model prevent it, only cutting the model does"
        return replace(judged, probe=replace(probe, sentence=text), fused=fused)
    if fused is not None and fused.replaced_by:
        computed = {name for node in fused.nodes for name in node.outputs}
        inside = {name for node in fused.nodes for name in node.inputs} & computed
        first = next((row for row in judged.rows if row.tensor in computed - inside), None)
        return replace(judged, fused=fused, first_bad=first, last_good=_read_by(judged.rows, fused.nodes))
    maker, readers = around(graph, probes[0])
    nodes = tuple(node for node in [maker, *readers] if node is not None)
    return replace(
        judged,
        fused=Fused(nodes, cure=fused.cure if fused is not None else None),
        first_bad=next((row for row in judged.rows if readers and row.tensor in readers[0].outputs), None),
        last_good=next((row for row in judged.rows if row.tensor == probes[0]), None),
    )


def _read_by(rows: Sequence[Row], nodes: Sequence[GraphNode]) -> Row | None:
    """Return the last tensor that operators read and none of them makes; None if they read inputs only."""
    computed = {name for node in nodes for name in node.outputs}
    read = {name for node in nodes for name in node.inputs} - computed
    return next((row for row in reversed(rows) if row.tensor in read), None)


def find_fused(partitioned_run: PartitionedRun, probes: Sequence[str], cured: Cured) -> Fused | None:
    """Find the operators that a backend computes as others, and the setting that prevents it; None if nothing tells.

    Args:
        partitioned_run: The backend.
        probes: Tensors whose probing prevents the fault; none if only cutting the model does, or nothing like that.
        cured: Says whether a backend that was told otherwise is right.
    """
    variants = partitioned_run.variants
    if variants is None:
        return None
    cure = find_cure(partitioned_run, cured)
    rewritten = variants.rewritten()  # one run more, where probing took many
    if rewritten is None:
        return Fused((), cure=cure) if cure is not None else None
    rewritings = rewrites(variants.graph, rewritten)
    if cure is not None:
        still_rewritten = {
            item.outputs for item in rewrites(variants.graph, variants.rewritten(cure.switch, cure.value) or ())
        }
        rewritings = [item for item in rewritings if item.outputs not in still_rewritten] or rewritings
    names = _model_names(partitioned_run, probes)
    chosen = next((item for item in rewritings if any(map(item.holds, names))), None)
    if chosen is None:
        touching = [item for item in rewritings if not {*item.inputs, *item.outputs}.isdisjoint(names)]
        chosen = next(iter(touching if names else rewritings if cure is not None else ()), None)
    if chosen is None or len(chosen.replaced) > _MAX_REPLACED:
        return Fused((), cure=cure) if cure is not None else None
    return Fused(chosen.replaced, chosen.by, cure)


def _model_names(partitioned_run: PartitionedRun, names: Sequence[str]) -> list[str]:
    """Return tensors by the names that they have in the backend's own model."""
    graph = partitioned_run.graph
    return [graph.model_names[name] for name in names] if isinstance(graph, SharedGraph) else list(names)
