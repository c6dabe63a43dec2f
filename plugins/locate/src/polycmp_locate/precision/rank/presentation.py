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
from polycmp.sentences import FOUND, counted, heading_of, shortened
from polycmp_locate.precision.rank.along import along_graph, gain_of
from polycmp_locate.precision.rank.reasons import reason_of, why_in_float
from polycmp_locate.precision.rank.result import LayerFigures, MixedTrial, Ranking
from polycmp_locate.report.document import pairing_document
from polycmp_locate.report_builder import build_result

#: Number of kept layers of which a terminal gives the reason; pages and JSON have all.
_REASONS_SHOWN = 6
#: Verdicts that leave open whether the reduced model is good enough.
_OPEN_VERDICTS: tuple[Verdict, ...] = ("blind", "undecided", "error")
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


def result_of(ranking: Ranking, command: str) -> Result:
    """Build the result of the ranking for reports.

    Args:
        ranking: The ranking.
        command: The command's words: `locate`, `debug precision`.
    """
    verdict = _verdict(ranking, command)
    then = None
    if not ranking.searched and verdict == "failed":
        command = ranking.command.replace(" --rank", "")
        then = NextStep(f"{command} --save-mixed mixed.onnx", "find the fewest layers that have to stay in float")
    elif ranking.float_layers and not ranking.files:
        flag = "--save-mixed" if command == "locate" else "-o"
        then = NextStep(f"{ranking.command} {flag} mixed.onnx", "write the model that keeps these layers in float")
    return build_result(
        command,
        verdict,
        _heading(ranking, verdict),
        _sentence(ranking),
        title=ranking.candidate,
        typed=ranking.command,
        seconds=ranking.seconds,
        kind="ranking",
        document=_document(ranking, command),
        facts=_facts(ranking),
        failed=ranking.failed_backends,
        content=_content(ranking),
        notes=ranking.notes,
        files=ranking.files,
        then=then,
    )


def _verdict(ranking: Ranking, command: str) -> Verdict:
    """`locate` says whether the reduced model differs, `debug precision` whether a model was found that does not."""
    if ranking.float_layers is None:
        open_verdict: Verdict = next(
            (word for word in _OPEN_VERDICTS if ranking.trials and word == ranking.trials[-1].verdict), "failed"
        )
        return "error" if all(trial.error for trial in ranking.trials) else open_verdict
    return "passed" if command != "locate" or not ranking.float_layers else "failed"


def _heading(ranking: Ranking, verdict: Verdict) -> str:
    names_layers = ranking.float_layers or (not ranking.searched and verdict == "failed")
    return FOUND if names_layers else heading_of(verdict)


def _sentence(ranking: Ranking) -> str:
    last = ranking.trials[-1] if ranking.trials else None
    if ranking.float_layers is None and last is not None and last.error:
        return f"{ranking.candidate} cannot run the {'mixed models' if last.float_layers else 'model'}: {last.error}"
    if ranking.float_layers is not None and not ranking.float_layers:
        return f"{ranking.candidate} meets the tolerance as it is"
    if not ranking.searched:
        return _worst_layer(ranking)
    if ranking.float_layers is None:
        return (
            f"no mixed model meets the tolerance, after {counted(ranking.search_runs, 'run')} of a whole model; "
            f"{_worst(last)}"
        )
    worst_first = sorted(_float_layers(ranking), key=lambda item: item.rank)
    some = shortened([item.layer.label for item in worst_first], 3)
    runs = counted(ranking.search_runs, "run")
    how = f"found in {runs} of a whole model"
    how = how if ranking.fewest else f"stopped after {runs}; a smaller set may exist (--max-runs)"
    layers = counted(len(ranking.layers), "layer")
    return f"keep {len(ranking.float_layers)} of {layers} in float to meet the tolerance: {some}; {how}"


def _worst_layer(ranking: Ranking) -> str:
    """Describe the layer that the smaller type harms most: one that is ruined, or that causes most of the error."""
    if ranking.reduced is not None and ranking.reduced.verdict in _OPEN_VERDICTS:
        return ranking.reduced.reason
    ranked = sorted(ranking.layers, key=lambda item: item.rank)
    if not ranked:
        return f"{ranking.candidate} does not meet the tolerance, and has no layer in a smaller type"
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
    return f"with {len(trial.float_layers)} layers in float: {trial.reason}" if trial is not None else ""


def _content(ranking: Ranking) -> Iterator[Block]:
    if ranking.layers:
        yield along_graph(ranking)
        yield _table(ranking)


def _facts(ranking: Ranking) -> Iterator[Fact]:
    yield Fact("candidate", ranking.candidate)
    yield Fact("reference", ranking.reference)
    yield Fact("layers", str(len(ranking.layers)))
    if ranking.searched:
        yield Fact("kept in float", "–" if ranking.float_layers is None else str(len(ranking.float_layers)))
    yield Fact("runs", str(ranking.all_runs))


def _float_layers(ranking: Ranking) -> list[LayerFigures]:
    return [ranking.layers[index] for index in ranking.float_layers or ()]


def _table(ranking: Ranking) -> Table:
    ranked = sorted(ranking.layers, key=lambda item: (not item.in_float, item.rank))
    return Table(
        "Layers, those worth most in float first",
        tuple(_row(item, ranking) for item in ranked),
        _COLUMNS,
        name_title="Layer",
        heading="Layers by what they are worth in float",
        subject=ranking.candidate,
        against=ranking.reference,
        judged=False,
        failures_first=True,
        told=_REASONS_SHOWN,
    )


def _row(item: LayerFigures, ranking: Ranking) -> Row:
    cells: tuple[CellValue, ...] = (
        _decibel(item.layer_ratio),
        _decibel(item.accumulated),
        item.share,
        item.saturated or None,
        item.underflow or None,
        item.used,
        item.one_step,
        item.more_steps,
        _gain(item, ranking),
    )
    return Row(
        name=item.layer.name,
        state="failed" if item.in_float else "info",
        cells=cells,
        reason=why_in_float(item, ranking) if item.in_float else reason_of(item),
        mark="keep" if item.in_float else "",
        type=item.layer.op_type,
        chosen=item.in_float,
    )


def _decibel(value: float) -> CellValue:
    if math.isinf(value):
        return Cell("exact" if value > 0 else "broken", 1e9 if value > 0 else -1e9)
    return value


def _gain(item: LayerFigures, ranking: Ranking) -> CellValue:
    gain = gain_of(item, ranking)
    return None if gain is None else Cell("mended", 1e9) if math.isinf(gain) else gain


def _document(ranking: Ranking, command: str) -> dict[str, Any]:
    """Return the fields of the document that only a ranking has."""
    return {
        "command_name": command,
        "candidate": ranking.candidate,
        "reference": ranking.reference,
        "mode": ranking.mode,
        "pairing": pairing_document(ranking.pairing),
        "layers": [_layer(item, ranking) for item in ranking.layers],
        "kept": None if ranking.float_layers is None else [item.layer.name for item in _float_layers(ranking)],
        "fewest": ranking.fewest,
        "searched": ranking.searched,
        "runs": {"search": ranking.search_runs, "all": ranking.all_runs},
        "trials": [
            {
                "kept": [ranking.layers[index].layer.name for index in sorted(trial.float_layers)],
                "passed": trial.passed,
                "snr_db": trial.ratio,
                "reason": trial.reason,
                "error": trial.error or None,
            }
            for trial in ranking.trials
        ],
        "backends": {item.label: {"backend": item.backend, "version": item.version} for item in ranking.backends},
        "files": ranking.files,
    }


def _layer(item: LayerFigures, ranking: Ranking) -> dict[str, Any]:
    return {
        "name": item.layer.name,
        "op_type": item.layer.op_type,
        "module": ".".join(item.modules),
        "operators": len(item.layer.nodes),
        "inputs": list(item.layer.inputs),
        "outputs": list(item.layer.outputs),
        "own_snr_db": item.layer_ratio,
        "accumulated_snr_db": item.accumulated,
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
        "kept": item.in_float,
        "gain_db": gain_of(item, ranking),
        "snr_db_without": item.without,
        "reason": why_in_float(item, ranking) if item.in_float else reason_of(item),
    }
