"""The page of one case: its result, its settings, the end of its log, and the way to its full report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polycmp.report import duration, figure
from polycmp.report.elements import Markup, escape, tag
from polycmp_report.identity import Identity
from polycmp_suite.page.document import badge, page
from polycmp_suite.page.trend import trend
from polycmp_suite.result import CaseResult
from polycmp_suite.running.outcome import LOCATED
from polycmp_suite.running.process import LOG

#: Bytes at the end of a log that the page shows.
_LOG = 16_384
_FILES = {
    "report.html": "full report",
    "report.json": "JSON report",
    LOG: "log",
    f"{LOCATED}/report.html": "what locate found",
}


def case_page(result: CaseResult, folder: Path, facts: Identity | None, past: Sequence[CaseResult]) -> str:
    """Return the page.

    Args:
        result: Result of the case.
        folder: Folder of its files.
        facts: Identity of its model; None if it is not known.
        past: Results of the case in past runs.
    """
    words = result.model + (f" ({facts.words})" if facts else "")
    model = [tag("p", words, class_="soft model")] if words else []
    links = [tag("a", words, href=name) for name, words in _FILES.items() if (folder / name).is_file()]
    body = tag(
        "main",
        tag("p", tag("a", "← all cases", href="../../index.html")),
        tag("header", tag("h1", result.case), *model, badge(result.mark), class_=f"hero {result.mark}"),
        tag("p", result.explanation, class_="reason") if result.explanation else None,
        tag("p", f"A known failure: {result.known}") if result.known else None,
        tag("p", *_between(links), class_="links") if links else None,
        tag("section", tag("h2", "Case"), tag("dl", *_facts(result, facts)), class_="card"),
        tag("section", tag("h2", "Past runs"), trend(past), class_="card") if len(past) > 1 else None,
        _log(folder),
    )
    return page(f"{result.mark}: {result.case} · {words}", body)


def _between(links: Sequence[Markup]) -> list[Markup]:
    return [part for index, link in enumerate(links) for part in ([escape(" · ")] if index else []) + [link]]


def _facts(result: CaseResult, facts: Identity | None) -> list[Markup]:
    times = [(f"median of {label}", duration(value)) for label, value in result.times.items()]
    versions = [(f"version of {label}", value) for label, value in result.versions.items()]
    items = [
        ("model", result.model + (f" ({facts.words})" if facts else "")),
        ("backends", " · ".join(result.backends)),
        *result.axes.items(),
        ("tags", ", ".join(result.tags)),
        ("command", result.command_line),
        ("exit status", str(result.status)),
        ("time", duration(result.seconds)),
        ("attempts", str(result.attempts)),
        ("most memory", f"{result.memory / 2**20:.0f} MiB" if result.memory else ""),
        ("drift", result.drift),
        ("largest error", "" if result.max_error is None else figure(result.max_error)),
        *times,
        *versions,
        ("machine", result.where),
    ]
    return [part for name, value in items if value for part in (tag("dt", name), tag("dd", value))]


def _log(folder: Path) -> Markup | None:
    try:
        with (folder / LOG).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LOG))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    title = "Log" if size <= _LOG else f"Log (its last {_LOG // 1024} KiB)"
    return tag("section", tag("h2", title), tag("pre", text.strip() or "(empty)"), class_="card")
