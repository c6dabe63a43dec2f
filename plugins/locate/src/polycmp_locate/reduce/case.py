"""Writing what a search ended with: models, and a folder with a script that shows the fault."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, FileError, describe_exception
from polycmp.files import atomic_write, to_bytes
from polycmp.loader import Loader
from polycmp.model import Model
from polycmp.plan import ComparePlan, DataPlan, FilesPlan, Plan
from polycmp.plan.build import without_written_files
from polycmp.plan.text import to_words
from polycmp.results.files import InputsWriter, OutputsWriter
from polycmp_locate.reduce.judging import BackendJudge
from polycmp_locate.reduce.parts import Part
from polycmp_locate.repro import absolute, anywhere

if TYPE_CHECKING:
    from polycmp.plugins import Registry

INPUTS, EXPECTED, SCRIPT = "inputs.npz", "expected.npz", "run.sh"
_REMAKE = f"# {EXPECTED} is what this makes: "


@dataclass(frozen=True)
class Case:
    """A folder that shows a fault by itself.

    Attributes:
        words: The command to run in the folder, without the program's name where that is polycmp.
        status: The exit status with which it ends if the fault is there; None for any but 0.
        sentence: What is wrong, in one sentence.
        origin: The command that found it; empty if that is not to be told.
        remake: The words of the command that makes the expected outputs anew; none if nothing does.
    """

    words: Sequence[str]
    status: int | None
    sentence: str
    origin: str
    remake: Sequence[str] = ()

    @classmethod
    def read(cls, folder: Path) -> Case:
        """Return the case in a folder that this class or `polycmp locate` has written.

        Raises:
            FileError: There is none.
        """
        hint = "polycmp debug reduce or polycmp locate writes one with --save-repro DIR"
        try:
            script = (folder / SCRIPT).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise FileError("holds no case", whose=str(folder), why=describe_exception(error), hint=hint) from error
        command = re.search(r"^exec (.+)$", script, re.MULTILINE)
        status = re.search(r"^# Exit status (\d+)", script, re.MULTILINE)
        remake = re.search(rf"^{re.escape(_REMAKE)}(.+)$", script, re.MULTILINE)
        if command is None:
            raise FileError(f"{SCRIPT} runs no command", whose=str(folder), hint=hint)
        readme = folder / "README.md"
        text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
        sentence = next((line.rstrip(".") for line in text.splitlines()[1:] if line.strip()), "")
        words = shlex.split(remake.group(1)) if remake else []
        return cls(shlex.split(command.group(1)), int(status.group(1)) if status else None, sentence, "", words)

    def write(self, folder: Path) -> None:
        """Write the script and the page that says what it is.

        Raises:
            FileError: The folder cannot be written.
        """
        meaning = "Any exit status but 0" if self.status is None else f"Exit status {self.status}"
        lines = ["#!/bin/sh", f"# {meaning}: the fault is there."]
        lines += [remade_by(self.remake)] if self.remake else []
        lines += ['cd "$(dirname "$0")" || exit 3', f"exec {shlex.join(self.words)}", ""]
        with atomic_write(str(folder / SCRIPT)) as file:
            file.write(to_bytes("\n".join(lines)))
        found = f"Found by `{self.origin}`. " if self.origin else ""
        page = f"# A reduced model\n\n{self.sentence}.\n\n{found}{meaning} means: it is there.\n"
        with atomic_write(str(folder / "README.md")) as file:
            file.write(to_bytes(f"{page}\n    sh run.sh\n"))

    def shows_the_fault(self, folder: Path, programs: str = "") -> bool:
        """Run the script's command in the folder; return whether it ends as the script says.

        Args:
            folder: The folder.
            programs: Where to look for the program first; empty for the usual places only.
        """
        status = run_in(folder, self.words, programs)
        return status != 0 if self.status is None else status == self.status


def run_in(folder: Path, words: Sequence[str], programs: str = "") -> int:
    """Run a command in a folder; return its exit status. Its program is looked for in `programs` first."""
    program = [sys.executable, "-m", "polycmp"]
    if words[0] != "polycmp":
        places = os.pathsep.join(filter(None, (programs, os.environ.get("PATH", ""))))
        program = [shutil.which(words[0], path=places) or words[0]]
    paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return subprocess.run(
        [*program, *words[1:]],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(absolute, paths))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    ).returncode


def remade_by(words: Sequence[str]) -> str:
    """Return the line of a script that says how the expected outputs are made."""
    return f"{_REMAKE}{shlex.join(words)}"


def make_folder(path: str) -> Path:
    """Make a folder for a case.

    Raises:
        FileError: It cannot be made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}", why=describe_exception(error)) from error
    return folder


def write_model(model: Model, loader: Loader[Any], path: str) -> None:
    """Write a part of a model.

    Raises:
        FileError: The file cannot be written.
        ModelError: Models of this kind cannot be written.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot write {path}", why=describe_exception(error)) from error
    model.save(loader, path)


def save_case(folder: str, plan: Plan, registry: Registry, judge: BackendJudge, part: Part, model: Model) -> bool:
    """Write a folder with the failing part, its inputs, what the reference makes of them, and a script; run it.

    Args:
        folder: Where it goes.
        plan: The search's plan.
        registry: The plugins.
        judge: Knows the tensors.
        part: The part.
        model: The candidate's model.

    Returns:
        Whether the script showed the fault.

    Raises:
        FileError: Something cannot be written.
    """
    place, failure = make_folder(folder), judge.failure
    tensors, expected = judge.tensors(part.inputs) or {}, judge.expected(part)
    name = f"model{Path(model.path).suffix}"
    write_model(model, failure.candidate.part(tensors, part.outputs), str(place / name))
    _write_tensors(place, tensors, failure.reference.label, expected)
    words = _words(plan, registry, judge, part, name)
    status = EXIT_FAILED if failure.error else EXIT_DIFFERENT
    remake = remaking(plan, registry, failure.reference.label, name)
    case = Case(["polycmp", *words], status, failure.sentence, plan.command, remake)
    case.write(place)
    return case.shows_the_fault(place)


def remaking(plan: Plan, registry: Registry, label: str, model: str) -> list[str]:
    """Return the words that make the expected outputs of a case; none if no backend made them.

    Args:
        plan: The search's plan.
        registry: The plugins.
        label: The reference.
        model: The case's model file.
    """
    backend = next((item for item in plan.backends if item.label == label), None)
    if backend is None:
        return []
    alone = replace(
        plan,
        model=model,
        loader_options={},
        backends=(anywhere(replace(backend, model="")),),
        data=DataPlan(files=(INPUTS,)),
        compare=ComparePlan(),
        files=FilesPlan(save_outputs=EXPECTED),
    )
    kept = replace(without_written_files(alone), files=alone.files)
    return ["polycmp", *to_words(kept, registry)]


def _write_tensors(place: Path, tensors: Mapping[str, Any], label: str, expected: Mapping[str, Any]) -> None:
    with InputsWriter(str(place / INPUTS)) as writer:
        writer.add(tensors)
    with OutputsWriter(str(place / EXPECTED)) as outputs:
        outputs.add(label, expected, 0.0)


def _words(plan: Plan, registry: Registry, judge: BackendJudge, part: Part, model: str) -> list[str]:
    """Return the words of the command that repeats the fault in the folder."""
    label = judge.failure.candidate.label
    backend = next(item for item in plan.backends if item.label == label)
    repeated = replace(
        plan,
        model=model,
        loader_options={},
        backends=(anywhere(replace(backend, model="")),),
        data=DataPlan(files=(INPUTS,)),
        compare=judge.comparison(part.outputs),
        files=FilesPlan(load_outputs=(EXPECTED,)),
    )
    return to_words(without_written_files(repeated), registry)
