"""What `locate` found as one HTML page: the error along the graph, the operator, a row per tensor."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import resources

from polycmp import __version__
from polycmp.errors import EXIT_DIFFERENT, EXIT_OK
from polycmp.files import atomic_write, to_bytes
from polycmp.locate.result import Located, Row
from polycmp.report.locate_console import summary
from polycmp.report.page.drawings import histogram_svg, spark_svg
from polycmp.report.page.drift import STYLE, drift_svg
from polycmp.report.page.elements import Markup, escape, join, tag
from polycmp.report.page.outputs import breakable, figure

_COLUMNS = (
    ("", ""), ("Tensor", ""), ("Operator", ""), ("Max abs", "number"), ("Relative", "number"), ("Jump", "number"),
    ("Own", "number"), ("Distribution", "picture"),
)  # fmt: skip


def write(found: Located, path: str) -> None:
    """Write the page, whole or not at all.

    Raises:
        FileError: The file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(to_bytes(to_html(found)))


def to_html(found: Located) -> str:
    """Return the page. Whatever came from a model or a user is text in it, and only its own script may run."""
    script, style = _asset("page.js"), _asset("page.css") + STYLE
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    head = join(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        tag("title", f"{found.verdict} · {found.candidate}"),
        tag("style", Markup(style)),
    )
    main = tag("main", _hero(found), _notes(found), _drift(found), _operator(found), _table(found))
    written = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    foot = tag("footer", f"polycmp {__version__} · {written} · {found.command}")
    body = tag("body", main, foot, tag("script", Markup(script)))
    return f"<!DOCTYPE html>\n{tag('html', tag('head', head), body, lang='en')}\n"


def _asset(name: str) -> str:
    return resources.files("polycmp.report.page").joinpath(name).read_text(encoding="utf-8")


def _hero(found: Located) -> Markup:
    state = {EXIT_OK: "passed", EXIT_DIFFERENT: "failed"}.get(found.exit_code, "error")
    heading, _, _ = summary(found).partition(":")
    words = tag("div", tag("h1", heading.capitalize()), tag("p", found.sentence))
    facts = [
        ("candidate", found.candidate),
        ("reference", found.reference),
        ("tensors", str(len(found.rows))),
        ("outside the tolerance", str(sum(not row.passed for row in found.rows))),
        ("first bad", found.first_bad.tensor if found.first_bad else "–"),
        ("duration", f"{found.seconds:.2g} s"),
    ]
    listed = [tag("div", tag("dt", key), tag("dd", value, title=value)) for key, value in facts]
    return tag(
        "header", tag("div", words, class_="verdict"), tag("dl", *listed, class_="facts"), class_=f"hero {state}"
    )


def _notes(found: Located) -> Markup | None:
    lines = [f"{item.label} failed: {item.error}" for item in found.failed_backends]
    lines += [f"probe check: {found.probe.sentence}"] if found.probe is not None else []
    lines += [*found.explain, *found.notes]
    return tag("ul", *(tag("li", line, class_="callout") for line in lines), class_="problems") if lines else None


def _drift(found: Located) -> Markup | None:
    if not found.rows:
        return None
    words = "relative error as it came through the model; rings are the operator's own error; click a point"
    head = tag("div", tag("h2", "Error along the graph"), tag("p", words, class_="soft"), class_="section-head")
    return tag("section", head, drift_svg(found), class_="card")


def _operator(found: Located) -> Markup | None:
    row = found.first_bad
    if row is None:
        return None
    known = {item.tensor: item.reference for item in found.rows}
    pairs = [("domain", row.node.domain or "ai.onnx")]
    pairs += [(f"attribute {name}", str(value)) for name, value in row.node.attributes.items()]
    for name in row.node.inputs:
        held = row.inputs.get(name) or known.get(name)
        pairs.append((f"reads {name}", str(held) if held is not None else "a weight or an input"))
    pairs.append((f"makes {row.tensor}", f"{row.type}: {_both(row, found)}"))
    if found.last_good is not None:
        pairs.append(("last good before it", f"{found.last_good.tensor}, {found.last_good.relative:.2g} relative"))
    items = [join(tag("dt", key), tag("dd", value)) for key, value in pairs]
    return tag(
        "section",
        tag("div", tag("h2", row.node.label), class_="section-head"),
        tag("div", tag("dl", *items), class_="callout"),
        class_="card",
    )


def _table(found: Located) -> Markup | None:
    if not found.rows:
        return None
    headings = [tag("th", text, scope="col", class_=kind or None) for text, kind in _COLUMNS]
    rows = [part for index, row in enumerate(found.rows) for part in _rows(row, index, found)]
    table = tag("table", tag("thead", tag("tr", *headings)), tag("tbody", *rows), class_="outputs")
    head = tag("div", tag("h2", "Tensors in the order of the graph"), class_="section-head")
    return tag("section", head, tag("div", table, class_="scroll", tabindex="0"), class_="card")


def _rows(row: Row, index: int, found: Located) -> Iterator[Markup]:
    state = "passed" if row.passed else "failed"
    word = "First" if row is found.first_bad else "Origin" if row is found.origin else "ok" if row.passed else "bad"
    name = tag("span", breakable(row.tensor), class_="name")
    toggle = tag("button", name, type="button", class_="toggle", aria_expanded="false", aria_controls=f"detail-{index}")
    histogram = row.stats.histogram if row.stats is not None else None
    shown = histogram is not None and any(histogram.counts)
    yield tag(
        "tr",
        tag("td", tag("span", word, class_=f"badge {state}")),
        tag("th", toggle, tag("span", row.type, class_="type"), scope="row"),
        tag("td", row.node.op_type),
        tag("td", figure(row.max_abs), class_="number"),
        tag("td", figure(row.relative), class_="number"),
        tag("td", _jump(row), class_="number"),
        tag("td", figure(row.own.relative) if row.own else "–", class_="number"),
        tag("td", spark_svg(histogram) if histogram is not None and shown else "", class_="picture"),
        class_=f"output {state}{' chosen' if row is found.first_bad else ''}",
        data_name=row.tensor,
    )
    lines = [
        tag("p", row.reason) if row.reason else None,
        tag("p", _both(row, found), class_="soft"),
        histogram_svg(histogram, None) if histogram is not None and shown else None,
    ]
    yield tag("tr", tag("td", *lines, colspan=len(_COLUMNS)), class_=f"detail {state}", id=f"detail-{index}")


def _both(row: Row, found: Located) -> str:
    """Return what both sides hold, as far as they computed it."""
    sides = [(row.candidate, found.candidate), (row.reference, "reference")]
    return ", ".join(f"{held} ({label})" for held, label in sides if held is not None)


def _jump(row: Row) -> str:
    return "–" if not row.jump else "new" if math.isinf(row.jump) else f"×{row.jump:.3g}"
