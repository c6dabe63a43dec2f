"""A series of points on a logarithmic axis, as inline SVG: each a link to its row, those of a module on one band."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from polycmp.report import AlongGraph, Point, Series
from polycmp.report.elements import Markup, join, tag
from polycmp.sentences import cut
from polycmp_report.page.modules import groups_of
from polycmp_report.page.sections import card

WIDTH, HEIGHT = 1160, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 28, 38
#: The width of a letter of the axis.
_LETTER = 6.8
#: Smaller values, and zero, lie on the axis.
_LEAST = 1e-9

STYLE = """
.drift { width: 100%; height: auto; display: block; padding: 4px 14px 14px; }
.drift .axis { stroke: var(--line); stroke-width: 1; } .drift text { font: 11px var(--mono); fill: var(--soft); }
.drift .path { fill: none; stroke: var(--bar-soft); stroke-width: 1.5; }
.point { fill: var(--pass); } .failed .point { fill: var(--fail); }
.info .point { fill: var(--card); stroke: var(--soft); stroke-width: 1.5; }
.drift .own, .legend .own { fill: none; stroke: var(--note); stroke-width: 1.8; }
.drift a:hover .point, .drift a:focus .point { stroke: var(--focus); stroke-width: 3; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; list-style: none; padding: 0 20px; font-size: 13px; }
.legend li { color: var(--soft); } .legend svg { width: 14px; height: 14px; margin-right: 5px; vertical-align: -2px; }
.drift .first { stroke: var(--fail); stroke-dasharray: 4 3; } .drift text.first { fill: var(--fail); stroke: none; }
.drift .band { fill: var(--hover); } .drift .endless { fill: var(--fail); }
.drift a:hover .endless, .drift a:focus .endless { stroke: var(--focus); stroke-width: 3; }
.js tr.detail:target { display: table-row; } tr.output.chosen > * { background: var(--fail-back); }
"""


def series_card(series: Series, places: Mapping[str, str]) -> Markup:
    """Return a series as a card.

    Args:
        series: The series.
        places: The element with a row's details, by the row's name.
    """
    return card(series.title, series.remark, _legend(series), _svg(series, places))


def _legend(series: Series) -> Markup | None:
    """Return the legend of the marks that are there; None where one kind needs no words."""
    there = {point.state for point in series.points} | {"ring" for point in series.points if point.ring is not None}
    items = [(state, words) for state, words in series.legend.items() if state in there]
    if len(items) < 2:
        return None
    drawn = [tag("li", _key(state), words) for state, words in items]
    return tag("ul", *drawn, class_="legend")


def _key(state: str) -> Markup:
    ring = tag("circle", class_="own", cx="7", cy="7", r="5")
    inner = ring if state == "ring" else tag("g", _shape(7, 7, state), class_=state)
    return tag("svg", inner, viewBox="0 0 14 14", aria_hidden="true")


def _shape(x: float, y: float, state: str) -> Markup:
    """Return the mark of a state, whose shape says as much as its colour."""
    if state == "failed":
        return tag("path", class_="point", d=f"M{x:.1f} {y - 4.6:.1f}l4.6 4.6l-4.6 4.6l-4.6 -4.6z")
    if state == "info":
        return tag("rect", class_="point", x=f"{x - 2.8:.1f}", y=f"{y - 2.8:.1f}", width="5.6", height="5.6")
    return tag("circle", class_="point", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.2")


def _svg(series: Series, places: Mapping[str, str]) -> Markup:
    place = _Place(series.points)
    at = [(place.x(index), place.y(point.value)) for index, point in enumerate(series.points)]
    path = " ".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(at))
    return tag(
        "svg",
        tag("title", series.summary or series.title),
        *_bands(place, series),
        *_grid(place, series),
        tag("path", class_="path", d=path),
        *(mark for index, point in enumerate(series.points) if point.mark for mark in _mark(point, index, place)),
        *(_point(point, index, place, places) for index, point in enumerate(series.points)),
        class_="drift",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )


class _Place:
    """Mapping from points and values to coordinates of a drawing."""

    def __init__(self, points: Sequence[Point]) -> None:
        known = [point.value for point in points] + [point.ring for point in points if point.ring is not None]
        finite = [value for value in known if math.isfinite(value) and value > 0.0]
        self.low = math.floor(math.log10(max(_LEAST, min(finite, default=1e-8))))
        self.high = math.ceil(math.log10(max(finite, default=1.0)))
        self.low = min(self.low, self.high - 5)
        self.count = max(len(points) - 1, 1)

    def x(self, index: int) -> float:
        return LEFT + index / self.count * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        if _is_endless(value):
            return TOP
        height = 0.0 if value <= 0.0 else (math.log10(value) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - min(max(height, 0.0), 1.0) * (HEIGHT - TOP - BOTTOM)


def _bands(place: _Place, series: Series) -> Iterator[Markup]:
    """Yield a band behind every second module, and the names of those that are wide enough for them."""
    places = series.places if isinstance(series, AlongGraph) else ()
    paths = {place.name: "/".join((*place.modules, place.name)) for place in places}
    groups = groups_of([paths.get(point.name, point.name) for point in series.points])
    half = (WIDTH - LEFT - RIGHT) / place.count / 2
    for number, group in enumerate(groups):
        start, end = (
            max(LEFT, min(WIDTH - RIGHT, place.x(at) + shift))
            for at, shift in ((group.first, -half), (group.last, half))
        )
        if number % 2 == 0:
            height = HEIGHT - TOP - BOTTOM
            yield tag("rect", class_="band", x=f"{start:.1f}", y=TOP, width=f"{end - start:.1f}", height=height)
        if end - start > _LETTER * len(group.name):
            x, y = f"{(start + end) / 2:.1f}", HEIGHT - BOTTOM + 20
            yield tag("text", group.name, x=x, y=y, text_anchor="middle")


def _grid(place: _Place, series: Series) -> Iterator[Markup]:
    step = max(1, (place.high - place.low) // 6)
    for exponent in range(place.low, place.high + 1, step):
        y = place.y(10.0**exponent) if exponent > place.low else HEIGHT - BOTTOM
        yield tag("line", class_="axis", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}")
        label = f"≤1e{exponent}" if exponent == place.low else f"1e{exponent}"
        yield tag("text", label, x=LEFT - 6, y=f"{y + 4:.1f}", text_anchor="end")
    if any(_is_endless(point.value) for point in series.points):
        yield tag("text", "∞", x=LEFT - 6, y=TOP + 4, text_anchor="end")
    yield tag("text", series.ends[0], x=LEFT, y=HEIGHT - 4)
    yield tag("text", series.ends[1], x=WIDTH - RIGHT, y=HEIGHT - 4, text_anchor="end")


def _is_endless(value: float) -> bool:
    return math.isinf(value) or math.isnan(value)


def _mark(point: Point, index: int, place: _Place) -> Iterator[Markup]:
    x = place.x(index)
    anchor, shift = ("end", -6) if x > WIDTH / 2 else ("start", 6)
    room = int((max(x, WIDTH - x) - 12) / _LETTER)
    text = cut(point.mark, room)
    yield tag("line", class_="first", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=TOP - 8, y2=HEIGHT - BOTTOM)
    yield tag("text", text, class_="first", x=f"{x + shift:.1f}", y=TOP - 10, text_anchor=anchor)


def _point(point: Point, index: int, place: _Place, places: Mapping[str, str]) -> Markup:
    x, y = place.x(index), place.y(point.value)
    ring = None
    if point.ring is not None:
        ring = tag("circle", class_="own", cx=f"{x:.1f}", cy=f"{place.y(point.ring):.1f}", r="6")
    if _is_endless(point.value):  # beyond every axis: no circle at a place that a number could have
        shape = tag("path", class_="endless", d=f"M{x:.1f} {y - 5:.1f}l5 9h-10z")
    else:
        shape = _shape(x, y, point.state)
    drawn = (tag("title", point.text or point.name), shape)
    target = places.get(point.name)
    if target is None:
        return join(ring, tag("g", *drawn, class_=point.state))
    return join(ring, tag("a", *drawn, href=f"#{target}", class_=point.state))
