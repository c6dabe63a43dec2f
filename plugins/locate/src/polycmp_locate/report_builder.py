"""One result of `locate`, `debug reduce` or `debug precision`, as terminals, pages and JSON show it.

A command gives what is its own: blocks and fields. What all of them have in common stands here: failed backends first,
then what was found, remarks, files and the next step; and the same head and tail of the JSON document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polycmp.report import Block, Fact, NextStep, Note, Result, Verdict, backend_failure
from polycmp.results import BackendResult


def build_result(
    command: str,
    verdict: Verdict,
    heading: str,
    sentence: str,
    *,
    title: str,
    typed: str,
    seconds: float,
    timed: bool = True,
    kind: str = "",
    full_sentence: str | None = None,
    document: Mapping[str, Any],
    facts: Iterable[Fact] = (),
    failed: Iterable[BackendResult] = (),
    content: Iterable[Block] = (),
    notes: Sequence[str] | None = None,
    explained: Iterable[Block] = (),
    files: Sequence[str] = (),
    then: NextStep | None = None,
) -> Result:
    """Return a result in the form that every report renders, its JSON document included.

    Args:
        command: The words of the command.
        verdict: Verdict of the result.
        heading: The verdict in capital letters.
        sentence: Summary in one sentence.
        title: Of a page: the candidate.
        typed: The command line.
        seconds: Wall-clock duration.
        timed: Whether the summary tells the duration.
        kind: The document's; by default the command.
        full_sentence: The document's sentence, where that is longer than the one after the heading.
        document: The fields of the document that only this command has.
        facts: The few figures that matter most.
        failed: Backends that failed.
        content: Blocks of the result, in the order in which a terminal shows them.
        notes: Remarks for the reader; None where the document has no place for them.
        explained: The figures behind it.
        files: Paths of the files that were saved.
        then: The command to type next; None for none.
    """
    head = {
        "schema": 1,
        "kind": kind or command,
        "verdict": verdict,
        "sentence": sentence if full_sentence is None else full_sentence,
    }
    tail: dict[str, Any] = {} if notes is None else {"notes": list(notes)}
    return Result(
        command=command,
        verdict=verdict,
        heading=heading,
        sentence=sentence,
        title=title,
        content=(
            *(backend_failure(item.label, item.error, item.hint) for item in failed),
            *content,
            *(Note(text) for text in notes or ()),
            *explained,
            *(Note(path, label="saved") for path in files),
            *([then] if then is not None else ()),
        ),
        facts=tuple(facts),
        command_line=typed,
        seconds=seconds,
        timed=timed,
        document={**head, **document, **tail, "command": typed, "seconds": seconds},
    )
