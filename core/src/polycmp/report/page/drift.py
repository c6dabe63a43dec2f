"""How the error goes along the graph, as inline SVG: a point per tensor, each a link to its row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from polycmp.locate.result import Located, Row
from polycmp.report.page.elements import Markup, join, tag

WIDTH, HEIGHT = 1160, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 28, 34
#: Smaller relative errors, and none at all, lie on the axis.
_LEAST = 1e-9

STYLE = """
.drift { width: 100%; height: auto; display: block; padding: 4px 14px 14px; }
.drift .axis { stroke: var(--line); stroke-width: 1; } .drift text { font: 11px var(--mono); fill: var(--soft); }
.drift .path { fill: none; stroke: var(--bar-soft); stroke-width: 1.5; }
.drift circle { fill: var(--pass); } .drift .failed circle { fill: var(--fail); }
.drift .own { fill: none; stroke: var(--note); stroke-width: 1.8; }
.drift a:hover circle, .drift a:focus circle { stroke: var(--focus); stroke-width: 3; }
.drift .first { stroke: var(--fail); stroke-dasharray: 4 3; } .drift text.first { fill: var(--fail); stroke: none; }
.js tr.detail:target { display: table-row; } tr.output.chosen > * { background: var(--fail-back); }
"""


def drift_svg(found: Located) -> Markup:
    """Return the accumulated error of every tensor in the order of the graph, and operators' own where measured."""
    place = _Place(found.rows)
    points = [(place.x(index), place.y(row.relative)) for index, row in enumerate(found.rows)]
    path = " ".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(points))
    bad = sum(not row.passed for row in found.rows)
    return tag(
        "svg",
        tag(
            "title",
            f"Relative error of {len(found.rows)} tensors in the order of the graph; {bad} are outside the tolerance",
        ),
        *_grid(place),
        tag("path", class_="path", d=path),
        *(_first(found, place)),
        *(_point(row, index, place) for index, row in enumerate(found.rows)),
        class_="drift",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )


class _Place:
    """Where a tensor and an error lie."""

    def __init__(self, rows: Sequence[Row]) -> None:
        known = [row.relative for row in rows] + [row.own.relative for row in rows if row.own is not None]
        finite = [value for value in known if math.isfinite(value) and value > 0.0]
        self.low = math.floor(math.log10(max(_LEAST, min(finite, default=1e-8))))
        self.high = math.ceil(math.log10(max(finite, default=1.0)))
        self.low = min(self.low, self.high - 5)
        self.count = max(len(rows) - 1, 1)

    def x(self, index: int) -> float:
        return LEFT + index / self.count * (WIDTH - LEFT - RIGHT)

    def y(self, error: float) -> float:
        if math.isinf(error) or math.isnan(error):
            return TOP
        height = 0.0 if error <= 0.0 else (math.log10(error) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - min(max(height, 0.0), 1.0) * (HEIGHT - TOP - BOTTOM)


def _grid(place: _Place) -> Iterator[Markup]:
    step = max(1, (place.high - place.low) // 6)
    for exponent in range(place.low, place.high + 1, step):
        y = place.y(10.0**exponent) if exponent > place.low else HEIGHT - BOTTOM
        yield tag("line", class_="axis", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}")
        label = f"≤1e{exponent}" if exponent == place.low else f"1e{exponent}"
        yield tag("text", label, x=LEFT - 6, y=f"{y + 4:.1f}", text_anchor="end")
    yield tag("text", "first operator", x=LEFT, y=HEIGHT - 10)
    yield tag("text", "last operator", x=WIDTH - RIGHT, y=HEIGHT - 10, text_anchor="end")


def _first(found: Located, place: _Place) -> Iterator[Markup]:
    row = found.first_bad
    if row is None or row not in found.rows:
        return
    x = place.x(found.rows.index(row))
    anchor, shift = ("end", -6) if x > WIDTH / 2 else ("start", 6)
    yield tag("line", class_="first", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=TOP - 8, y2=HEIGHT - BOTTOM)
    text = f"{row.node.op_type} makes {row.tensor}"
    yield tag("text", text, class_="first", x=f"{x + shift:.1f}", y=TOP - 10, text_anchor=anchor)


def _point(row: Row, index: int, place: _Place) -> Markup:
    x, y = place.x(index), place.y(row.relative)
    words = f"{row.tensor} ({row.node.op_type}): {row.relative:.3g} relative"
    own = None
    if row.own is not None:
        words += f", own error {row.own.relative:.3g}"
        own = tag("circle", class_="own", cx=f"{x:.1f}", cy=f"{place.y(row.own.relative):.1f}", r="6")
    circle = tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.2")
    link = tag("a", tag("title", words), circle, href=f"#detail-{index}", class_="passed" if row.passed else "failed")
    return join(own, link)
