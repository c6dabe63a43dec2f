"""Files with what `locate` found: JSON, HTML, JUnit."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from polycmp.locate.result import Located
from polycmp.report import check_reports

#: Suffix -> module of this room that has `write(found, path)`.
FORMATS: Mapping[str, str] = {".json": "locate_json", ".html": "locate_html", ".xml": "locate_junit"}


def check_located_reports(paths: Iterable[str]) -> None:
    """Check that every report file has a known suffix, before anything runs.

    Raises:
        UsageError: One has not.
    """
    check_reports(paths)


def write_located(found: Located, paths: Iterable[str]) -> None:
    """Write what was found to each file, in the format that its suffix names.

    Raises:
        FileError: A file cannot be written.
    """
    for path in paths:
        module = importlib.import_module(f"polycmp.report.{FORMATS[Path(path).suffix.lower()]}")
        module.write(found, path)
