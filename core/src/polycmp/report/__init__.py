"""Reports: a finished result as text, JSON, HTML or JUnit. They show what was found and decide nothing."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from polycmp.results.outcome import Outcome

#: Suffix -> module of this room that has `write(outcome, path)`.
FORMATS: Mapping[str, str] = {".json": "json_report", ".html": "html_report", ".xml": "junit_report"}


def check_reports(paths: Iterable[str]) -> None:
    """Check that every report file has a known suffix, before anything runs.

    Raises:
        UsageError: One has not.
    """
    for path in paths:
        if Path(path).suffix.lower() not in FORMATS:
            raise UsageError(
                f"--report: no report is written as {Path(path).suffix or 'a file without suffix'}",
                whose=path,
                why=did_you_mean(Path(path).suffix, FORMATS),
            )


def write_reports(outcome: Outcome, paths: Iterable[str]) -> None:
    """Write the outcome to each file, in the format that its suffix names.

    Raises:
        FileError: A file cannot be written.
    """
    for path in paths:
        module = importlib.import_module(f"polycmp.report.{FORMATS[Path(path).suffix.lower()]}")
        module.write(outcome, path)
