"""Results on disk: a folder per run of a suite, in it a folder per case, written as each case ends."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polycmp.errors import FileError, describe_exception
from polycmp.files import write_document
from polycmp.options import parse_json
from polycmp_suite.result import CaseResult, read_result
from polycmp_suite.suitefile.case import Case, Suite

_DAY = 24 * 3600.0
_SUITE, _RESULT, _CASES, LATEST = "suite.json", "result.json", "cases", "latest"


@dataclass(frozen=True)
class Run:
    """One run of a suite, as it lies on disk.

    Attributes:
        folder: Folder of the run.
    """

    folder: Path

    @property
    def about(self) -> Mapping[str, Any]:
        """Facts about the run as a whole; empty if they cannot be read."""
        try:
            document = parse_json((self.folder / _SUITE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def order(self) -> tuple[int, float, str]:
        """The sort key of runs in one folder: their number first, since a clock may go back."""
        about = self.about
        number, begun = about.get("number"), about.get("time")
        return (
            number if isinstance(number, int) else 0,
            begun if isinstance(begun, (int, float)) else 0.0,
            self.folder.name,
        )

    @property
    def may_go_on(self) -> bool:
        """Whether the run is unfinished and began less than a day ago: a process may still work on it."""
        return not self.finished and time.time() - self.order[1] < _DAY

    @property
    def finished(self) -> bool:
        """Whether every case that was chosen has ended."""
        return bool(self.about.get("finished"))

    def case_folder(self, case: Case) -> Path:
        """Return the folder of a case's files."""
        return self.folder / _CASES / case.folder

    def fresh_case_folder(self, case: Case) -> Path:
        """Return a case's folder, emptied.

        Raises:
            FileError: It cannot be made.
        """
        folder = self.case_folder(case)
        try:
            if folder.is_symlink():
                folder.unlink()
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        except OSError as error:
            raise FileError(f"cannot make the folder {folder}", why=describe_exception(error)) from error
        return folder

    def result(self, case: Case) -> CaseResult | None:
        """Load the result of a case; None if it has not ended, or its folder is a link, which may lead anywhere."""
        folder = self.case_folder(case)
        return None if folder.is_symlink() else read_result(folder / _RESULT)

    def write(self, case: Case, result: CaseResult) -> None:
        """Write the result of a case.

        Raises:
            FileError: That cannot be written.
        """
        write_document(self.case_folder(case) / _RESULT, result.to_json())

    def results(self) -> Iterator[CaseResult]:
        """Yield the results there are, in the order of the folders' names."""
        for path in sorted(self.folder.glob(f"{_CASES}/*/{_RESULT}")):
            result = None if path.parent.is_symlink() else read_result(path)
            if result is not None:
                yield result

    def write_about(self, values: Mapping[str, Any]) -> None:
        """Write facts about the run as a whole.

        Raises:
            FileError: That cannot be written.
        """
        write_document(self.folder / _SUITE, {"schema": 1, "number": self.order[0], **values})


def is_run(folder: Path) -> bool:
    """Return whether a folder holds a run."""
    return (folder / _SUITE).is_file()


def runs_in(folder: Path) -> list[Run]:
    """Return the runs in a folder of results, the oldest first."""
    try:
        runs = [Run(item) for item in folder.iterdir() if item.name != LATEST and is_run(item)]
    except OSError:
        return []
    return sorted(runs, key=lambda run: run.order)


def remove_old_runs(current: Run, keep: int) -> None:
    """Remove the oldest runs beside a run, which stays, as those do that may still be going on.

    Args:
        current: The run at hand. What is no run in its folder stays.
        keep: Number of runs to keep, from 1.
    """
    others = [run for run in runs_in(current.folder.parent) if run.folder != current.folder]
    for run in others[: max(0, len(others) + 1 - keep)]:
        if not run.may_go_on:
            shutil.rmtree(run.folder, ignore_errors=True)


def new_run(folder: Path) -> Run:
    """Return a new run in a folder of results, named after the time; `latest` leads to it.

    Raises:
        FileError: It cannot be made.
    """
    name = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        last = max((run.order[0] for run in runs_in(folder)), default=0)
        for number in range(1, 1000):
            run_folder = folder / (name if number == 1 else f"{name}-{number}")
            with suppress(FileExistsError):
                run_folder.mkdir()
                break
        write_document(run_folder / _SUITE, {"schema": 1, "number": last + 1, "time": time.time(), "finished": False})
        _point(folder / LATEST, run_folder.name)
    except OSError as error:
        raise FileError(
            f"cannot make a folder of results in {folder}", why=describe_exception(error), hint=f"ls -ld {folder}"
        ) from error
    return Run(run_folder)


def _point(link: Path, target: str) -> None:
    """Point a link to the newest run; results are complete without it."""
    with suppress(OSError, NotImplementedError):
        other = link.with_name(f".{LATEST}.{os.getpid()}")
        other.symlink_to(target)
        other.replace(link)


def default_folder(suite: Suite) -> Path:
    """Return the default folder of a suite's results."""
    return Path(suite.folder) / f"{suite.name if Path(suite.path).is_dir() else Path(suite.path).stem}-results"
