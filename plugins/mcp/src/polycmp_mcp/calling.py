"""Calls of `polycmp`, each in a process of its own: whatever happens to it, the server goes on."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from polycmp.errors import FileError
from polycmp.options import parse_json
from polycmp.terminal import shorten

if TYPE_CHECKING:
    from anyio.abc import Process

#: Characters of a command's messages that an answer has.
_SAID = 4000
# The current folder is no place to import from: a model may have a `numpy.py` beside it.
_START = "import sys; del sys.path[0]; from polycmp_mcp.child import main; main()"


class NoAnswerError(Exception):
    """A command that ended without a report; the text is what it said."""


async def report_of(words: Sequence[str], folder: str, seconds: float) -> dict[str, Any]:
    """Run a command line and return its exit status and the document of its JSON report.

    Args:
        words: The words after `polycmp`, without reports.
        folder: Folder in which it is started; empty for that of the server.
        seconds: Seconds after which it is ended.

    Raises:
        FileError: There is no such folder.
        NoAnswerError: It ended without a report, or took longer.
    """
    with tempfile.TemporaryDirectory(prefix="polycmp-mcp-") as place:
        report = Path(place, "report.json")
        # What follows `--` is a command of its own.
        at = words.index("--") if "--" in words else len(words)
        done = await _run([*words[:at], "--report", str(report), *words[at:]], folder, seconds, Path(place))
        if not report.is_file():
            raise NoAnswerError(done.said)
        document = parse_json(report.read_text(encoding="utf-8"))
    return {"exit_status": done.status, **document, "command": shlex.join(["polycmp", *words])}


async def text_of(words: Sequence[str], folder: str = "", seconds: float = 60.0) -> str:
    """Run a command line and return what it prints; arguments and errors as in `report_of`."""
    with tempfile.TemporaryDirectory(prefix="polycmp-mcp-") as place:
        done = await _run(words, folder, seconds, Path(place))
    if done.status != 0:
        raise NoAnswerError(done.said)
    return done.printed


@dataclass(frozen=True)
class _Done:
    """Ended process: its exit status, and the text on its standard streams."""

    status: int
    printed: str
    told: str

    @property
    def said(self) -> str:
        """The text of both streams, shortened, or a sentence where there is none."""
        text = "\n".join(filter(None, (self.printed.strip(), self.told.strip())))
        return shorten(text, _SAID) or f"polycmp ended with status {self.status} and said nothing"


async def _run(words: Sequence[str], folder: str, seconds: float, place: Path) -> _Done:
    if folder and not Path(folder).is_dir():
        raise FileError(f"{folder}: no such folder", hint="give one that exists, with its whole path")
    printed, told = place / "out.txt", place / "err.txt"
    with printed.open("wb") as out, told.open("wb") as err:
        process = await anyio.open_process(
            [sys.executable, "-c", _START, str(os.getpid()), *words],
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
    return _Done(status, *(path.read_text(encoding="utf-8", errors="replace") for path in (printed, told)))


def _end(process: Process) -> None:
    """End a process that still runs, and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
