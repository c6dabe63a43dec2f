"""Judges one file that a converter made, and the same file with planted faults, beside what it was made of."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import onnx
from numpy.typing import NDArray

from truth.converters.faults import faults_of
from truth.converters.measuring import LEAST, RUINED, born, defect, is_visible, noise, outputs
from truth.judge import run_words

GOOD, ACCUSED, NO_ANSWER, RUINED_FILE, NOT_MADE = "good", "accused", "no answer", "ruined", "not made"
NAMED, ELSEWHERE, MISSED = "named", "named elsewhere", "missed"
#: A file of whose outputs more than half is noise, and `run --tolerance auto` passes it.
PASSED = "passed in ruins"
#: How what comes next is called where polycmp takes no part in it.
ALONE = "the runtime alone"
WRONG = (ACCUSED, NO_ANSWER, MISSED, ELSEWHERE, PASSED)
Key = TypeVar("Key")
#: What `run` says with exit status 3 where it answers that nothing can be said.
_OPEN = ("UNDECIDED", "BLIND")


@dataclass
class Count:
    """What became of files.

    Attributes:
        grades: How many files, or faults, ended how.
        told: What is not right, in words.
    """

    grades: dict[str, int] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def add(self, grade: str, what: str = "") -> None:
        """Count one."""
        self.grades[grade] = self.grades.get(grade, 0) + 1
        if what:
            self.told.append(f"{grade}: {what}")

    def join(self, other: Count) -> None:
        """Count all of another."""
        for grade, number in other.grades.items():
            self.grades[grade] = self.grades.get(grade, 0) + number
        self.told += other.told


@dataclass(frozen=True)
class Case:
    """A file that was made, and what it is held against.

    Attributes:
        what: Who made it of what.
        made: The file.
        source: The file that it was made of, or that another exporter made of the same network.
        feed: Inputs in the order in which the files take them.
        golden: What the framework computes of these, in order; None where the source's outputs are the truth.
        every: Whether each fault is planted, or only the first one that shows.
        least: The share of the signal that a fault has to make.
        apart: Whether backends run in processes of their own, as `polycmp` has them go on after a crash.
        changed: What the tool did to the model that is no rounding; the file is none to call good then.
    """

    what: str
    made: Path
    source: Path
    feed: Sequence[NDArray[Any]]
    golden: Sequence[NDArray[Any]] | None = None
    every: bool = True
    least: float = LEAST
    apart: bool = False
    changed: str = ""


def _fed(file: Path, feed: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return inputs by the names that a file gives them."""
    graph = onnx.load(file, load_external_data=False).graph
    held = {item.name for item in graph.initializer}
    return dict(zip((item.name for item in graph.input if item.name not in held), feed, strict=False))


def loads(file: Path) -> bool:
    """Return whether ONNX Runtime takes a file, which is asked in a process of its own: some end it."""
    code = "import sys, onnxruntime as o; o.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])"
    return (
        file.exists()
        and not subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, check=False).returncode
    )


def _expected(case: Case, made: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the right outputs by the made file's names, and the source's name for each."""
    theirs = outputs(case.source, _fed(case.source, case.feed))
    other = {name: name for name in made} if set(made) == set(theirs) else _counterparts(made, theirs)
    if case.golden is None:
        return {name: theirs[of] for name, of in other.items()}, other
    right = dict(enumerate(case.golden))
    return {name: right[of] for name, of in _counterparts(made, right).items()}, other


def _counterparts(mine: Mapping[str, NDArray[Any]], theirs: Mapping[Key, NDArray[Any]]) -> dict[str, Key]:
    """Return the key of each output in others that are named differently: in order, as far as shapes allow that.

    LiteRT has a model's outputs in an order of its own.
    """
    left = list(theirs)
    found: dict[str, Key] = {}
    for name, array in mine.items():
        found[name] = next((other for other in left if theirs[other].shape == array.shape), left[0])
        left.remove(found[name])
    return found


#: Is told what is known so far, and what comes next.
Tell = Callable[[Count, str], None]


class _Asked:
    """What polycmp says of one file in three commands, and about a file with a fault.

    Args:
        case: The case.
        scratch: A folder for what commands read and write.
        expected: The right outputs.
        other: The source's name of each output.
        before: Is told the command before it is run.
    """

    def __init__(
        self,
        case: Case,
        scratch: Path,
        expected: Mapping[str, NDArray[Any]],
        other: Mapping[str, str],
        before: Callable[[str], None],
    ) -> None:
        self._case, self._scratch, self._expected, self._before = case, scratch, expected, before
        self._inputs = scratch / "x.npz"
        np.savez(self._inputs, allow_pickle=False, **_fed(case.made, case.feed))
        named = [f"{own}={their}" for own, their in other.items() if own != their]
        self._more = ["--map-output", *named] if named else []
        self._more += ["--use-subprocess"] if case.apart else []

    def _pair(self, command: str, made: Path, *more: str) -> Any:
        self._before(" ".join([command, *more]))
        words = [
            command, str(made), "-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={self._case.source}",
            "--load-inputs", str(self._inputs), *self._more, *more,
        ]  # fmt: skip
        return run_words(words, self._scratch / "said.json")

    def locate(self, made: Path) -> tuple[int, str, frozenset[str]]:
        """Return the exit status, the sentence, and the operators that are named.

        Where nothing between operators has a counterpart the sentence says that one of several is wrong.
        """
        said = self._pair("locate", made)
        sentence = _short(said.document.get("sentence") or said.text[-300:])
        operator = said.document.get("operator") or {}
        several = (label.partition("'")[2].removesuffix("'") for label in operator.get("one_of") or ())
        return said.exit, sentence, frozenset(several) or frozenset([operator.get("name", "")])

    def run(self, made: Path) -> tuple[int, str]:
        """Return what `run --tolerance auto` says beside what is known to be right."""
        if self._case.golden is None:
            said = self._pair("run", made, "--tolerance", "auto")
        else:
            saved = self._scratch / "golden.npz"
            np.savez(saved, allow_pickle=False, **dict(self._expected))
            words = ["run", str(made), "-b", "onnxrt", "--load-inputs", str(self._inputs), "--load-outputs", str(saved)]
            words += ["--use-subprocess"] if self._case.apart else []
            self._before("run --tolerance auto")
            said = run_words([*words, "--tolerance", "auto"], self._scratch / "said.json")
        return said.exit, _end(said.text)

    def mark_all(self, made: Path) -> tuple[int, str]:
        """Return what `run --mark-all` says, which judges tensors inside by the coarsest type on their way.

        Masks hold infinities on both sides, which users have to allow.
        """
        said = self._pair("run", made, "--mark-all", "--infinities-compare-equal")
        return said.exit, _end(said.text)


def _end(text: str) -> str:
    """Return the end of what a command says, without the commands to type next, which hide a verdict."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("next: ", "wrote "))]
    return _short("\n".join(lines)[-300:])


def _short(text: str) -> str:
    return " ".join(text.split())


def _is_open(status: int, text: str) -> bool:
    return status == 3 and any(word in text.upper() for word in _OPEN)


def judge(case: Case, tell: Tell, *, faults: bool) -> Count:
    """Return what became of a file, and of the same with faults.

    Args:
        case: The file.
        tell: Is told what is known before each step that runs native code.
        faults: Whether to plant any.
    """
    count = Count()
    if not loads(case.made):
        count.add(NOT_MADE)
        return count
    tell(count, ALONE)
    try:
        made = outputs(case.made, _fed(case.made, case.feed))
        expected, other = _expected(case, made)
        apart = noise(made, expected)
        model = onnx.load(case.made)
    except Exception:  # noqa: BLE001  a file that the runtime cannot load is none to judge
        count.add(NOT_MADE)
        return count
    wrong = case.changed or defect(model) or _born(case)
    with tempfile.TemporaryDirectory() as folder:
        asked = _Asked(case, Path(folder), expected, other, lambda command: tell(count, command))
        status, sentence, _ = asked.locate(case.made)
        told = [("locate", status, sentence)]
        if apart <= RUINED and not wrong:
            told += [("run --tolerance auto", *asked.run(case.made)), ("run --mark-all", *asked.mark_all(case.made))]
        bad = [(command, said, text) for command, said, text in told if said and not _is_open(said, text)]
        if apart > RUINED:
            ran, text = asked.run(case.made)
            count.add(PASSED if ran == 0 else RUINED_FILE, "" if ran else f"{case.what} (noise {apart:.2g}): {text}")
        elif wrong:
            count.add(RUINED_FILE)
        elif not bad:
            count.add(GOOD)
        else:
            grade = ACCUSED if any(said == 1 for _, said, _ in bad) else NO_ANSWER
            words = "; ".join(f"{command} ({said}): {text}" for command, said, text in bad)
            count.add(grade, f"{case.what} (noise {apart:.2g}): {words}")
        if faults and status != 1 and not wrong and apart <= RUINED:
            for fault in _planted(case, model, Path(folder), expected, apart, lambda: tell(count, ALONE)):
                count.join(_blamed(case, asked, fault, apart))
    return count


def _born(case: Case) -> str:
    try:
        return born(case.made, _fed(case.made, case.feed), case.source, _fed(case.source, case.feed))
    except Exception:  # noqa: BLE001  a tensor that the runtime does not show
        return ""


class _Planted(NamedTuple):
    """A file with a fault: what was done, the file, its noise, and the operators of which any is a right answer."""

    name: str
    file: Path
    seen: float
    named: frozenset[str]


def _planted(
    case: Case,
    model: onnx.ModelProto,
    folder: Path,
    expected: Mapping[str, NDArray[Any]],
    apart: float,
    before: Callable[[], None],
) -> Iterator[_Planted]:
    """Yield files with a fault that shows in the outputs; each takes the place of the one before."""
    for fault in faults_of(model):
        before()
        spoilt = folder / "spoilt.onnx"
        onnx.save(fault.model, spoilt)
        try:
            seen = noise(outputs(spoilt, _fed(spoilt, case.feed)), expected)
        except Exception:  # noqa: BLE001  the runtime refuses the file
            continue
        if is_visible(seen, apart, case.least):
            yield _Planted(fault.name, spoilt, seen, fault.named)
            if not case.every:
                return


def _blamed(case: Case, asked: _Asked, fault: _Planted, apart: float) -> Count:
    """Return whether a fault was named, and not passed over by `run`."""
    status, sentence, operators = asked.locate(fault.file)
    grade = MISSED if status != 1 else NAMED if operators & fault.named else ELSEWHERE
    ran, text = asked.run(fault.file)
    if ran == 0:
        grade, sentence = MISSED, f"run --tolerance auto: {text}"
    count = Count()
    said = f"{case.what}, {fault.name} (noise {fault.seen:.2g} instead of {apart:.2g}): {sentence}"
    count.add(grade, "" if grade == NAMED else f"{said} [{', '.join(sorted(fault.named))}]")
    return count
