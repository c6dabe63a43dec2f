"""A folder with a script that shows a fault."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polycmp.errors import FileError, describe_exception
from polycmp.files import atomic_write, to_bytes
from polycmp.process import module_words
from polycmp_locate.reduce.writing import absolute

INPUTS, EXPECTED, SCRIPT = "inputs.npz", "expected.npz", "run.sh"
_REMAKE_COMMENT = f"# {EXPECTED} is what this makes: "


@dataclass(frozen=True)
class Reproduction:
    """A folder that shows a fault by itself.

    Attributes:
        words: The command to run in the folder, without the program's name where that is polycmp.
        status: The exit status with which it ends if the fault is there; None for any but 0.
        sentence: Description of the fault, in one sentence.
        origin: The command that found it; empty if that is not to be told.
        remake: The words of the command that makes the expected outputs anew; none if nothing does.
        title: Heading of the README.
        content: What the files hold, for the README; empty for what the exit status means.
    """

    words: Sequence[str]
    status: int | None
    sentence: str
    origin: str
    remake: Sequence[str] = ()
    title: str = "A reduced model"
    content: str = ""

    @classmethod
    def read(cls, folder: Path) -> Reproduction:
        """Read the case in a folder that this class or `polycmp locate` has written.

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
        remake = re.search(rf"^{re.escape(_REMAKE_COMMENT)}(.+)$", script, re.MULTILINE)
        if command is None:
            raise FileError(f"{SCRIPT} runs no command", whose=str(folder), hint=hint)
        readme = folder / "README.md"
        text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
        sentence = next((line.rstrip(".") for line in text.splitlines()[1:] if line.strip()), "")
        words = shlex.split(remake.group(1)) if remake else []
        return cls(shlex.split(command.group(1)), int(status.group(1)) if status else None, sentence, "", words)

    def write(self, folder: Path) -> None:
        """Write the script and a README.

        Raises:
            FileError: The folder cannot be written.
        """
        meaning = "Any exit status but 0" if self.status is None else f"Exit status {self.status}"
        lines = ["#!/bin/sh", f"# {meaning}: the fault is there."]
        lines += [f"{_REMAKE_COMMENT}{shlex.join(self.remake)}"] if self.remake else []
        lines += ['cd "$(dirname "$0")" || exit 3', f"exec {shlex.join(self.words)}", ""]
        with atomic_write(str(folder / SCRIPT)) as file:
            file.write(to_bytes("\n".join(lines)))
        origin = f"Found by `{self.origin}`. " if self.origin else ""
        content = self.content or f"{meaning} means: it is there."
        page = f"# {self.title}\n\n{self.sentence}.\n\n{origin}{content}\n"
        with atomic_write(str(folder / "README.md")) as file:
            file.write(to_bytes(f"{page}\n    sh run.sh\n"))

    def shows_the_fault(self, folder: Path, programs: str = "") -> bool:
        """Run the script's command in the folder; return whether it ends as the script says.

        Args:
            folder: The folder.
            programs: Folder in which to look for the program first; empty for the usual places only.
        """
        status = run_in(folder, self.words, programs)
        return status != 0 if self.status is None else status == self.status


def run_in(folder: Path, words: Sequence[str], programs: str = "") -> int:
    """Run a command in a folder; return its exit status. Its program is looked for in `programs` first."""
    program = module_words("polycmp")
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
