"""Telling GitHub Actions what was found: annotations on the run, and a summary of the job."""

from __future__ import annotations

import os
from collections.abc import Mapping

from polycmp.errors import FileError, describe_exception
from polycmp.files import located, to_bytes
from polycmp.report import Result
from polycmp.terminal import shorten, visible_lines
from polycmp_report.failures import Failure, failures
from polycmp_report.markdown import to_markdown
from polycmp_report.models import prefixed

#: GitHub shows ten annotations of a kind per step and drops the rest.
ANNOTATIONS = 10
#: Rows of a table in the summary.
ROWS = 200
#: Characters of a summary; GitHub takes a MiB.
LENGTH = 900_000


def annotate(result: Result, path: str = "", environ: Mapping[str, str] = os.environ) -> None:
    """Print annotations and append a summary, if this runs under GitHub Actions.

    Args:
        result: The result to report.
        path: Nothing: no file is asked for.
        environ: Environment variables; `GITHUB_ACTIONS` and `GITHUB_STEP_SUMMARY` are looked at.

    Raises:
        FileError: The summary cannot be written.
    """
    del path
    if environ.get("GITHUB_ACTIONS") != "true":
        return
    for failure in failures(result)[:ANNOTATIONS]:
        print(_annotation(failure, result))  # the one command that a line of ours may be
    target = environ.get("GITHUB_STEP_SUMMARY")
    if target:
        try:
            with located(target).open("ab") as file:
                file.write(to_bytes(to_markdown(result, ROWS, ROWS, LENGTH)))
        except OSError as error:
            raise FileError("cannot append the summary", whose=target, why=describe_exception(error)) from error


def _annotation(failure: Failure, result: Result) -> str:
    place = f"file={_property(failure.file)},line={failure.line}," if failure.file else ""
    return f"::error {place}title={_property(prefixed(result, failure.title))}::{_data(failure.text)}"


def _data(text: str) -> str:
    """Escape a message as the workflow commands want it."""
    return visible_lines(shorten(text)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
