"""Findings on steps: where a candidate parts from the reference, and whether it is the step or the state."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polycmp.report import Cell, CellValue, Column, Row, State, Table
from polycmp.sentences import listed

if TYPE_CHECKING:
    from polycmp.compare import OutputComparison

#: A step: number of the sequence, number in it, both counted from 0.
Place = tuple[int, int]
#: Rows of a table that passed, beside the first and the last ones, and names in a sentence.
_ROWS, _SHOWN = 12, 3


@dataclass
class DecodedStep:
    """One step of one run.

    Attributes:
        failed: Outputs that differ.
        error: The largest error relative to the range of its output.
        worst: The output that has it.
    """

    failed: list[str] = field(default_factory=list)
    error: float = 0.0
    worst: str = ""


@dataclass
class Track:
    """A candidate on its way, on its own state and on the reference's.

    Attributes:
        reference: Label of the reference.
        own_state: Steps on its own state.
        reference_state: Steps on the reference's state.
    """

    reference: str
    own_state: dict[Place, DecodedStep] = field(default_factory=dict)
    reference_state: dict[Place, DecodedStep] = field(default_factory=dict)


class StepFindings:
    """The verdicts and top tokens of all steps.

    Args:
        steps: Steps of a sequence.
        suffix: Suffix of the label of a run on the reference's state.
    """

    def __init__(self, steps: int, suffix: str) -> None:
        self._steps, self._suffix = steps, suffix
        self._place: Place = (0, 0)
        self._sequences = 1
        self._tracks: dict[str, Track] = {}
        self._tokens: dict[tuple[str, str], dict[Place, list[int]]] = {}

    def begin(self, sequence: int, step: int) -> None:
        """Begin the next step."""
        self._place = (sequence, step)
        self._sequences = sequence + 1

    def add(self, candidate: str, reference: str, comparisons: Iterable[OutputComparison]) -> None:
        """Record the verdicts on a run in this step."""
        label = candidate.removesuffix(self._suffix)
        track = self._tracks.setdefault(label, Track(reference))
        steps = track.own_state if label == candidate else track.reference_state
        step = steps.setdefault(self._place, DecodedStep())
        for item in comparisons:
            if not item.passed:
                step.failed.append(item.output)
            error = _error(item)
            if error > step.error or not step.worst:
                step.error, step.worst = error, item.output

    def add_tokens(self, label: str, output: str, tokens: list[int]) -> None:
        """Record the top tokens of a run, one for each row."""
        self._tokens.setdefault((label, output), {})[self._place] = tokens

    # --- in words

    def sentences(self) -> list[str]:
        """Return the findings as sentences, most important first."""
        return [text for label, track in self._tracks.items() for text in self._sentences(label, track)]

    def _sentences(self, label: str, track: Track) -> Iterator[str]:
        first_own, first_given = _first(track.own_state), _first(track.reference_state)
        if first_given is not None and (first_own is None or first_given <= first_own):
            yield (
                f"{self._name(first_given)} itself: {label} differs from {track.reference} there although it is fed "
                f"with the reference's state, in {_some(track.reference_state[first_given].failed)}"
            )
        elif first_own is not None:
            step = track.own_state[first_own]
            yield (
                f"the accumulated state: on its own state {label} parts from {track.reference} in "
                f"{self._name(first_own)}, in {_some(step.failed)}; fed with the reference's state that step is right, "
                f"and the error grows from {_first_error(track.own_state)} to {step.error:.2g} of the range"
            )
        elif track.own_state:
            last = max(track.own_state)
            yield (
                f"{label} agrees with {track.reference} in all {len(track.own_state)} steps, on its own state and on "
                f"the reference's; the largest error is {track.own_state[last].error:.2g} of the range in the last one"
            )
        for output in dict.fromkeys(name for _, name in self._tokens):
            yield from self._about_tokens(label, track.reference, output)

    def _about_tokens(self, label: str, reference: str, output: str) -> Iterator[str]:
        reference_tokens = self._tokens.get((reference, output), {})
        for run, words in ((label, "on its own state"), (label + self._suffix, "on the reference's state")):
            difference = _first_other(self._tokens.get((run, output), {}), reference_tokens)
            if difference is None:
                continue
            place, row, token, other = difference
            yield (
                f"the top token of {output!r} differs first in {self._name(place)} {words}: {token} instead of {other} "
                f"in row {row}"
            )
            return
        if reference_tokens and (label, output) in self._tokens:
            steps = f"all {len(reference_tokens)} steps of {label} and {reference}"
            yield f"the top token of {output!r} is the same in {steps}"

    def _name(self, place: Place) -> str:
        sequence, step = place
        return f"step {step}" if self._sequences == 1 else f"step {step} of sequence {sequence}"

    # --- as a table

    def tables(self) -> list[Table]:
        """Return a table for each candidate, a row for each step."""
        return [self._table(label, track) for label, track in self._tracks.items() if track.own_state]

    def _table(self, label: str, track: Track) -> Table:
        places = list(track.own_state)
        bad = [place for place in places if track.own_state[place].failed or _failed(track.reference_state, place)]
        shown = sorted({*bad, *places[: _ROWS - 4], *places[-4:]})
        return Table(
            title=f"Steps of {label} against {track.reference}",
            rows=tuple(self._row(label, track, place) for place in shown),
            columns=(Column("Own state", "number"), Column("Reference's state", "number"), *self._token_column()),
            name_title="Step",
            reason_title="Result",
            summary=f"{len(bad)} of {len(places)} steps differ" if bad else f"all {len(places)} steps agree",
            judged=False,
        )

    def _row(self, label: str, track: Track, place: Place) -> Row:
        own_step, given_step = track.own_state[place], track.reference_state.get(place)
        state: State = "failed" if own_step.failed or _failed(track.reference_state, place) else "passed"
        return Row(
            self._name(place),
            state,
            (
                _cell(own_step),
                None if given_step is None else _cell(given_step),
                *(self._token(label, track.reference, place) for _ in self._token_column()),
            ),
            reason=_reason(own_step, given_step),
        )

    def _token_column(self) -> tuple[Column, ...]:
        return (Column("Top token"),) if self._tokens else ()

    def _token(self, label: str, reference: str, place: Place) -> CellValue:
        for output in dict.fromkeys(name for _, name in self._tokens):
            tokens = self._tokens.get((label, output), {}).get(place)
            reference_tokens = self._tokens.get((reference, output), {}).get(place)
            if tokens is not None and reference_tokens is not None:
                different = [(a, b) for a, b in zip(tokens, reference_tokens, strict=False) if a != b]
                return f"{different[0][0]}, not {different[0][1]}" if different else "same"
        return None

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "steps": self._steps,
            "candidates": {label: self._plain(label, track) for label, track in self._tracks.items()},
            "sentences": self.sentences(),
        }

    def _plain(self, label: str, track: Track) -> dict[str, Any]:
        first_own, first_given = _first(track.own_state), _first(track.reference_state)
        other = [
            _first_other(self._tokens[label, name], self._tokens.get((track.reference, name), {}))
            for run, name in self._tokens
            if run == label
        ]
        return {
            "reference": track.reference,
            "first_on_own_state": first_own,
            "first_on_reference_state": first_given,
            "first_other_top_token": min((item[0] for item in other if item is not None), default=None),
            "cause": _cause(first_own, first_given),
            "own_state": _list(track.own_state),
            "reference_state": _list(track.reference_state),
        }


def _cause(first_own: Place | None, first_given: Place | None) -> str | None:
    if first_given is not None and (first_own is None or first_given <= first_own):
        return "step"
    return "state" if first_own is not None else None


def _error(item: OutputComparison) -> float:
    stats = item.stats
    if stats is None:
        return 0.0 if item.passed else math.inf
    if stats.nan_failed:
        return math.inf
    return float(stats.share) if stats.share is not None else float(stats.max_abs)


def _first(steps: Mapping[Place, DecodedStep]) -> Place | None:
    return min((place for place, step in steps.items() if step.failed), default=None)


def _failed(steps: Mapping[Place, DecodedStep], place: Place) -> bool:
    return place in steps and bool(steps[place].failed)


def _first_other(
    tokens_by_place: Mapping[Place, list[int]], reference_tokens: Mapping[Place, list[int]]
) -> tuple[Place, int, int, int] | None:
    for place, tokens in sorted(tokens_by_place.items()):
        for row, (token, other) in enumerate(zip(tokens, reference_tokens.get(place, tokens), strict=False)):
            if token != other:
                return place, row, token, other
    return None


def _first_error(steps: Mapping[Place, DecodedStep]) -> str:
    return f"{steps[min(steps)].error:.2g} in the first step"


def _cell(step: DecodedStep) -> CellValue:
    return Cell("NaN", math.inf) if math.isinf(step.error) else Cell(f"{step.error:.2g}", step.error, step.worst)


def _reason(own_step: DecodedStep, given_step: DecodedStep | None) -> str:
    if given_step is not None and given_step.failed:
        return f"the step itself: {_some(given_step.failed)}"
    return f"the accumulated state: {_some(own_step.failed)}" if own_step.failed else "within tolerance"


def _some(names: list[str]) -> str:
    return listed(list(dict.fromkeys(names)), _SHOWN)


def _list(steps: Mapping[Place, DecodedStep]) -> list[dict[str, Any]]:
    return [
        {"sequence": place[0], "step": place[1], "failed": step.failed, "error": step.error, "worst_output": step.worst}
        for place, step in steps.items()
    ]
