"""Progress on standard error while a suite runs: a line per case that has ended, and on a terminal what runs now."""

from __future__ import annotations

import shutil
import sys
import time

from polycmp.report import duration
from polycmp.sentences import MARKS
from polycmp.terminal import echo, shorten, visible
from polycmp_suite.result import BAD, CaseResult

_WORDS = {**MARKS, "skipped": "skipped"}


class Progress:
    """Shows the progress of a suite.

    Args:
        total: Number of cases.
        silent: Show nothing.
        jobs: Number of cases that run at the same time.
    """

    def __init__(self, total: int, *, silent: bool, jobs: int) -> None:
        self._total, self._silent, self._jobs = total, silent, max(jobs, 1)
        self._live = not silent and sys.stderr.isatty()
        self._running: dict[str, float] = {}
        self._done = self._failed = 0
        self._spent = 0.0

    def started(self, case: str) -> None:
        """Show that a case has begun."""
        self._running[case] = time.monotonic()
        self.show()

    def ended(self, result: CaseResult, *, again: bool = False) -> None:
        """Show that a case has ended.

        Args:
            result: Result of the case.
            again: Whether it is tried again.
        """
        self._running.pop(result.case, None)
        self._spent += result.seconds
        if not again:
            self._done += 1
            self._failed += result.state in BAD
        if self._silent:
            return
        self._clear()
        word = "again" if again else _WORDS[result.mark]
        reason = f": {shorten(result.explanation, 160)}" if result.reason and result.state != "passed" else ""
        place = f"[{self._done:>{len(str(self._total))}}/{self._total}]"
        seconds = "" if result.state == "skipped" else f" ({duration(result.seconds)})"
        echo(f"{place} {word:7} {visible(result.case)}{seconds}{visible(reason)}", err=True)
        self.show()

    def show(self) -> None:
        """Show what runs now, on a terminal."""
        if not self._live or not self._running:
            return
        now = time.monotonic()
        names = [f"{visible(shorten(name, 40))} {now - begun:.0f} s" for name, begun in list(self._running.items())[:3]]
        remaining = f", about {self._remaining_seconds():.0f} s left" if self._done else ""
        failed = f", {self._failed} failed" if self._failed else ""
        text = f"{self._done}/{self._total}{failed}{remaining}; {len(self._running)} running: {', '.join(names)}"
        print(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._clear()

    def _clear(self) -> None:
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _remaining_seconds(self) -> float:
        mean = self._spent / max(self._done, 1)
        return mean * (self._total - self._done) / self._jobs
