"""What commands and cases of suites find and leave where they run in the tests' own process, one after the other."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

import pytest

from polycmp.cli.main import run as run_command
from polycmp.messages import restored_logging
from polycmp.plugins import Registry


@pytest.fixture(autouse=True)
def messages_as_before():
    """Undo what commands that ran in this process arranged for messages, or tests of other packages would see it."""
    with restored_logging():
        yield


def plugins_installed() -> Registry:
    """Return the plugins that a process would find now; looking them up is most of what a short command does."""
    return _found(tuple(sys.path), os.environ.get("POLYCMP_PLUGINS"))


def look_anew() -> None:
    """Have plugins looked up again: what is installed has changed otherwise than by the path."""
    _found.cache_clear()


@lru_cache
def _found(_path: tuple[str, ...], _chosen: str | None) -> Registry:
    return Registry.discover()


class InProcessExecutor:
    """Runs the cases of a suite here: those that neither crash nor hang end as they do in processes of their own."""

    def run(self, queue: Any) -> Iterator[Any]:
        from polycmp_suite.running.process import LOG
        from polycmp_suite.spec import Ended, Started

        while (job := queue.take()) is not None:
            yield Started(job)
            begun = time.monotonic()
            with pytest.MonkeyPatch.context() as patch, logged(Path(job.output) / LOG):
                patch.chdir(job.folder)
                patch.setenv("COLUMNS", "120")
                status = run_command(list(job.words), plugins_installed())
            yield Ended(job, status, time.monotonic() - begun)


def in_process(name: str, _resources: object) -> InProcessExecutor:
    """Stand in for `make_executor` of suites."""
    assert name == "local"
    return InProcessExecutor()


def run_cases_here(patch: pytest.MonkeyPatch) -> None:
    """Let suites run their cases in this process, where `polycmp-suite` is installed."""
    try:
        import polycmp_suite.work
    except ImportError:
        return
    patch.setattr(polycmp_suite.work, "make_executor", in_process)


@contextmanager
def logged(path: Path, errors: Path | None = None) -> Iterator[None]:
    """Write what is printed to a file, also by native code.

    Args:
        path: The file.
        errors: Another file for what goes to standard error.
    """
    with ExitStack() as stack:
        log = stack.enter_context(path.open("w", encoding="utf-8"))
        error_log = log if errors is None else stack.enter_context(errors.open("w", encoding="utf-8"))
        stack.enter_context(redirected(log, error_log))
        yield


@contextmanager
def redirected(output: TextIO, errors: TextIO) -> Iterator[None]:
    """Write what is printed to open files, also by native code."""
    before = [os.dup(1), os.dup(2)]
    try:
        for number, file in ((1, output), (2, errors)):
            os.dup2(file.fileno(), number)
        with redirect_stdout(output), redirect_stderr(errors):
            yield
            output.flush(), errors.flush()
    finally:
        for number, kept in zip((1, 2), before, strict=True):
            os.dup2(kept, number)
            os.close(kept)
