"""The verdict of one search in sentences, with the reasons for the fault."""

from __future__ import annotations

from dataclasses import replace

from polycmp.layerwise import PartitionedRun, a_few
from polycmp.precision import UNITS
from polycmp_locate.network.words import network_notes, whole_notes
from polycmp_locate.report.words import explanation, notes_of, sentence
from polycmp_locate.setting import Setting, name_operators
from polycmp_locate.values.judged import LACKING, NOT_JUDGED, OTHER_NETWORK, Judged
from polycmp_locate.values.located import Located


def report(judged: Judged, setting: Setting) -> Located:
    """Describe the verdict in sentences.

    Args:
        judged: The verdict.
        setting: The backends that were searched, and the tools for it.
    """
    located = Located(
        setting.candidate.label,
        setting.reference.label,
        judged=judged,
        precision=_coarsest(setting.candidate, setting.reference),
        pairing=setting.pairing,
    )
    located.sentence = (
        judged.cause.sentence(judged, located.candidate, located.reference) if judged.cause is not None else ""
    )
    if not judged.finals:  # one side did not run the model
        return located
    if not judged.is_whole:
        located.notes.append("with --bisect nothing tells whether looking inside changes the result")
        if judged.unseen:
            located.notes.append(
                f"not seen: {a_few(judged.unseen)}; if the error begins there, a later tensor is named"
            )
    located.sentence = located.sentence or sentence(located)
    if judged.borrowed and not located.exit_code:
        are, them = ("is", "it") if len(judged.borrowed) == 1 else ("are", "them")
        located.judged = replace(judged, verdict=NOT_JUDGED)
        located.sentence = (
            f"{name_operators(judged.borrowed)} {are} {NOT_JUDGED}: {located.reference} cannot run {them}; "
            f"of the rest: {located.sentence}"
        )
    located.explain = explanation(located)
    located.notes += [*notes_of(located), *map(str, judged.reasons)]
    if setting.network is not None and judged.verdict != OTHER_NETWORK:
        known = {reason.words for reason in judged.reasons}
        remaining = [item.words for item in setting.network.accusing if item.words not in known]
        located.notes += network_notes(remaining, whole_notes(setting.network))
    for run in (setting.candidate, setting.reference):
        located.notes += [f"{run.label} {note}" for note in run.result.notes]
    if setting.lacking is not None and not located.exit_code:
        verdict, advice = (NOT_JUDGED if setting.lacking.instead else LACKING), setting.lacking.advice
        located.judged = replace(judged, verdict=verdict)
        located.sentence = f"{verdict}: {setting.lacking}; of the rest: {located.sentence}"
        located.notes += [advice] if advice else []
    return located


def _coarsest(*partitioned_runs: PartitionedRun) -> str:
    """Name the backend that may calculate in a coarser type than float32, and the type; empty if none may."""
    run = max(partitioned_runs, key=lambda run: UNITS.get(run.result.precision, 0.0))
    coarse = UNITS.get(run.result.precision, 0.0) > UNITS["float32"]
    return f"{run.result.precision}, which {run.label} may calculate in" if coarse else ""
