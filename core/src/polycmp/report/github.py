"""Telling GitHub Actions what was found: annotations on the run, and a summary of the job."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from polycmp.errors import FileError, describe_exception
from polycmp.files import located, to_bytes
from polycmp.report.console import summary
from polycmp.report.words import output_name, pair_title, reason_of
from polycmp.results.outcome import Outcome
from polycmp.terminal import shorten, visible, visible_lines

#: GitHub shows ten annotations of a kind per step and drops the rest.
ANNOTATIONS = 10
ROWS = 200


def annotate(outcome: Outcome, environ: Mapping[str, str] = os.environ) -> None:
    """Print annotations and append a summary, if this runs under GitHub Actions.

    Args:
        outcome: What was found.
        environ: Environment variables; `GITHUB_ACTIONS` and `GITHUB_STEP_SUMMARY` are looked at.

    Raises:
        FileError: The summary cannot be written.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return
    messages = list(_messages(outcome))
    for title, text in messages[:ANNOTATIONS]:
        print(f"::error title={_property(title)}::{_data(text)}")  # the one command that a line of ours may be
    path = environ.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with located(path).open("ab") as file:
                file.write(to_bytes(step_summary(outcome)))
        except OSError as error:
            raise FileError("cannot append the summary", whose=path, why=describe_exception(error)) from error


def _messages(outcome: Outcome) -> Iterator[tuple[str, str]]:
    for backend in outcome.failed_backends:
        yield f"{backend.label} failed", backend.error
    for item in outcome.invalid:
        yield (
            f"{item.label}: {item.output}",
            f"{item.nan} NaN and {item.inf} infinite values in iteration {item.iteration}",
        )
    for pair in outcome.comparisons:
        if pair.reason:
            yield pair_title(pair), pair.reason
        for output in pair.outputs.values():
            if not output.passed:
                yield f"{pair_title(pair)}: {output_name(output)}", reason_of(output)


def _data(text: str) -> str:
    """Escape a message as the workflow commands want it."""
    return visible_lines(shorten(text)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def step_summary(outcome: Outcome) -> str:
    """Return the outcome as Markdown."""
    lines = [f"### polycmp: {_cell(summary(outcome))}", ""]
    for backend in outcome.failed_backends:
        lines += [f"- **{_cell(backend.label)}** failed: {_cell(backend.error)}"]
    for pair in outcome.comparisons:
        lines += ["", f"**{_cell(pair_title(pair))}**", ""]
        if pair.reason:
            lines += [f"{_cell(pair.reason)}", ""]
        lines += ["| | Output | Type | Max abs | Max rel | Reason |", "|---|---|---|---:|---:|---|"]
        outputs = sorted(pair.outputs.values(), key=lambda item: item.passed)
        for output in outputs[:ROWS]:
            stats = output.stats
            figures = ("", "") if stats is None else (f"{stats.max_abs:.3g}", f"{stats.max_rel:.3g}")
            cells = (output_name(output), output.candidate_type, *figures, reason_of(output))
            lines.append(f"| {'✅' if output.passed else '❌'} | {' | '.join(map(_cell, cells))} |")
        if len(outputs) > ROWS:
            lines.append(f"\n… and {len(outputs) - ROWS} more outputs")
    return "\n".join(lines) + "\n\n"


def _cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table, in which HTML counts, too."""
    for character, escape in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, escape)
    for character in "\\`*_[]|":
        text = text.replace(character, "\\" + character)
    return visible(shorten(" ".join(text.split())))
