"""Telling GitHub Actions what was found: annotations on the run, and a summary of the job."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from polycmp.errors import FileError, describe_exception
from polycmp.files import located, to_bytes
from polycmp.report import Problem, Result, Table
from polycmp.terminal import shorten, visible_lines
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
    messages = list(_messages(result))
    for title, text, place in messages[:ANNOTATIONS]:
        where = "".join(f"{name}={_property(value)}," for name, value in place.items())
        print(
            f"::error {where}title={_property(prefixed(result, title))}::{_data(text)}"
        )  # the one command that a line of ours may be
    target = environ.get("GITHUB_STEP_SUMMARY")
    if target:
        try:
            with located(target).open("ab") as file:
                file.write(to_bytes(to_markdown(result, ROWS, ROWS, LENGTH)))
        except OSError as error:
            raise FileError("cannot append the summary", whose=target, why=describe_exception(error)) from error


def _messages(result: Result) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Yield title and text of each failure, and the file and line that it belongs to."""
    for problem in result.blocks(Problem):
        where = f" in iteration {problem.iteration}" if problem.iteration is not None else ""
        yield problem.what, f"{problem.why}{where}", {}
    for table in result.blocks(Table):
        if table.problem is not None:
            yield table.title, table.problem.why, {}
        if table.judged:
            for row in table.failures:
                title = f"{table.subject if table.about else table.title}: {row.name}"
                place = {"file": row.file, "line": str(row.line)} if row.file else {}
                yield title, result.sentence if table.causal else row.reason, place


def _data(text: str) -> str:
    """Escape a message as the workflow commands want it."""
    return visible_lines(shorten(text)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
