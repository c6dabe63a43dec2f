"""The result of a search over passes, in the form that every report renders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polycmp.report import Block, Column, NextStep, Note, Result, Row, Table
from polycmp.sentences import FAILED, FOUND, NO_FAULT, cut
from polycmp_bisect.judging import TIME, words_of
from polycmp_bisect.passes.pass_search import PassSearchResult, labels_of, replaced_words
from polycmp_bisect.result import STATES
from polycmp_bisect.search import Judgement
from polycmp_bisect.sentences import issue_at, no_run_shows_which, only_together

_MAX_NAME_LENGTH = 60


def result_of(result: PassSearchResult, run_words: str, command: str, seconds: float, *, page: str = "") -> Result:
    """Return the result.

    Args:
        result: The result of the search.
        run_words: A command that runs the model with the workaround; empty if none is known.
        command: The command line as typed.
        seconds: Duration of the search.
        page: The file with the text of an issue, if one was written.
    """
    return Result(
        command="bisect",
        verdict="failed" if result.is_wrong else "passed",
        heading=FOUND if result.guilty else FAILED if result.is_wrong else NO_FAULT,
        sentence=sentence_of(result),
        title=f"over the passes of {result.label}",
        content=(*_content(result, run_words), *([Note(issue_at(page), label="")] if page else [])),
        command_line=command,
        seconds=seconds,
        timed=True,
        document=document_of(result, command, seconds),
    )


def sentence_of(result: PassSearchResult) -> str:
    """Return the one sentence that says it all."""
    tried = f" ({len(result.looks)} runs)"
    first = result.looks[0][1]
    if not result.is_wrong:
        return f"{result.label} is right with all of its passes ({words_of(first).removeprefix('good, ')})"
    if result.guilty is None:
        reason = f": {first.reason}" if first.reason else ""
        return f"{result.label} is wrong with and without its passes, so none of them is to blame{reason}{tried}"
    parts = [f"{result.off} {result.label} is right"]
    if result.guilty.others:
        parts.append(no_run_shows_which(" and ".join(map(str, result.guilty.others))))
    if result.replaced:
        parts.append(f"there it computes {replaced_words(result.replaced)}")
    if result.together:
        parts.append(f"else {only_together(labels_of(result.together))}")
    if result.words:
        parts.append(f"workaround: {result.words}")
    return "; ".join(parts) + tried


def document_of(result: PassSearchResult, command: str, seconds: float) -> dict[str, Any]:
    """Return the JSON document."""
    guilty = result.guilty
    return {
        "schema": 1,
        "verdict": "failed" if result.is_wrong else "passed",
        "what": "passes",
        "backend": result.label,
        "switch": guilty
        and {"option": guilty.switch.option, "value": guilty.value, "words": result.words, "others": [*guilty.others]},
        "replaced": [
            {"operators": [{"type": node.op_type, "name": node.name} for node in item.replaced], "by": list(item.by)}
            for item in result.replaced
        ],
        "together": [{"type": node.op_type, "name": node.name} for node in result.together],
        "judged": [
            {"setting": name, "state": item.state, "reason": item.reason, "error": item.error, "seconds": item.seconds}
            for name, item in result.looks
        ],
        "sentence": sentence_of(result),
        "command": command,
        "seconds": seconds,
    }


def _content(result: PassSearchResult, run_words: str) -> Iterator[Block]:
    columns = (Column("Off by, of range", "number", digits=2), Column("Median", "duration"))
    rows = tuple(_row(name, item, chosen=name == result.off) for name, item in result.looks)
    yield Table(
        "", rows, columns, name_title="Setting", reason_title="Why", heading="Each setting that was tried",
        suite="bisect",
    )  # fmt: skip
    if result.replaced:
        yield Note(replaced_words(result.replaced), label="replaced")
    if run_words:
        yield NextStep(run_words, "runs it with the workaround")


def _row(name: str, judgement: Judgement, *, chosen: bool) -> Row:
    cells = (None if judgement.detail == TIME else judgement.error, judgement.seconds)
    return Row(
        cut(name, _MAX_NAME_LENGTH),
        STATES[judgement.state],
        cells,
        judgement.reason,
        mark=judgement.state,
        chosen=chosen,
    )
