"""Calls of `polycmp`, each in a process of its own: whatever happens to it, the server goes on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from polycmp.errors import FileError, UsageError
from polycmp.options import parse_json
from polycmp.process import code_words
from polycmp.terminal import shorten
from polycmp_mcp.child import ASKED, WRITES
from polycmp_mcp.trust import Trust, stamps

if TYPE_CHECKING:
    from anyio.abc import Process

#: Characters of a command's messages that an answer has.
_SAID = 4000
#: Characters of a call, and of a word of it in an error.
_LONGEST, _SHOWN = 100_000, 100


class NoAnswerError(Exception):
    """A command that ended without a report; the text is what it said."""


class Caller:
    """Makes calls with the rights that the server was started with, and knows what files they left.

    Args:
        scripts: Whether calls may name code to run.
        folders: Folders below which calls may write; none for each call's own.
    """

    def __init__(self, scripts: bool = False, folders: Sequence[str] = ()) -> None:
        home = str(Path.cwd())
        self._trust = Trust(scripts, tuple(str(Path(folder).resolve()) for folder in folders), home)
        self._written_files: dict[str, tuple[int, int]] = {}

    async def report_of(self, words: Sequence[str], folder: str, seconds: float) -> dict[str, Any]:
        """Run a command line and return its exit status and the document of its JSON report.

        Args:
            words: The words after `polycmp`, without reports.
            folder: Folder in which it is started; empty for that of the server.
            seconds: Seconds after which it is ended.

        Raises:
            FileError: There is no such folder.
            UsageError: No process can be given such words.
            NoAnswerError: It was refused, ended without a report, or took longer.
        """
        _refuse_strange([*words, folder])
        with tempfile.TemporaryDirectory(prefix="polycmp-mcp-") as place:
            report = Path(place, "report.json")
            trust = replace(self._trust, own=(str(report),), left=self._written_files)
            # What follows `--` is a command of its own.
            at = words.index("--") if "--" in words else len(words)
            asked = [*words[:at], "--report", str(report), *words[at:]]
            try:
                done = await _run(asked, folder, seconds, Path(place), trust)
            finally:
                self._written_files.update(_files_of(Path(place, WRITES)))
            if not report.is_file():
                raise NoAnswerError(done.text)
            document = parse_json(report.read_text(encoding="utf-8"))
        return {"exit_status": done.status, **document, "command": shlex.join(["polycmp", *words])}


def _refuse_strange(words: Sequence[str]) -> None:
    """Refuse words that no command line can have, or that nobody would type.

    Raises:
        UsageError: There are some.
    """
    for word in words:
        if "\0" in word:
            raise UsageError(f"{shorten(word, _SHOWN)!r} has a NUL character", hint="leave it out")
    if (size := sum(map(len, words)) + len(words)) > _LONGEST:
        raise UsageError(
            f"the call has {size} characters", why=f"the longest that is taken has {_LONGEST}", hint="ask for less"
        )


def _files_of(writes: Path) -> dict[str, tuple[int, int]]:
    """Return the files that a call has left, with time and size."""
    return stamps(parse_json(writes.read_text(encoding="utf-8"))) if writes.is_file() else {}


async def text_of(words: Sequence[str], seconds: float = 60.0) -> str:
    """Run a command line of the server's own and return what it prints; errors as in `Caller.report_of`."""
    with tempfile.TemporaryDirectory(prefix="polycmp-mcp-") as place:
        done = await _run(words, "", seconds, Path(place))
    if done.status != 0:
        raise NoAnswerError(done.text)
    return done.printed


@dataclass(frozen=True)
class _Done:
    """Ended process: its exit status, and the text on its standard streams."""

    status: int
    printed: str
    errors: str

    @property
    def text(self) -> str:
        """The text of both streams, shortened, or a sentence where there is none."""
        text = "\n".join(filter(None, (self.printed.strip(), self.errors.strip())))
        return shorten(text, _SAID) or f"polycmp ended with status {self.status} and said nothing"


async def _run(words: Sequence[str], folder: str, seconds: float, place: Path, trust: Trust | None = None) -> _Done:
    if folder and not os.path.isdir(folder):  # noqa: PTH112 - pathlib raises for a name that is too long
        raise FileError(f"{shorten(folder, _SHOWN)}: no such folder", hint="give one that exists, with its whole path")
    asked = {"words": list(words), "trust": None if trust is None else asdict(trust)}
    (place / ASKED).write_text(json.dumps(asked), encoding="utf-8")
    printed, errors = place / "out.txt", place / "err.txt"
    with printed.open("wb") as out, errors.open("wb") as err:
        process = await anyio.open_process(
            [*code_words("from polycmp_mcp.child import main; main()"), str(os.getpid()), str(place)],
            cwd=folder or None,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            with anyio.fail_after(seconds):
                status = await process.wait()
        except TimeoutError:
            raise NoAnswerError(f"it took longer than {seconds:g} s and was ended; give more seconds") from None
        finally:
            _end(process)
            with anyio.CancelScope(shield=True):
                await process.aclose()
    return _Done(status, *(path.read_text(encoding="utf-8", errors="replace") for path in (printed, errors)))


def _end(process: Process) -> None:
    """End a process that still runs, and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
