"""A ranking in the form that reports render, and as a JSON document."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from polycmp.report import (
    Block,
    Cell,
    CellValue,
    Column,
    Fact,
    NextStep,
    Result,
    Row,
    Table,
    Verdict,
)
from polycmp.sentences import FOUND, counted, heading_of
from polycmp_locate.precision.rank.along import along_graph, gain_of
from polycmp_locate.precision.rank.reasons import reason_of, why_kept
from polycmp_locate.precision.rank.result import LayerFigures, MixedTrial, Ranking
from polycmp_locate.report.document import pairing_document
from polycmp_locate.report_builder import build_result, number

#: Number of kept layers of which a terminal gives the reason; pages and JSON have all.
_TOLD = 6
#: Verdicts that leave open whether the reduced model is good enough.
_OPEN: tuple[Verdict, ...] = ("blind", "undecided", "error")
_COLUMNS = (
    Column("Own dB", "number"),
    Column("Arrives dB", "number"),
    Column("Share", "number", digits=2),
    Column("Saturated", "number", digits=2),
    Column("To zero", "number", digits=2),
    Column("Range used", "number", digits=2),
    Column("1 step off", "number", digits=2, wide=True),
    Column("More", "number", digits=2, wide=True),
    Column("Gain dB", "number"),
)


def result_of(found: Ranking, command: str) -> Result:
    """Build the result of the ranking for reports.

    Args:
        found: The ranking.
        command: The command's words: `locate`, `debug precision`.
    """
    verdict = _verdict(found, command)
    then = None
    if not found.searched and verdict == "failed":
        command = found.command.replace(" --rank", "")
        then = NextStep(f"{command} --save-mixed mixed.onnx", "find the fewest layers that have to stay in float")
    elif found.kept and not found.files:
        flag = "--save-mixed" if command == "locate" else "-o"
        then = NextStep(f"{found.command} {flag} mixed.onnx", "write the model that keeps these layers in float")
    return build_result(
        command,
        verdict,
        _heading(found, verdict),
        _sentence(found),
        title=found.candidate,
        typed=found.command,
        seconds=found.seconds,
        kind="ranking",
        document=_document(found, command),
        facts=_facts(found),
        failed=found.failed_backends,
        content=_content(found),
        notes=found.notes,
        files=found.files,
        then=then,
    )


def _verdict(found: Ranking, command: str) -> Verdict:
    """`locate` says whether the reduced model differs, `debug precision` whether a model was found that does not."""
    if found.kept is None:
        left: Verdict = next((word for word in _OPEN if found.trials and word == found.trials[-1].verdict), "failed")
        return "error" if all(trial.error for trial in found.trials) else left
    return "passed" if command != "locate" or not found.kept else "failed"


def _heading(found: Ranking, verdict: Verdict) -> str:
    is_found = found.kept or (not found.searched and verdict == "failed")
    return FOUND if is_found else heading_of(verdict)


def _sentence(found: Ranking) -> str:
    last = found.trials[-1] if found.trials else None
    if found.kept is None and last is not None and last.error:
        return f"{found.candidate} cannot run the {'mixed models' if last.kept else 'model'}: {last.error}"
    if found.kept is not None and not found.kept:
        return f"{found.candidate} meets the tolerance as it is"
    if not found.searched:
        return _worst_layer(found)
    if found.kept is None:
        return (
            f"no mixed model meets the tolerance, after {counted(found.search_runs, 'run')} of a whole model; "
            f"{_worst(last)}"
        )
    worst_first = sorted(_kept(found), key=lambda item: item.rank)
    some = ", ".join(item.layer.label for item in worst_first[:3])
    more = f" and {len(found.kept) - 3} more" if len(found.kept) > 3 else ""
    runs = counted(found.search_runs, "run")
    how = f"found in {runs} of a whole model"
    how = how if found.fewest else f"stopped after {runs}; a smaller set may exist (--max-runs)"
    layers = counted(len(found.layers), "layer")
    return f"keep {len(found.kept)} of {layers} in float to meet the tolerance: {some}{more}; {how}"


def _worst_layer(found: Ranking) -> str:
    """Return in words which layer the smaller type harms most: one that it ruins, or that brings most of the error."""
    if found.reduced is not None and found.reduced.verdict in _OPEN:
        return found.reduced.reason
    ranked = sorted(found.layers, key=lambda item: item.rank)
    if not ranked:
        return f"{found.candidate} does not meet the tolerance, and has no layer in a smaller type"
    worst, ruined = ranked[0], sum(item.is_ruined for item in ranked)
    reason = reason_of(worst)
    if ruined:
        others = f"; {ruined - 1} more {'is' if ruined == 2 else 'are'} ruined, too" if ruined > 1 else ""
        return f"{worst.layer.label} is ruined: {reason}{others}"
    return (
        f"{worst.layer.label} causes {worst.share:.0%} of the error, the most of "
        f"{counted(len(ranked), 'layer')}{reason and ': '}{reason}"
    )


def _worst(trial: MixedTrial | None) -> str:
    return f"with {len(trial.kept)} layers in float: {trial.reason}" if trial is not None else ""


def _content(found: Ranking) -> Iterator[Block]:
    if found.layers:
        yield along_graph(found)
        yield _table(found)


def _facts(found: Ranking) -> Iterator[Fact]:
    yield Fact("candidate", found.candidate)
    yield Fact("reference", found.reference)
    yield Fact("layers", str(len(found.layers)))
    if found.searched:
        yield Fact("kept in float", "–" if found.kept is None else str(len(found.kept)))
    yield Fact("runs", str(found.all_runs))


def _kept(found: Ranking) -> list[LayerFigures]:
    return [found.layers[index] for index in found.kept or ()]


def _table(found: Ranking) -> Table:
    ranked = sorted(found.layers, key=lambda item: (not item.kept, item.rank))
    return Table(
        "Layers, those worth most in float first",
        tuple(_row(item, found) for item in ranked),
        _COLUMNS,
        name_title="Layer",
        heading="Layers by what they are worth in float",
        subject=found.candidate,
        against=found.reference,
        judged=False,
        failures_first=True,
        told=_TOLD,
    )


def _row(item: LayerFigures, found: Ranking) -> Row:
    cells: tuple[CellValue, ...] = (
        _decibel(item.own),
        _decibel(item.accumulated),
        item.share,
        item.saturated or None,
        item.underflow or None,
        item.used,
        item.one_step,
        item.more_steps,
        _gain(item, found),
    )
    return Row(
        name=item.layer.name,
        state="failed" if item.kept else "info",
        cells=cells,
        reason=why_kept(item, found) if item.kept else reason_of(item),
        mark="keep" if item.kept else "",
        type=item.layer.op_type,
        chosen=item.kept,
    )


def _decibel(value: float) -> CellValue:
    if math.isinf(value):
        return Cell("exact" if value > 0 else "broken", 1e9 if value > 0 else -1e9)
    return value


def _gain(item: LayerFigures, found: Ranking) -> CellValue:
    gain = gain_of(item, found)
    return None if gain is None else Cell("mended", 1e9) if math.isinf(gain) else gain


def _document(found: Ranking, command: str) -> dict[str, Any]:
    """Return the fields of the document that only a ranking has."""
    return {
        "command_name": command,
        "candidate": found.candidate,
        "reference": found.reference,
        "mode": found.mode,
        "pairing": pairing_document(found.pairing),
        "layers": [_layer(item, found) for item in found.layers],
        "kept": None if found.kept is None else [item.layer.name for item in _kept(found)],
        "fewest": found.fewest,
        "searched": found.searched,
        "runs": {"search": found.search_runs, "all": found.all_runs},
        "trials": [
            {
                "kept": [found.layers[index].layer.name for index in sorted(trial.kept)],
                "passed": trial.passed,
                "snr_db": number(trial.ratio),
                "reason": trial.reason,
                "error": trial.error or None,
            }
            for trial in found.trials
        ],
        "backends": {item.label: {"backend": item.backend, "version": item.version} for item in found.backends},
        "files": found.files,
    }


def _layer(item: LayerFigures, found: Ranking) -> dict[str, Any]:
    return {
        "name": item.layer.name,
        "op_type": item.layer.op_type,
        "module": ".".join(item.modules),
        "operators": len(item.layer.nodes),
        "inputs": list(item.layer.inputs),
        "outputs": list(item.layer.outputs),
        "own_snr_db": number(item.own),
        "accumulated_snr_db": number(item.accumulated),
        "estimated_share": item.share,
        "one_step_off": item.one_step,
        "more_steps_off": item.more_steps,
        "types": [
            {
                "type": code.type,
                "tensor": code.tensor,
                "saturated": code.saturated,
                "underflow": code.underflow,
                "range_used": code.used,
            }
            for code in item.codes
        ],
        "kept": item.kept,
        "gain_db": number(gain_of(item, found)),
        "snr_db_without": number(item.without),
        "reason": why_kept(item, found) if item.kept else reason_of(item),
    }
