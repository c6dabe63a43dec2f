"""The result of a search, in the form that every report renders."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polycmp.report import Block, Column, NextStep, Note, Point, Result, Row, Series, State, Table, duration
from polycmp.sentences import BLIND, FAILED, FOUND, NO_FAULT
from polycmp_bisect.candidates.backwards import Backwards
from polycmp_bisect.candidates.base import Candidates
from polycmp_bisect.judging import TIME, words_of
from polycmp_bisect.locating import Operator
from polycmp_bisect.search import Judgement, TurningPoint
from polycmp_bisect.sentences import issue_at, itself

#: State of a row, by that of the judgement.
STATES: dict[str, State] = {"good": "passed", "bad": "failed", "skip": "skipped"}


@dataclass(frozen=True)
class Answer:
    """Result of a search.

    Attributes:
        candidates: The line that was searched.
        turning_point: The place where the line turns.
        operator: Answer of `locate` on the first bad one.
        new_environments: Number of environments that had to be made.
        command: The command line as typed.
        seconds: Duration of the search.
    """

    candidates: Candidates
    turning_point: TurningPoint
    operator: Operator
    new_environments: int
    command: str
    seconds: float

    def name(self, place: int | None) -> str | None:
        """Return the name of a candidate."""
        return None if place is None else self.candidates.names[place]


def result_of(answer: Answer, *, page: str = "") -> Result:
    """Build the result for reports; `page` is the file with the text of an issue, if one was written."""
    turning_point = answer.turning_point
    heading = NO_FAULT if turning_point.first_bad is None else FAILED if turning_point.last_good is None else FOUND
    return Result(
        command="bisect",
        verdict="passed" if turning_point.first_bad is None else "failed",
        heading=heading,
        sentence=sentence_of(answer),
        title=f"over {answer.candidates.what}",
        content=(*_content(answer), *([Note(issue_at(page), label="")] if page else [])),
        command_line=answer.command,
        seconds=answer.seconds,
        timed=True,
        document=document_of(answer),
    )


def compared_with_itself(candidates: Candidates, place: int, command: str, seconds: float) -> Result:
    """Return the result where the reference is what the search would begin at, which was not run."""
    what, name = candidates.what, candidates.names[place]
    sentence = f"{itself(what, name)}; --bad names another {what}, -b another reference, --load-outputs saved outputs"
    return Result(
        command="bisect",
        verdict="blind",
        heading=BLIND,
        sentence=sentence,
        title=f"over {what}",
        command_line=command,
        seconds=seconds,
        timed=True,
        document={
            "schema": 1,
            "verdict": "blind",
            "what": what,
            "candidates": list(candidates.names),
            "sentence": sentence,
            "command": command,
            "seconds": seconds,
        },
    )


def sentence_of(answer: Answer) -> str:
    """Describe the result in one sentence."""
    turning_point, names, what = answer.turning_point, answer.candidates.names, answer.candidates.what
    looked = len(turning_point.judged)
    if turning_point.first_bad is None:
        place = next(reversed(turning_point.judged))
        skipped = [names[item] for item, judged in turning_point.judged.items() if judged.state == "skip"]
        newer = (
            f"; {', '.join(skipped)} could not be judged: --bad {skipped[0]} searches for the first" if skipped else ""
        )
        seen = words_of(turning_point.judged[place]).removeprefix("good, ")
        return f"{what} {names[place]} is right ({seen}){newer or '; --bad names one that is not'}"
    if turning_point.last_good is None:
        newest = len(names) - 1
        hint = f"; --good {names[newest]}, if that is right, searches for the {what} that mended it"
        oldest = f"{names[turning_point.first_bad]}, the oldest {what} that could be judged, is bad, too"
        return oldest + ("" if newest in turning_point.judged else hint)
    bad, good = names[turning_point.first_bad], names[turning_point.last_good]
    mended = isinstance(answer.candidates, Backwards)
    parts = [f"mended in {what} {good}, last bad {bad}" if mended else f"first bad {what} {bad}, last good {good}"]
    if turning_point.between:
        parts[0] += f" ({', '.join(names[item] for item in turning_point.between)} between them could not be judged)"
    if turning_point.judged[turning_point.first_bad].detail == TIME:
        parts.append(
            _slower_words(turning_point.judged[turning_point.first_bad], turning_point.judged[turning_point.last_good])
        )
    elif answer.operator.sentence:
        parts.append(answer.operator.sentence)
    elif turning_point.judged[turning_point.first_bad].reason:
        parts.append(turning_point.judged[turning_point.first_bad].reason)
    if answer.operator.way_round and "workaround" not in parts[-1]:
        parts.append(f"workaround: {answer.operator.way_round}")
    return "; ".join(parts) + f" ({looked} of {len(names)} looked at)"


def _slower_words(bad: Judgement, good: Judgement) -> str:
    """Describe by how much a candidate is slower."""
    if not (bad.seconds and good.seconds):
        return bad.reason
    passes = "its results pass, but it" if bad.reason else "it"
    times = f"{bad.seconds / good.seconds:.2g} times as long"
    return f"{passes} takes {times}: {duration(bad.seconds)} instead of {duration(good.seconds)}"


def document_of(answer: Answer) -> dict[str, Any]:
    """Return the JSON document."""
    turning_point = answer.turning_point
    return {
        "schema": 1,
        "verdict": "passed" if turning_point.first_bad is None else "failed",
        "what": answer.candidates.what,
        "candidates": list(answer.candidates.names),
        "first_bad": answer.name(turning_point.first_bad),
        "last_good": answer.name(turning_point.last_good),
        "skipped_between": [answer.name(item) for item in turning_point.between],
        "judged": {
            str(answer.name(place)): {
                "state": item.state,
                "reason": item.reason,
                "error": item.error,
                "seconds": item.seconds,
                "output": item.detail,
            }
            for place, item in turning_point.judged.items()
        },
        "prepared": answer.new_environments,
        "locate": answer.operator.document or None,
        "sentence": sentence_of(answer),
        "command": answer.command,
        "seconds": answer.seconds,
    }


def _content(answer: Answer) -> Iterator[Block]:
    turning_point, names = answer.turning_point, answer.candidates.names
    ordered = sorted(turning_point.judged.items(), reverse=isinstance(answer.candidates, Backwards))
    timed = any(item.detail == TIME for item in turning_point.judged.values())
    rows = tuple(
        _row(names[place], item, timed=timed, chosen=place == turning_point.first_bad) for place, item in ordered
    )
    columns = (
        *(() if timed else (Column("Off by, of range", "number", digits=2),)),
        Column("Median", "duration"),
    )
    yield Table(
        "", rows, columns, name_title=answer.candidates.what.capitalize(), reason_title="Why",
        heading=f"Each {answer.candidates.what} that was looked at", causal=True, suite="bisect",
    )  # fmt: skip
    points = tuple(
        Point(
            names[place],
            math.inf if item.error is None else item.error,
            STATES[item.state],
            f"{names[place]}: {words_of(item)}",
            mark=names[place] if place in {turning_point.first_bad, turning_point.last_good} else "",
        )
        for place, item in ordered
        if item.error is not None or item.state == "bad"  # who cannot run the model is drawn above all that can
    )
    if len(points) > 1:
        yield Series(
            f"{'Time' if timed else 'Error'} by {answer.candidates.what}",
            points,
            remark="Only those that were looked at are drawn, from old to new.",
            summary=sentence_of(answer),
            ends=(points[0].name, points[-1].name),
        )
    if answer.new_environments:
        what = "environment" if answer.new_environments == 1 else "environments"
        yield Note(
            f"{answer.new_environments} {what} made for this search; polycmp cache list shows what is kept", label=""
        )
    if answer.operator.command and turning_point.first_bad is not None:
        for command in answer.candidates.steps(turning_point.first_bad):
            tools = shlex.quote(str(Path(answer.candidates.interpreter(turning_point.first_bad)).parent))
            yield NextStep(f"PATH={tools}:$PATH {command}", "writes the file of the first bad one")
        yield NextStep(answer.operator.command, "looks at the first bad one, tensor by tensor")


def _row(name: str, judgement: Judgement, *, timed: bool, chosen: bool) -> Row:
    cells = (judgement.seconds,) if timed else (judgement.error, judgement.seconds)
    return Row(name, STATES[judgement.state], cells, judgement.reason, mark=judgement.state, chosen=chosen)
