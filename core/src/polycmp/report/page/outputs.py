"""The comparisons on the page: a table per candidate, with what is behind each verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from polycmp.compare.verdicts import DetailedVerdict, ErrorStats, OutputComparison, PairComparison, Worst
from polycmp.report.page.drawings import histogram_svg, spark_svg
from polycmp.report.page.elements import Markup, escape, join, tag
from polycmp.report.words import output_name, output_type, reason_of

#: Outputs that pass and still get their details; all that fail do.
DETAILED = 300
COLUMNS = (
    ("Verdict", ""),
    ("Output", ""),
    ("Max abs", "number"),
    ("Mean abs", "number"),
    ("Max rel", "number"),
    ("Beyond tolerance", "number"),
    ("Distribution", "picture"),
    ("Reason", ""),
)


def pair_section(pair: PairComparison, number: int) -> Markup:
    """Return the table of one candidate, failures first."""
    outputs = sorted(pair.outputs.values(), key=_order)
    failed = sum(not item.passed for item in outputs)
    count = f"{failed} of {len(outputs)} differ" if failed else f"all {len(outputs)} within tolerance"
    title = tag(
        "h2",
        tag("span", pair.candidate, class_="name"),
        tag("span", " against ", class_="soft"),
        tag("span", pair.reference, class_="name"),
        id=f"pair-{number}",
    )
    ran = f"{count} · {pair.iterations} iteration{'' if pair.iterations == 1 else 's'}"
    state = "passed" if pair.passed else "failed"
    head = tag("div", title, tag("p", ran, class_=f"count {state}"), class_="section-head")
    problem = tag("p", pair.reason, class_="callout failed") if pair.reason else None
    rows = [row for index, item in enumerate(outputs) for row in _rows(item, f"{number}-{index}", index - failed)]
    table = tag(
        "table",
        tag("thead", tag("tr", *(_heading(text, kind) for text, kind in COLUMNS))),
        tag("tbody", *rows),
        class_="outputs",
        aria_labelledby=f"pair-{number}",
    )
    body = tag("div", table, class_="scroll", tabindex="0", role="region", aria_labelledby=f"pair-{number}")
    return tag("section", head, problem, body if outputs else None, class_="card")


def _order(output: OutputComparison) -> tuple[bool, bool]:
    """Return what sorts failures first, among them those without figures; else the model's order stays.

    In that order the first failure is often the cause of the others.
    """
    return output.passed, output.stats is not None


def _heading(text: str, kind: str) -> Markup:
    sortable = kind != "picture"
    return tag("th", tag("button", text, type="button") if sortable else text, scope="col", class_=kind or None)


def _rows(output: OutputComparison, key: str, position: int) -> Iterator[Markup]:
    stats = output.stats
    state = "passed" if output.passed else "failed"
    more = not output.passed or position < DETAILED
    name = tag("span", breakable(output_name(output)), class_="name")
    label = (
        tag("button", name, type="button", class_="toggle", aria_expanded="false", aria_controls=f"detail-{key}")
        if more
        else name
    )
    histogram = stats.histogram if stats is not None and stats.histogram and any(stats.histogram.counts) else None
    yield tag(
        "tr",
        tag("td", tag("span", "Passed" if output.passed else "Failed", class_=f"badge {state}")),
        tag("th", label, tag("span", output_type(output), class_="type"), scope="row"),
        *_figures(stats),
        tag("td", spark_svg(histogram) if histogram is not None else "", class_="picture"),
        tag("td", reason_of(output), class_="reason"),
        class_=f"output {state}",
        data_name=output.output,
    )
    if more:
        yield tag(
            "tr",
            tag("td", _details(output), colspan=len(COLUMNS)),
            class_=f"detail {state}",
            id=f"detail-{key}",
        )


def _figures(stats: ErrorStats | None) -> Iterator[Markup]:
    if stats is None:
        yield from (tag("td", "–", class_="number", data_value="-1") for _ in range(4))
        return
    # The errors are over numbers only; where a NaN counts as a failure it is what to look at.
    nan = bool(stats.nan_candidate or stats.nan_reference) and math.isinf(stats.required_abs)
    for value in (stats.max_abs, stats.mean_abs, stats.max_rel):
        yield tag("td", "NaN" if nan else figure(value), class_="number", data_value="inf" if nan else repr(value))
    share = f" ({stats.failed / stats.count:.1%})" if stats.failed and stats.count else ""
    text = f"{stats.failed:,}{share}" if stats.failed else "0"
    yield tag("td", text, class_="number", data_value=stats.failed, title=f"of {stats.count:,} elements")


def breakable(name: str) -> Markup:
    """Return a name that may be broken after its separators rather than anywhere."""
    return Markup("<wbr>".join(escape(part) for part in re.split(r"(?<=[./_:])", name)))


def figure(value: float | None) -> str:
    """Return a number in few digits."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "0" if value == 0 else f"{value:.3g}"


def _details(output: OutputComparison) -> Markup:
    stats = output.stats
    blocks = [_functions(output)]
    if stats is not None:
        blocks = [_distribution(output, stats), _worst(stats.worst), _statistics(output, stats), *blocks]
    return tag("div", *blocks, class_="details")


def _distribution(output: OutputComparison, stats: ErrorStats) -> Markup | None:
    if stats.histogram is None or not any(stats.histogram.counts):
        return None
    tolerance = next(
        (item.tolerance.get("atol") for item in output.verdicts.values() if isinstance(item, DetailedVerdict)), None
    )
    note = "bins an octave wide; the first also holds all smaller errors"
    return tag(
        "figure",
        tag("figcaption", tag("h3", "Absolute error"), tag("span", note, class_="soft")),
        histogram_svg(stats.histogram, tolerance),
        class_="wide",
    )


def _worst(worst: Worst | None) -> Markup | None:
    if worst is None:
        return None
    rows = [("index", str(list(worst.index))), ("candidate", str(worst.candidate)), ("reference", str(worst.reference))]
    if isinstance(worst.candidate, (int, float)) and isinstance(worst.reference, (int, float)):
        rows.append(("difference", figure(abs(worst.candidate - worst.reference))))
    return _list("Worst element", rows)


def _statistics(output: OutputComparison, stats: ErrorStats) -> Markup:
    rows = [
        ("elements", f"{stats.count:,}"),
        ("median", figure(stats.median_abs)),
        ("90 %", figure(stats.p90)),
        ("95 %", figure(stats.p95)),
        ("99 %", figure(stats.p99)),
        ("atol that would pass", figure(stats.required_abs)),
        ("rtol that would pass", figure(stats.required_rel)),
    ]
    if stats.nan_candidate or stats.nan_reference:
        rows.append(("NaN", f"{stats.nan_candidate} in the candidate, {stats.nan_reference} in the reference"))
    if output.iterations > 1:
        rows.append(("iteration shown", f"{output.worst_iteration} (the worst of {output.iterations})"))
    return _list("Statistics", rows)


def _functions(output: OutputComparison) -> Markup | None:
    if not output.verdicts:
        return None
    rows = []
    for name, verdict in output.verdicts.items():
        tolerance = verdict.tolerance if isinstance(verdict, DetailedVerdict) else {}
        allowed = ", ".join(f"{key} {value:g}" for key, value in tolerance.items())
        metrics = ", ".join(f"{key} {figure(value)}" for key, value in list(verdict.metrics.items())[:8])
        state = "passed" if verdict.passed else "failed"
        rows.append(
            tag(
                "li",
                tag("span", "Passed" if verdict.passed else "Failed", class_=f"badge {state}"),
                tag("strong", f" {name} "),
                tag("span", allowed, class_="soft"),
                tag("p", metrics, class_="soft figures") if metrics else None,
                tag("p", verdict.reason) if verdict.reason and len(output.verdicts) > 1 else None,
            )
        )
    return tag("div", tag("h3", "Compare functions"), tag("ul", *rows, class_="functions"), class_="wide")


def _list(title: str, rows: list[tuple[str, str]]) -> Markup:
    items = [join(tag("dt", key), tag("dd", value)) for key, value in rows]
    return tag("div", tag("h3", title), tag("dl", *items))
