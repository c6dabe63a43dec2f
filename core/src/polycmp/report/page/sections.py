"""The page around the comparisons: verdict, problems, timings, environment, command."""

from __future__ import annotations

import re

from polycmp.report.console import duration, summary
from polycmp.report.page.elements import Markup, join, tag
from polycmp.report.page.outputs import figure
from polycmp.results.outcome import BackendResult, Invalid, Outcome
from polycmp.tensors import TensorMetadata

#: Outputs that are not finite and are told one by one.
INVALID = 12
VERDICTS = {"passed": "Passed", "failed": "Failed", "error": "Could not compare"}
SYMBOLS = {"passed": "M5 12.5l4.5 4.5L19 7.5", "failed": "M7 7l10 10M17 7L7 17", "error": "M12 6v7.5M12 17.5v.5"}


def hero(outcome: Outcome) -> Markup:
    """Return the verdict, what it rests on, and the figures that matter most."""
    symbol = tag(
        "svg", tag("path", d=SYMBOLS[outcome.verdict]), viewBox="0 0 24 24", aria_hidden="true", class_="symbol"
    )
    # The terminal's sentence starts with the verdict and ends with the duration; both have their own place here.
    sentence = re.sub(r" \([^()]* s\)$", "", summary(outcome).partition(": ")[2])
    heading = summary(outcome).partition(":")[0].capitalize()
    words = tag("div", tag("h1", heading), tag("p", sentence))
    return tag(
        "header",
        tag("div", symbol, words, class_="verdict"),
        tag("dl", *_facts(outcome), class_="facts"),
        class_=f"hero {outcome.verdict}",
    )


def _facts(outcome: Outcome) -> list[Markup]:
    outputs = [item for pair in outcome.comparisons for item in pair.outputs.values()]
    stats = [item.stats for item in outputs if item.stats is not None]
    facts = [
        ("outputs passed", f"{sum(item.passed for item in outputs)} / {len(outputs)}" if outputs else "–"),
        ("largest error", figure(max((item.max_abs for item in stats), default=None))),
        ("reference", outcome.reference or "–"),
        ("iterations", str(max((item.iterations for item in outcome.backends), default=0))),
        ("duration", duration(outcome.seconds)),
    ]
    return [tag("div", tag("dt", key), tag("dd", value, title=value)) for key, value in facts]


def command(outcome: Outcome) -> Markup | None:
    """Return the command line, to be copied."""
    if not outcome.command:
        return None
    copy = tag("button", "Copy", type="button", class_="copy", data_copy="command")
    return tag(
        "div",
        tag("pre", tag("code", outcome.command, id="command"), tabindex="0", aria_label="Command line"),
        copy,
        class_="command",
    )


def problems(outcome: Outcome) -> Markup | None:
    """Return runs that failed, outputs that are not finite, and notes; None if there is nothing."""
    items = [_failure(backend) for backend in outcome.failed_backends]
    items += _invalid(outcome)
    notes = [*outcome.notes, *(f"{item.label}: {note}" for item in outcome.backends for note in item.notes)]
    notes += [f"{item.inputs}: {item.failed}; to repeat it: {item.command}" for item in outcome.repeats]
    items += [tag("li", note, class_="callout note") for note in notes]
    if not items:
        return None
    return tag("section", tag("h2", "Worth knowing", class_="unseen"), tag("ul", *items, class_="problems"))


def _invalid(outcome: Outcome) -> list[Markup]:
    """Return the outputs that are not finite, each once however many iterations it is so."""
    by_output: dict[tuple[str, str], list[Invalid]] = {}
    for item in outcome.invalid:
        by_output.setdefault((item.label, item.output), []).append(item)
    found = []
    for (label, output), items in list(by_output.items())[:INVALID]:
        first = items[0]
        more = f"; so it is in {len(items)} iterations" if len(items) > 1 else ""
        text = (
            f"{first.nan} NaN and {first.inf} infinite values in iteration {first.iteration}, "
            f"the first at {list(first.first)}{more}"
        )
        title = tag("strong", f"{label}: {output} is not finite")
        found.append(tag("li", title, tag("p", text), class_="callout failed"))
    if len(by_output) > INVALID:
        text = f"{len(by_output) - INVALID} more outputs are not finite; the JSON report has all"
        found.append(tag("li", text, class_="callout failed"))
    return found


def _failure(backend: BackendResult) -> Markup:
    hint = tag("p", tag("span", "next: ", class_="soft"), tag("code", backend.hint)) if backend.hint else None
    return tag("li", tag("strong", f"{backend.label} failed"), tag("p", backend.error), hint, class_="callout error")


def tools(outcome: Outcome) -> Markup | None:
    """Return what narrows the tables down; it appears where scripts run."""
    if sum(len(pair.outputs) for pair in outcome.comparisons) < 2:
        return None
    search = tag("input", type="search", id="search", placeholder="Find an output", aria_label="Find an output")
    only = tag("label", Markup('<input type="checkbox" id="only-failed">'), " only failures")
    search = Markup(search.replace("</input>", ""))
    status = tag("span", id="shown", class_="soft", role="status")
    return tag("div", search, only, status, class_="tools scripted", role="search")


def timings(outcome: Outcome) -> Markup:
    """Return the runs with their durations."""
    slowest = max((item.timing.p90 for item in outcome.backends if item.timing), default=0.0)
    head = [tag("th", "Run", scope="col"), tag("th", "Version", scope="col")]
    head += [
        tag("th", text, scope="col", class_="number") for text in ("Iterations", "First", "Median", "90 %", "99 %")
    ]
    head.append(tag("th", "Median and 90 %", scope="col", class_="bars"))
    rows = [_timing(item, outcome.reference, slowest) for item in outcome.backends]
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows))
    note = "The first call is kept apart; the other figures are over the later calls."
    return tag(
        "section",
        tag("div", tag("h2", "Runs and timings", id="timings"), tag("p", note, class_="soft"), class_="section-head"),
        tag("div", table, class_="scroll", tabindex="0", role="region", aria_labelledby="timings"),
        class_="card",
    )


def _timing(item: BackendResult, reference: str, slowest: float) -> Markup:
    timing = item.timing
    options = ", ".join(f"{key}={value}" for key, value in item.options.items())
    name = tag(
        "th",
        tag("span", item.label, class_="name"),
        tag("span", "reference", class_="badge note") if item.label == reference else None,
        tag("span", "failed", class_="badge error") if item.error else None,
        tag("span", " · ".join(filter(None, (options, item.model))), class_="type"),
        scope="row",
    )
    cells = ["–"] * 4
    bar: Markup | str = ""
    if timing is not None:
        cells = [duration(value) for value in (timing.first, timing.median, timing.p90, timing.p99)]
        widths = [100 * value / slowest if slowest else 0 for value in (timing.p90, timing.median)]
        bar = tag("div", *(tag("i", style=f"width:{max(width, 0.5):.1f}%") for width in widths), class_="bar")
    numbers = [tag("td", text, class_="number") for text in (str(item.iterations), *cells)]
    return tag("tr", name, tag("td", item.version or "–"), *numbers, tag("td", bar, class_="bars"))


def about(outcome: Outcome) -> Markup:
    """Return the inputs and the environment."""
    inputs = [join(tag("dt", name), tag("dd", kind)) for name, kind in _tensors(outcome.inputs)]
    blocks = []
    if inputs:
        blocks.append(tag("section", tag("h2", "Inputs"), tag("dl", *inputs), class_="card"))
    environment = [
        join(tag("dt", key.replace("_", " ")), tag("dd", value)) for key, value in outcome.environment.items()
    ]
    if environment:
        blocks.append(tag("section", tag("h2", "Environment"), tag("dl", *environment), class_="card"))
    return tag("div", *blocks, class_="columns")


def _tensors(tensors: TensorMetadata) -> list[tuple[str, str]]:
    return [(name, str(entry)) for name, entry in tensors.items()]
