"""Places along a model's graph, grouped by module: groups that open and close, each with its worst figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polycmp.report import BAD, AlongGraph, Measure, Place, figure
from polycmp.report.elements import Markup, join, tag
from polycmp_report.page.sections import breakable, card, scrolling

#: Errors below this, relative, have no bar.
_LEAST = 1e-9

STYLE = """
.outline { padding: 0 20px 16px; font-size: 13px; } .outline > * { min-width: 980px; }
.outline .line { display: grid; gap: 0 14px; padding: 4px 0; border-top: 1px solid var(--line); align-items: baseline;
  grid-template-columns: minmax(220px, 2fr) var(--columns); color: inherit; text-decoration: none; }
.outline .line > :first-child { padding-left: calc(var(--depth, 0) * 16px + 16px); font-weight: 400; }
.outline .line > * { overflow-wrap: anywhere; min-width: 0; }
.outline .head { color: var(--soft); font-size: 12.5px; border: 0; }
.outline summary { cursor: pointer; list-style: none; } .outline summary::-webkit-details-marker { display: none; }
.outline summary b { font: 650 13.5px var(--mono); } .outline summary b::before { content: "▸ "; color: var(--soft); }
.outline details[open] > summary b::before { content: "▾ "; }
.outline summary:hover, .outline a.line:hover { background: var(--hover); }
.outline .told { grid-column: span var(--texts); color: var(--soft); }
.outline .skipped { color: var(--soft); font-style: italic; }
.outline .failed > :first-child { color: var(--fail); } .outline a.chosen { background: var(--fail-back); }
.outline .worth { text-align: right; font-family: var(--mono); } .outline .worth i { display: block; height: 4px;
  border-radius: 2px; background: var(--bar); margin-left: auto; }
.outline .failed .worth i { background: var(--fail); }
"""


@dataclass
class Group:
    """A module.

    Attributes:
        name: Name of the module inside the module around it.
        items: Content in the order of the graph: places, and modules where their first place is.
    """

    name: str = ""
    items: list[Place | Group] = field(default_factory=list)

    @property
    def places(self) -> Iterator[Place]:
        """All places in it and in the modules inside it."""
        for item in self.items:
            if isinstance(item, Group):
                yield from item.places
            else:
                yield item


def grouped(places: Sequence[Place]) -> Group:
    """Return places by module, a module that holds nothing but another one together with that.

    Args:
        places: The places in the order of the graph.
    """
    root = Group()
    known: dict[tuple[str, ...], Group] = {(): root}
    for place in places:
        for depth, name in enumerate(place.modules):
            path = place.modules[: depth + 1]
            if path not in known:
                known[path] = Group(name)
                known[path[:-1]].items.append(known[path])
        known[place.modules].items.append(place)
    return _joined(root)


def _joined(group: Group) -> Group:
    items: list[Place | Group] = [_joined(item) if isinstance(item, Group) else item for item in group.items]
    only = items[0] if len(items) == 1 else None
    if isinstance(only, Group):
        return Group(".".join(filter(None, (group.name, only.name))), only.items)
    return Group(group.name, items)


def worst(measure: Measure, values: Sequence[float | None]) -> float | None:
    """Return the worst of some figures; None if there is none.

    Args:
        measure: The measure of the figures.
        values: The figures; NaN is worse than any number.
    """
    known = [value for value in values if value is not None]
    nan = next((value for value in known if math.isnan(value)), None)
    if nan is not None or not known:
        return nan
    return min(known) if measure.falls else max(known)


def outline_card(series: AlongGraph, places: Mapping[str, str]) -> Markup:
    """Return the places of a series as a card.

    Args:
        series: The series.
        places: The element with a row's details, by the row's name.
    """
    drawer = _Drawer(series, places)
    group = grouped(series.places)
    alone = sum(place.state == "skipped" for place in series.places)
    counted = f"; {alone} tensors have no counterpart" if alone else ""
    remark = f"{len(series.places) - alone} in the order of the graph, each module with its worst figures{counted}"
    texts, measures = len(series.headings), len(series.measures)
    columns = f"--texts: {max(texts, 1)}; --columns: repeat({max(texts, 1)}, 1.4fr) repeat({measures}, 88px)"
    names = [tag("span", series.name_title), *(tag("span", name) for name in series.headings or ("",))]
    titles = [tag("span", " ".join(filter(None, (item.title, item.unit))), class_="worth") for item in series.measures]
    body = tag("div", tag("div", *names, *titles, class_="line head"), *drawer.items(group, 0), style=columns)
    title = "The graph by module"
    return card(title, remark, scrolling(body, "scroll outline", aria_label=title))


class _Drawer:
    """Draws groups and places of one series.

    Args:
        series: The series.
        places: The element with a row's details, by the row's name.
    """

    def __init__(self, series: AlongGraph, places: Mapping[str, str]) -> None:
        self.measures, self.failed, self.links = series.measures, series.failed, places
        self.scales = [
            _Scale(measure, [_figure(place, at) for place in series.places])
            for at, measure in enumerate(series.measures)
        ]

    def items(self, group: Group, depth: int) -> Iterator[Markup]:
        for item in group.items:
            yield self._group(item, depth) if isinstance(item, Group) else self._place(item, depth)

    def _group(self, group: Group, depth: int) -> Markup:
        places = list(group.places)
        bad, alone = sum(place.state in BAD for place in places), sum(place.state == "skipped" for place in places)
        counts = [f"{len(places) - alone} in it"]
        counts += [f"{bad} {self.failed}"] if bad else []
        counts += [f"{alone} without counterpart"] if alone else []
        worsts = [worst(measure, [_figure(place, at) for place in places]) for at, measure in enumerate(self.measures)]
        line = tag(
            "summary",
            tag("span", tag("b", breakable(group.name))),
            tag("span", ", ".join(counts), class_="told"),
            *self._worths(worsts),
            class_=f"line{' failed' if bad else ''}",
            style=f"--depth: {depth}",
        )
        return tag(
            "details", line, *self.items(group, depth + 1), open=not depth or any(place.chosen for place in places)
        )

    def _place(self, place: Place, depth: int) -> Markup:
        target = self.links.get(place.name) if place.name else None
        texts = place.texts or ("",)
        return tag(
            "a" if target else "div",
            tag("span", breakable(place.name) if place.name else "–", class_="name"),
            *(tag("span", breakable(text) if text else "–") for text in texts),
            *self._worths([_figure(place, at) for at in range(len(self.measures))]),
            class_=f"line {place.state}{' chosen' if place.chosen else ''}",
            style=f"--depth: {depth}",
            href=f"#{target}" if target else None,
        )

    def _worths(self, values: Sequence[float | None]) -> Iterator[Markup]:
        for scale, value in zip(self.scales, values, strict=True):
            if value is None:
                yield tag("span", "–", class_="worth")
            else:
                bar = tag("i", style=f"width: {100 * scale.share(value):.0f}%")
                yield tag("span", join(scale.text(value), bar), class_="worth")


class _Scale:
    """Mapping from figures of a measure to lengths of bars."""

    def __init__(self, measure: Measure, values: Sequence[float | None]) -> None:
        self._measure = measure
        finite = [value for value in values if value is not None and math.isfinite(value)]
        if measure.unit:
            self._low, self._high = min(finite, default=0.0), max(finite, default=1.0)
        else:
            self._low = math.log10(_LEAST)
            self._high = math.log10(max(*finite, 1e-6, _LEAST)) if finite else 0.0

    def share(self, value: float) -> float:
        """Return the length of a bar as a share of the width, the longest for the worst."""
        if not math.isfinite(value):
            return 1.0 if math.isnan(value) or (value > 0) != self._measure.falls else 0.0
        at = value if self._measure.unit else math.log10(max(value, _LEAST))
        share = (at - self._low) / ((self._high - self._low) or 1.0)
        return min(max(1.0 - share if self._measure.falls else share, 0.0), 1.0)

    def text(self, value: float) -> str:
        """Return a figure as text."""
        if self._measure.unit and math.isinf(value):
            return "exact" if value > 0 else "broken"
        return figure(value, 3 if self._measure.unit else 2)


def _figure(place: Place, at: int) -> float | None:
    return place.figures[at] if at < len(place.figures) else None
