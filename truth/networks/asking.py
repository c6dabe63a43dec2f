"""Asks three commands about a pair, in both orders of its files, and grades what they say."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from truth.judge import run_words
from truth.networks.making import ANY, CLEAN, EXACT, HIDDEN, NO_FAULT, Case

RIGHT, TOLD, NEEDLESS, ACCUSED, PASSED, NO_ANSWER, FREE = (
    "right", "passed, the cause in a note", "needlessly undecided", "accused", "false pass", "no answer", "any answer",
)  # fmt: skip
GRADES = (RIGHT, TOLD, NEEDLESS, ACCUSED, PASSED, NO_ANSWER, FREE)
_COMMANDS: Mapping[str, Sequence[str]] = {
    "run": ("run",),
    "run --mark-all": ("run", "--mark-all"),
    "locate": ("locate",),
}
#: Of so many pairs one is asked of all commands in the other order, too; `run` always is.
_ONE_IN = 3


@dataclass(frozen=True)
class Said:
    """What one command said.

    Attributes:
        exit: The exit status.
        sentence: Its last sentence, or that of `locate`.
        is_told: Whether a note names what differs between the files.
        named: The tensor that `locate` names.
        seconds: How long it took.
    """

    exit: int
    sentence: str
    is_told: bool = False
    named: str = ""
    seconds: float = 0.0


def ask(case: Case, folder: Path) -> dict[str, Said]:
    """Ask all commands about a pair.

    Args:
        case: The pair.
        folder: Where reports go.
    """
    said = {}
    for order in ("", ", other order"):
        for name, words in _COMMANDS.items():
            if order and name != "run" and zlib.crc32(case.key.encode()) % _ONE_IN:
                continue
            inputs = ["--load-inputs", str(Path(case.source).parent / "x.npz")]
            given = run_words([words[0], *_pair(case, other=bool(order)), *inputs, *words[1:]], folder / "found.json")
            lines = [line.strip() for line in given.text.splitlines()]
            verdicts = [line for line in lines if line.split(":")[0] in {"PASSED", "FAILED", "UNDECIDED", "BLIND"}]
            sentence = given.sentence or (verdicts or lines or [""])[-1]
            named = str(given.document.get("origin") or given.document.get("first_bad") or "")
            told = "another network:" in given.text or "cause:" in given.text
            said[name + order] = Said(given.exit, sentence, told, named, round(given.seconds, 2))
    return said


def _pair(case: Case, *, other: bool) -> list[str]:
    """Return the words of two files, or of one file with and without optimisations."""
    if case.tool == EXACT and case.fault == NO_FAULT:
        backends = ["onnxrt:name=optimised,threads=1", "onnxrt:name=plain,optimization=off,threads=1"]
        one, two = reversed(backends) if other else backends
        return [case.source, "-b", one, "-b", two]
    files = [case.source, case.made] if other else [case.made, case.source]
    return [*files, "-b", "onnxrt:threads=1"]


def ask_all(cases: Sequence[Case], folder: Path, *, only_kept: bool = False) -> Iterator[tuple[Case, dict[str, Said]]]:
    """Yield each pair with what was said, in a random order; what was asked before is not asked again.

    Args:
        cases: The pairs.
        folder: Where answers are kept.
        only_kept: Whether pairs that were not asked before are left out.
    """
    path = folder / "said.jsonl"
    kept = {}
    if path.exists():
        for line in path.read_text().splitlines():
            key, said = json.loads(line)
            kept[key] = {name: Said(**item) for name, item in said.items()}
    order = list(cases)
    random.Random(5).shuffle(order)
    for case in order:
        if case.key not in kept and only_kept:
            continue
        if case.key not in kept:
            kept[case.key] = ask(case, folder)
            with path.open("a") as file:
                file.write(json.dumps((case.key, {name: asdict(item) for name, item in kept[case.key].items()})) + "\n")
        yield case, kept[case.key]


def grade(case: Case, said: Said) -> str:
    """Return how right it is."""
    is_open = said.exit == 3 and said.sentence.startswith(("UNDECIDED", "BLIND"))
    if said.exit not in {0, 1} and not is_open and not (said.exit == 3 and "undecided" in said.sentence.lower()):
        return NO_ANSWER
    if case.truth == ANY or (case.truth == HIDDEN and said.exit == 3):
        return FREE
    if said.exit == 3:
        return NEEDLESS
    if case.truth == CLEAN:
        return ACCUSED if said.exit else RIGHT
    if case.truth == HIDDEN or said.exit:
        return RIGHT
    return TOLD if said.is_told else PASSED


def contradictions(case: Case, said: Mapping[str, Said]) -> list[str]:
    """Return in words which answers contradict each other.

    Looking inside may add the name of a tensor that is wrong and whose fault the outputs do not show.
    """
    status = {name: item.exit for name, item in said.items()}
    found = []
    if {status["run"], status["run, other order"]} == {0, 1}:
        found.append("run says otherwise in the other order")
    for order in ("", ", other order"):
        run, inside, located = (status.get(name + order) for name in _COMMANDS)
        if inside is None or located is None:
            continue
        if run == 1 and 0 in {inside, located}:
            found.append(f"run failed and {'--mark-all' if inside == 0 else 'locate'} passed{order}")
        if inside == 1 and located == 0:
            found.append(f"--mark-all failed and locate passed{order}")
        if 1 in {inside, located} and run == 0 and case.truth == CLEAN:
            found.append(f"run passed a clean file and {'--mark-all' if inside == 1 else 'locate'} failed{order}")
        if {run, inside} == {0, 3}:
            found.append(f"passed and open{order}")
    return found


def is_named(case: Case, said: Said) -> bool:
    """Return whether `locate` names the fault: its tensor, or an operator that reads or makes it."""
    return said.named in case.tensors or any(f"'{name}'" in said.sentence for name in case.tensors)
