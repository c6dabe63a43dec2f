"""The JSON document of `locate`: one row per tensor in the order of the model, and the verdict."""

from __future__ import annotations

from typing import Any

from polycmp_locate.pairing.modules import path_of
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.result import Pairing
from polycmp_locate.rounding.figures import Figures
from polycmp_locate.values.located import Located
from polycmp_locate.values.measured import Row


def document_of(located: Located) -> dict[str, Any]:
    """Return the fields of the document that only `locate` has."""
    judged = located.judged
    return {
        "words": judged.verdict,
        "explanation": located.explain,
        "candidate": located.candidate,
        "reference": located.reference,
        "odd_one_out": located.odd_one_out or None,
        "mode": "full" if judged.is_whole else "bisect",
        "iteration": located.feed,
        "step": located.step,
        "first_bad": judged.first_bad.tensor if judged.first_bad else None,
        "last_good": judged.last_good.tensor if judged.last_good else None,
        "origin": judged.origin.tensor if judged.origin else None,
        "turning": judged.turning.tensor if judged.turning else None,
        "operator": _operator(judged.first_bad) if judged.first_bad else None,
        "fused": _fused(located),
        "probe": _probe(located),
        "pairing": pairing_document(located.pairing),
        "tensors": [_row(row) for row in judged.rows],
        "backends": {
            item.label: {"backend": item.backend, "version": item.version, "error": item.error or None}
            for item in located.backends
        },
    }


def _operator(row: Row) -> dict[str, Any]:
    node = row.node
    return {
        "type": node.op_type,
        "name": node.name,
        "domain": node.domain,
        "attributes": dict(node.attributes),
        "inputs": {name: _figures(row.inputs.get(name)) for name in node.inputs},
        "outputs": list(node.outputs),
        "one_of": list(node.one_of) if isinstance(node, PartNode) else [],
    }


def _fused(located: Located) -> dict[str, Any] | None:
    fused = located.judged.fused
    if fused is None:
        return None
    cure = fused.cure
    value = [*cure.value] if cure is not None and isinstance(cure.value, tuple) else cure.value if cure else None
    return {
        "operators": [{"type": node.op_type, "name": node.name, "outputs": list(node.outputs)} for node in fused.nodes],
        "replaced_by": list(fused.replaced_by),
        "switch": None
        if cure is None
        else {
            "option": cure.switch.option,
            "value": value,
            "words": cure.words,
            "others": [*cure.others],
        },
    }


def pairing_document(pairing: Pairing | None) -> dict[str, Any] | None:
    """Return the pairing of two different models as plain values; None for equal graphs."""
    if pairing is None:
        return None
    return {
        "share": pairing.share,
        "methods": dict(pairing.counts),
        "candidate": {"real": len(pairing.candidate_floats), "unmatched": list(pairing.unmatched_candidate)},
        "reference": {"real": len(pairing.reference_floats), "unmatched": list(pairing.unmatched_reference)},
    }


def _pair(row: Row) -> dict[str, Any]:
    node = row.node
    if not isinstance(node, PartNode):
        return {}
    return {
        "counterpart": node.counterpart,
        "matched_by": node.method,
        "coarsest_type": node.coarsest or None,
        "candidate_operators": list(node.candidate_ops),
        "reference_operators": list(node.reference_ops),
    }


def _probe(located: Located) -> dict[str, Any] | None:
    probe = located.judged.seen_probe
    if probe is None:
        return None
    return {
        "moved": probe.moved,
        "relative": probe.relative,
        "error": probe.error,
        "probed_error": probe.probed_error,
        "trusted": probe.trusted,
        "passed_without": probe.plain_passed,
        "passed_with": probe.probed_passed,
        "cured_by": list(probe.cures),
        "sentence": probe.sentence,
    }


def _row(row: Row) -> dict[str, Any]:
    standalone = row.standalone
    steps = standalone.steps if standalone is not None else None
    return {
        "tensor": row.tensor,
        "operator": row.node.op_type,
        "module": ".".join(path_of(row.node, row.tensor)),
        "type": row.type,
        "passed": row.passed and not row.is_borrowed,
        "judged": not row.is_borrowed,
        "reason": row.reason,
        "max_error": row.max_abs,
        "mean_error": row.mean_abs,
        "relative_error": row.relative,
        "jump": row.jump,
        "own_error": None
        if standalone is None
        else {"max_error": standalone.max_abs, "relative_error": standalone.relative},
        "quantised": None if steps is None else {"factor": steps.gain, "beyond_rounding": steps.beyond},
        "float64": None if row.truth is None else {"candidate": row.truth[0], "reference": row.truth[1]},
        "candidate": _figures(row.candidate),
        "reference": _figures(row.reference),
        **_pair(row),
    }


def _figures(figures: Figures | None) -> dict[str, Any] | None:
    if figures is None:
        return None
    return {"min": figures.low, "max": figures.high, "nan": figures.nan, "inf": figures.inf, "count": figures.count}
