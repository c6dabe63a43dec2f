"""Judges each file in a process of its own, so that native code that ends it, or never returns, is one row more."""

from __future__ import annotations

import json
import signal
import sys
import time
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from pathlib import Path

from truth.converters.judging import ALONE, NOT_MADE, Case, Count, judge

CRASH, LATE = "crash", "out of time"
#: What a child would import anyway, so that the process that it is forked from has it.
_PRELOADED = ["onnxruntime", "polycmp.cli.main", "truth.converters.judging"]


@cache
def _context() -> BaseContext:
    if sys.platform == "win32":
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def kept(file: Path, case: Case, *, faults: bool, seconds: float) -> Count:
    """Return what was found of a case before, or judge it in a process of its own and keep that.

    Args:
        file: Where it is kept.
        case: The case.
        faults: Whether to plant any.
        seconds: For how long at most.
    """
    if file.exists():
        return Count(**json.loads(file.read_text("utf-8")))
    begun = time.monotonic()
    so_far = file.with_suffix(".new")
    count, status, at = _alone(so_far, case, faults=faults, seconds=seconds)
    if status and not at.startswith(ALONE):
        print(
            f"{case.what}: {_ended(status)}; {at}; judged again with each backend in a process of its own", flush=True
        )
        count, status, at = _alone(so_far, replace(case, apart=True), faults=faults, seconds=seconds)
    if status is None:
        count.add(LATE, f"{case.what}: {seconds:.0f} s were not enough; {at}")
    elif status and not at.startswith(ALONE):
        count.add(CRASH, f"{case.what}: {_ended(status)}; {at}")
    elif status and not count.grades:
        count.add(NOT_MADE)
    for line in count.told:
        print(line, flush=True)
    print(f"  {case.what}: {count.grades}, {time.monotonic() - begun:.0f} s", flush=True)
    so_far.write_text(json.dumps({"grades": count.grades, "told": count.told}), "utf-8")
    so_far.replace(file)
    return count


def _alone(so_far: Path, case: Case, *, faults: bool, seconds: float) -> tuple[Count, int | None, str]:
    """Judge a case in a process of its own; return what is known, its exit status, and what it was at.

    The status is None if there was not enough time.
    """
    so_far.unlink(missing_ok=True)
    child = _context().Process(target=_judge, args=(so_far, case, faults))  # type: ignore[attr-defined]
    child.start()
    child.join(seconds)
    status = child.exitcode
    if status is None:
        child.kill()
        child.join()
    document = json.loads(so_far.read_text("utf-8")) if so_far.exists() else {}
    return Count(document.get("grades", {}), document.get("told", [])), status, document.get("at", "starting")


def _judge(so_far: Path, case: Case, faults: bool) -> None:
    """Judge a case and write down, step by step, what is known and what comes next."""

    def tell(count: Count, at: str) -> None:
        document = {"grades": count.grades, "told": count.told, "at": at}
        written = so_far.with_suffix(".part")
        written.write_text(json.dumps(document), "utf-8")
        written.replace(so_far)

    tell(judge(case, tell, faults=faults), "the end")


def _ended(status: int) -> str:
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
