"""Measures what a session keeps of cases that have ended."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

from polycmp_suite.progress import Progress
from polycmp_suite.session import Session
from polycmp_suite.spec import Ended, Event, Queue, Started
from polycmp_suite.store import new_run
from polycmp_suite.suitefile.case import Case, Suite


class EndsAtOnce:
    """Ends every case at once, and looks at what is allocated."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.ended = 0

    def run(self, queue: Queue) -> Iterator[Event]:
        while (job := queue.take()) is not None:
            yield Started(job)
            yield Ended(job, 0)
            self.ended += 1
            if self.ended in {100, 600}:
                gc.collect()
                self.seen.append(sys.getallocatedblocks())


def measure(folder: str) -> None:
    """Print how many blocks are allocated after 100 and after 600 cases have ended.

    Blocks, not bytes: the interpreter's table of names grows by a megabyte at once, whenever it is full.
    """
    words = ("run", "model.onnx", "-b", "onnxrt", "-b", "onnx")
    cases = tuple(Case(f"case-{number}", "run", words, "model.onnx", ("onnxrt", "onnx")) for number in range(600))
    executor = EndsAtOnce()
    session = Session(Suite("many", "many.toml", folder, cases), new_run(Path(folder) / "results"), executor)
    session.run(cases, {}, Progress(len(cases), silent=True, jobs=1))
    print(*executor.seen)
