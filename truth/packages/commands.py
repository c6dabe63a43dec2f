"""The commands that each model goes through, in processes of their own, and what is true beside each."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from truth.converters.measuring import RUINED
from truth.judge import is_contrary
from truth.packages.fetching import Shipped
from truth.scenario import UNDECIDED

#: What no command may say, whatever the model: a trace, and words for a fault of our own.
#: Verdicts of all commands, by the heading of what they say.
_WORDS = {
    "PASSED": "passed", "NO FAULT": "passed", "FAILED": "failed", "FOUND": "failed", "UNDECIDED": UNDECIDED,
}  # fmt: skip
NEVER = re.compile(
    r"^Traceback \(most recent|this is a fault of polycmp itself|"
    r"^(?!\[I\]).*\b(Key|Attribute|Index|Name|Syntax|Type)Error\b",
    re.MULTILINE,
)
#: Errors of outputs, as a share of their range, of which a healthy file has less: in float16, and in any other type.
_FINE_IN_HALF, _FINE = 2e-2, 1e-4
#: How a verdict begins, whatever its words: a list of them was behind the commands twice.
_VERDICT = re.compile(r"^([A-Z]{2,}( [A-Z]{2,})*: |polycmp: )")


@dataclass(frozen=True)
class Said:
    """What a command said.

    Attributes:
        model: The model, for tables.
        command: What was asked, for tables.
        words: The command line.
        status: The exit status; negative for a signal, 124 for the limit of time.
        sentence: The sentence that it ends with.
        truth: What the runtimes alone say.
        grade: `right`, `wrong`, `time`, or `open` where the truth does not decide.
        why: Why.
    """

    model: str
    command: str
    words: tuple[str, ...]
    status: int
    sentence: str
    truth: dict[str, Any] = field(default_factory=dict)
    grade: str = "open"
    why: str = ""


class Model:
    """One model on its way through the commands.

    Args:
        shipped: The model.
        folder: Where to work.
        limit: Seconds that a command may take.
    """

    def __init__(self, shipped: Shipped, folder: Path, limit: float) -> None:
        self._shipped, self._limit = shipped, limit
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._inputs = folder / "inputs.npz"

    def all(self) -> Iterator[Said]:
        """Yield what each command said."""
        path = str(self._shipped.path)
        yield self._ask("inspect model", ["inspect", "model", path])
        if path.endswith((".tflite", ".pb")):
            yield self._ask("run", ["run", path, "-b", "tf"])
            return
        if path.endswith(".jit"):
            yield self._ask("run", ["run", path, "-b", "torch"])
            return
        yield self._ask("check lint", ["check", "lint", path])
        yield from self._own(path)
        yield from self._converted(path)

    def _own(self, path: str) -> Iterator[Said]:
        """Yield what is said of the model itself on two backends."""
        alone = self._ask(
            "run alone", ["run", path, "-b", "onnxrt", "--save-inputs", str(self._folder / "inputs.json")]
        )
        yield alone
        self._keep_inputs()
        truth = self._compared(path, path, "onnx,openvino")
        within = self._facts("inside", path, str(self._inputs)) if self._inputs.exists() else {"error": "no inputs"}
        both = ["-b", "onnxrt", "-b", "onnx", *self._given()]
        yield self._ask("run", ["run", path, *both], truth)
        yield self._ask("run --mark-all", ["run", path, *both, "--mark-all"], within)
        yield self._ask("locate", ["locate", path, *both], truth)
        yield self._ask("invariants", ["invariants", path, "-b", "onnxrt"])

    def _converted(self, path: str) -> Iterator[Said]:
        """Yield what is said of what tools make of it, against the model."""
        half, folded = str(self._folder / "half.onnx"), str(self._folder / "folded.onnx")
        made = self._ask("convert --fp-to-fp16", ["convert", path, "--fp-to-fp16", "-o", half])
        yield made
        if made.status == 0:
            yield from self._against("fp16", half, path)
        made = self._ask("surgeon sanitize", ["surgeon", "sanitize", path, "--fold-constants", "-o", folded])
        yield made
        if made.status == 0:
            yield from self._against("sanitized", folded, path)
        if not self._inputs.exists():
            return
        for how in ("static", "dynamic"):
            target = str(self._folder / f"{how}.onnx")
            written = self._facts("quantise", how, path, target, str(self._inputs))
            if "written" in written:
                yield from self._against(f"int8 {how}", target, path)

    def _against(self, what: str, candidate: str, reference: str) -> Iterator[Said]:
        truth = self._compared(candidate, reference, "onnxruntime")
        sides = [candidate, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={reference}", *self._given()]
        yield self._ask(f"run {what}", ["run", *sides], truth)
        yield self._ask(f"locate {what}", ["locate", *sides], truth)

    def _given(self) -> list[str]:
        return ["--load-inputs", str(self._inputs)] if self._inputs.exists() else []

    def _keep_inputs(self) -> None:
        """Write the inputs that a run chose as plain arrays, which runtimes and polycmp read alike."""
        saved = self._folder / "inputs.json"
        if not saved.exists():
            return
        script = (
            "import sys, numpy as np; from polycmp.json import load_json; "
            "np.savez(sys.argv[2], **load_json(sys.argv[1])[0])"
        )
        _run([sys.executable, "-c", script, str(saved), str(self._inputs)], self._limit, self._folder)

    def _compared(self, candidate: str, reference: str, backend: str) -> dict[str, Any]:
        if not self._inputs.exists():
            return {"error": "no inputs"}
        return self._facts("compare", candidate, reference, str(self._inputs), backend)

    def _facts(self, *words: str) -> dict[str, Any]:
        status, out = _run([sys.executable, "-m", "truth.packages.facts", *words], self._limit * 2, self._folder)
        lines = [line for line in out.splitlines() if line.startswith("{")]
        return dict(json.loads(lines[-1])) if lines else {"error": f"the runtime ended with {status}"}

    def _ask(self, command: str, words: list[str], truth: dict[str, Any] | None = None) -> Said:
        begin = time.monotonic()
        status, out = _run([sys.executable, "-m", "polycmp", *words], self._limit, self._folder)
        print(f"  {time.monotonic() - begin:5.1f} s  {status:4d}  {command}", flush=True)
        written(self._folder, command).write_text(out)
        said = Said(self._shipped.name, command, tuple(words), status, sentence_of(out), truth or {})
        return graded(said, out)


def written(folder: Path, command: str) -> Path:
    """Return the file with all that a command said."""
    return folder / f"{command.replace(' ', '_')}.txt"


def graded(said: Said, out: str) -> Said:
    """Return what was said with whether it is right, as far as what is known of the files decides that.

    Args:
        said: What was said.
        out: All that the command wrote.
    """
    grade, why = _grade(said, out)
    return Said(said.model, said.command, said.words, said.status, said.sentence, said.truth, grade, why)


def graded_together(said: Sequence[Said]) -> list[Said]:
    """Return what was said of a model, with what contradicts another command graded as wrong.

    Args:
        said: What each command said, graded by itself.
    """
    by_command = {item.command: item for item in said}
    contrary = {name: _contrary(item, by_command) for name, item in by_command.items()}
    return [replace(item, grade="wrong", why=why) if (why := contrary[item.command]) else item for item in said]


def _contrary(item: Said, by_command: Mapping[str, Said]) -> str:
    """Return what another command says that cannot be true beside an answer; empty if nothing is.

    `run --mark-all` must not fail what `run` and `locate` pass.
    """
    if item.command == "run --mark-all" and item.status == 1:
        others = [by_command[name].status for name in ("run", "locate") if name in by_command]
        return "`run` and `locate` pass it" if others == [0, 0] else ""
    if not item.command.startswith("locate"):
        return ""
    run, located = _word(by_command.get(f"run{item.command.removeprefix('locate')}")), _word(item)
    return f"`run` says {run}" if is_contrary(run, located, item.sentence) else ""


def _word(said: Said | None) -> str:
    """Return a command's verdict in one word, as `truth.agreeing.word_of` does; empty if it has none."""
    heading = said.sentence.partition(":")[0] if said is not None else ""
    return _WORDS.get(heading, "")


def _grade(said: Said, out: str) -> tuple[str, str]:
    truth, command = said.truth, said.command
    never = NEVER.search(out)
    if said.status == 124:
        return "time", ""
    if said.status < 0 or said.status > 3:
        loads = "error" not in truth or "ended with" not in truth["error"]
        return ("wrong", f"ended by signal {-said.status}") if loads else ("open", "the runtime crashes on it")
    if never is not None:
        return "wrong", f"says {never.group()}"
    if not truth:
        return ("right", "") if said.status in {0, 1} or (said.status == 3 and "next:" in out) else ("open", "")
    if "error" in truth:
        refused = said.status == 3
        return ("right", "cannot be run") if refused else ("open", truth["error"])
    if command == "run --mark-all":
        return _graded_inside(said)
    worst, passed = truth["worst"], said.status == 0
    if worst is None or not math.isfinite(worst):
        return "open", "no output to compare"
    if truth.get("backend") == "openvino" and truth["beyond"]:
        return "open", "two runtimes do not agree"
    if "BLIND" in said.sentence:
        return "open", f"outputs {worst:.2g} of the range apart"
    if not passed and truth.get("first"):
        return "right", "the evaluator that it is compared with differs, two runtimes agree"
    if "int8" in command:
        return _graded_int8(said)
    if truth["missing"]:
        return ("wrong", f"{truth['missing']} outputs are missing") if passed else ("right", "")
    is_fine = worst < (_FINE_IN_HALF if "fp16" in command else _FINE)
    if said.status == 1 and is_fine:
        return "wrong", f"accused, with outputs {worst:.2g} of the range apart"
    if passed and worst > RUINED:
        return "wrong", f"passed, with outputs {worst:.2g} of the range apart"
    return ("right", "") if passed == is_fine else ("open", f"outputs {worst:.2g} of the range apart")


def _graded_inside(said: Said) -> tuple[str, str]:
    """Grade what is said of all tensors by those that two runtimes disagree about, each against 1e-5."""
    beyond, clearly = said.truth["beyond"], said.truth["clearly"]
    if said.status == 1 and not beyond:
        return "wrong", "no tensor is outside 1e-5"
    return ("open", f"{beyond} tensors are outside 1e-5") if said.status > 1 or clearly else ("right", "")


def _graded_int8(said: Said) -> tuple[str, str]:
    """Grade what is said of a file that a quantiser wrote, in which nothing was changed: no operator of it is wrong.

    A file that the quantiser ruined, as its outputs or its numbers show, may be accused, or left undecided.
    """
    lost, defect = said.truth["noise"], said.truth["defect"]
    open_verdict = said.sentence.startswith(("UNDECIDED", "BLIND"))
    if said.status == 0 or open_verdict:
        ruined = not lost <= RUINED and not open_verdict
        return ("open", f"passed, with noise of {lost:.2g} of the signal") if ruined else ("right", "")
    if defect:
        return "right", f"the quantiser ruined it: {defect}"
    if not lost <= RUINED:
        return "open", f"noise of {lost:.2g} of the signal"
    return "wrong", f"nothing was changed in it, and its noise is {lost:.2g} of the signal"


def sentence_of(out: str) -> str:
    """Return the sentence that a command ends with: its last verdict, else its last line.

    Args:
        out: All that the command wrote.
    """
    lines = out.splitlines()
    places = [index for index, line in enumerate(lines) if _VERDICT.match(line)]
    if not places:
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    begin = places[-1]
    end = next((at for at in range(begin + 1, len(lines)) if not lines[at].startswith("  ")), len(lines))
    return " ".join(" ".join(lines[begin:end]).split())


def _run(words: list[str], limit: float, folder: Path) -> tuple[int, str]:
    """Return the exit status and all that a process wrote; 124 if it was ended because of the time."""
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "120", "NO_COLOR": "1"}
    process = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        start_new_session=True, errors="replace",
    )  # fmt: skip
    try:
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        return 124, out
    return process.returncode, out
