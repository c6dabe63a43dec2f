"""Replays an issue with polycmp on the release that was wrong and on the one that mended it, and judges the answers."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from truth.history.checking import state, write_with_tool
from truth.history.environments import Environment, NotMadeError, make
from truth.history.issue import Issue
from truth.judge import Said, run_words

SHOWN, NOT_HERE = "shown", "not shown here"


@dataclass(frozen=True)
class Replayed:
    """What came out of an issue.

    Attributes:
        issue: The issue.
        shown: `SHOWN`, or why the runtime alone does not show the fault, or not that it was mended.
        facts: What the runtime alone made of it with the release that was wrong.
        bad: What `locate` said of the release that was wrong.
        good: What it said of the release that mended it.
        sees: Whether `run` sees it on the issue's inputs.
        sees_default: Whether `run` sees it on inputs of its own.
        passes: Whether `run` passes the release that mended it, on the issue's inputs.
        grade: Why the answer is not right; empty if it is.
        accuses: Why the answer about the repaired release is not right; empty if it is.
        command: What repeats `locate` on the release that was wrong.
    """

    issue: Issue
    shown: str
    facts: str = ""
    bad: Said = field(default_factory=lambda: Said(0))
    good: Said = field(default_factory=lambda: Said(0))
    sees: bool = False
    sees_default: bool = False
    passes: bool = False
    grade: str = ""
    accuses: str = ""
    command: str = ""


def replay(issue: Issue, folder: Path) -> Replayed:
    """Check an issue with the runtime alone, then ask polycmp about both releases."""
    try:
        facts = state(issue, issue.bad, folder / "bad")
        mended = state(issue, issue.good, folder / "good")
    except NotMadeError as error:
        return Replayed(issue, f"{NOT_HERE}: {error}")
    if facts == "right":
        return Replayed(issue, f"{NOT_HERE}: {_packages(issue.bad)} is right")
    if mended != "right":
        return Replayed(issue, f"{NOT_HERE}: {_packages(issue.good)} is wrong: {mended}")
    words = _words(issue, issue.bad, folder / "bad", "old")
    given = ["--load-inputs", str(folder / "bad" / "x.npz")]
    bad = run_words(["locate", *words, *given], folder / "bad.json")
    good_words = _words(issue, issue.good, folder / "good", "new")
    good_given = ["--load-inputs", str(folder / "good" / "x.npz")]
    good = run_words(["locate", *good_words, *good_given], folder / "good.json")
    return Replayed(
        issue, SHOWN, facts, bad, good,
        sees=_fails(words, given, folder),
        sees_default=_fails(words, [], folder),
        passes=issue.rounds or not _fails(good_words, good_given, folder),
        grade=grade(issue, bad),
        accuses="" if good.exit == 0 else f"exit status {good.exit}",
        command=f"polycmp {shlex.join(['locate', *words, *given])}",
    )  # fmt: skip


def grade(issue: Issue, said: Said) -> str:
    """Return why an answer is not the one that was written down; empty if it is."""
    answer = issue.answer
    if said.exit != 1:
        return f"exit status {said.exit} instead of 1"
    if answer.at and not set(answer.at) & named(said):
        return f"names {', '.join(sorted(named(said))) or 'nothing'}, not {' or '.join(answer.at)}"
    words = " ".join([said.sentence, *said.notes, "" if said.sentence else said.text])
    missing = [pattern for pattern in answer.says if not re.search(pattern, words)]
    return f"does not say “{missing[0]}”" if missing else ""


def named(said: Said) -> set[str]:
    """Return the operators that a sentence names, by what they are called, and the tensor that it holds responsible."""
    found = set(re.findall(r"\b[A-Z]\w+ '([^']*)'", said.sentence))
    for key in ("origin", "first_bad"):
        if said.document.get(key):
            found.add(str(said.document[key]))
    return found


def _words(issue: Issue, environment: Environment, folder: Path, name: str) -> list[str]:
    """Return model and backends, the one to judge first."""
    source, target, inputs = folder / "source.onnx", folder / "target.onnx", folder / "x.npz"
    if issue.tool:
        if not target.exists():
            write_with_tool(issue, environment, source, target, inputs)
        return [str(target), "-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}", *issue.words]
    backend, _, options = issue.backend.partition(":")
    candidate = f"{backend}:{','.join(filter(None, (options, f'name={name}', f'python={make(environment)}')))}"
    reference = "onnx" if backend == "onnxrt" else "onnxrt"
    return [str(source), "-b", candidate, "-b", reference, *issue.words]


def _fails(words: list[str], given: list[str], folder: Path) -> bool:
    """Return whether `run` does not pass."""
    return run_words(["run", *words, *given], folder / "run.json").exit != 0


def _packages(environment: Environment) -> str:
    return " ".join(environment.packages)
