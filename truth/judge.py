"""Runs scenarios in this process and says of each how right the sentence is."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import onnx

from truth.scenario import ILL, UNDECIDED, Scenario

#: The folder with the backends that exist for scenarios only.
BACKENDS = Path(__file__).parent / "backends"

RIGHT, SENTENCE = "right", "other sentence"
ELSEWHERE, ACCUSED, MISSED, FAILED = "named elsewhere", "false accusation", "missed", "no answer"
GRADES = (RIGHT, SENTENCE, ELSEWHERE, ACCUSED, MISSED, FAILED)
#: Verdicts of all commands, by exit status; another one is told by the report.
WORDS = {0: "passed", 1: "failed"}
#: What `locate` says where it names the tensor in which rounding became a decision, or digits were lost.
_NAMING = ("no operator is wrong; in ", ILL)


@dataclass(frozen=True)
class Said:
    """What polycmp said.

    Attributes:
        exit: The exit status.
        verdict: One of the verdicts of `locate`.
        sentence: The sentence.
        named: The operators that it accuses, by what they make.
        notes: What else it said.
        text: All that was printed.
        document: The JSON report.
        seconds: How long it took.
    """

    exit: int
    verdict: str = ""
    sentence: str = ""
    named: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    text: str = ""
    document: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Judged:
    """A scenario, what was said, and how right that is.

    Attributes:
        scenario: The scenario.
        said: What polycmp said.
        grade: One of `GRADES`.
        command: What repeats it.
    """

    scenario: Scenario
    said: Said
    grade: str
    command: str

    def in_few_words(self) -> Judged:
        """Return the same without what the table does not need, so that processes can hand it over."""
        bare = replace(self.scenario, net=None, changes=(), feeds=())
        return replace(self, scenario=bare, said=replace(self.said, document={}))


@contextlib.contextmanager
def backends_found(folder: Path = BACKENDS) -> Iterator[None]:
    """Let plugins be found in a folder, by default that with the backends of scenarios."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def word_of(said: Said) -> str:
    """Return the verdict of a command in one word of all commands; empty if it decided nothing else."""
    return WORDS.get(said.exit, UNDECIDED if UNDECIDED in {said.verdict, said.document.get("verdict")} else "")


def is_contrary(run: str, located: str, sentence: str) -> bool:
    """Return whether `run` and `locate` say of one pair what cannot both be true.

    Looking inside may accuse what the outputs do not show. Where they are undecided it may name the tensor in which
    rounding became a decision, or digits were lost.

    Args:
        run: The word of `run`, as `word_of` gives it.
        located: That of `locate`.
        sentence: What `locate` says.
    """
    if not run or not located or located in {run, "failed"}:
        return False
    return run != UNDECIDED or not any(words in sentence for words in _NAMING)


def command_of(words: Sequence[str]) -> str:
    """Return the command that does the same in a shell."""
    own = re.search(r"together:|race:|openvino", " ".join(words))
    path = f"PYTHONPATH={shlex.quote(str(BACKENDS))} " if own else ""
    return f"{path}polycmp {shlex.join(words)}"


def run_words(words: Sequence[str], report: Path) -> Said:
    """Run a `locate` command in this process and return what it said.

    Args:
        words: The command.
        report: Where its JSON report goes.
    """
    from polycmp.cli.main import main

    report.unlink(missing_ok=True)
    out, start = io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main([*words, "--report", str(report)])
    seconds = time.perf_counter() - start
    if not report.exists():
        return Said(status, text=out.getvalue(), seconds=seconds)
    document = json.loads(report.read_text())
    if words[0] != "locate":
        return Said(status, "equal" if status == 0 else "", text=out.getvalue(), document=document, seconds=seconds)
    return Said(
        status,
        document["words"],
        document["sentence"],
        named_in(document, Path(words[1])),
        tuple(document["notes"]),
        out.getvalue(),
        document,
        seconds,
    )


def named_in(document: dict[str, Any], model: Path) -> tuple[str, ...]:
    """Return what the operators make that a report accuses."""
    graph = onnx.load(model, load_external_data=False).graph
    quoted = set(re.findall(r"\w+ '([^']*)'", document["sentence"]))
    if document["words"] == "probing removes the fault":
        return tuple(node.output[0] for node in graph.node if node.name in quoted)
    tensor = document["origin"] or document["first_bad"]
    return tuple(node.output[0] for node in graph.node if tensor is not None and tensor in node.output)


def grade(scenario: Scenario, said: Said) -> str:
    """Return how right it is."""
    expect = scenario.expect
    if said.exit not in (0, 1) and said.exit != expect.exit:
        return FAILED
    if expect.exit == 0 and said.exit:
        return ACCUSED
    if expect.exit and not said.exit:
        return MISSED
    if expect.at and not set(expect.at) & set(said.named):
        return ELSEWHERE
    words = " ".join([said.sentence, *said.notes])
    right = said.verdict in expect.verdicts and all(word in words for word in expect.says)
    return RIGHT if right else SENTENCE


def judge(scenario: Scenario, folder: Path) -> Judged:
    """Write a scenario to a folder, run it, and judge what was said."""
    words = scenario.write(folder)
    with backends_found():
        said = run_words(words, folder / "found.json")
    return Judged(scenario, said, grade(scenario, said), command_of(words))
