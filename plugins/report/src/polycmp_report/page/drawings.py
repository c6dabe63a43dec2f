"""Small drawings: distributions as inline SVG, bars, and small pictures."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator

from polycmp.report import Bar, Histogram, Thumbnail
from polycmp.report.elements import Markup, join, tag

WIDTH, HEIGHT = 560, 170
LEFT, RIGHT, TOP, BOTTOM = 8, 8, 20, 26
SPARK = (96, 22)


def histogram_svg(histogram: Histogram) -> Markup:
    """Return the histogram with a logarithmic axis, and a mark at its limit."""
    scale = _Scale(histogram)
    peak = max(histogram.counts, default=0) or 1
    bars = [_bar(scale, histogram, index, peak) for index in range(len(histogram.counts)) if histogram.counts[index]]
    total = sum(histogram.counts)
    label = (
        f"Distribution of {histogram.title.lower()} of {total} elements, from {histogram.edges[0]:.3g} "
        f"to {histogram.edges[-1]:.3g}, at most {peak} in one bin"
    )
    return tag(
        "svg",
        tag("title", label),
        *bars,
        tag("line", class_="axis", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM),
        *_ticks(scale),
        _mark(scale, histogram),
        class_="histogram",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )


def spark_svg(histogram: Histogram) -> Markup:
    """Return the histogram as a small picture without words."""
    width, height = SPARK
    peak = max(histogram.counts, default=0) or 1
    step = width / max(len(histogram.counts), 1)
    # One path for all bars: a page has hundreds of these pictures.
    bars = [
        f"M{index * step:.0f} {height}v-{_share(count, peak) * height:.0f}h{max(step - 1, 1):.0f}V{height}z"
        for index, count in enumerate(histogram.counts)
        if count
    ]
    return tag("svg", tag("path", d="".join(bars)), class_="spark", viewBox=f"0 0 {width} {height}", aria_hidden="true")


def _share(count: int, peak: int) -> float:
    """Return a bar's height; even one element among millions must be seen."""
    return max(count / peak, 0.05)


class _Scale:
    """Mapping from errors to positions on the axis."""

    def __init__(self, histogram: Histogram) -> None:
        low, high = histogram.edges[0], histogram.edges[-1]
        limit = histogram.limit
        if limit is not None and limit > 0:
            low, high = min(low, limit / 1.5), max(high, limit * 1.5)
        self.low, self.high = _log(low), _log(high)
        if self.high <= self.low:
            self.high = self.low + 1

    def __call__(self, error: float) -> float:
        return LEFT + (_log(error) - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)


def _log(value: float) -> float:
    return math.log10(value) if 0 < value < math.inf else (308.0 if value > 0 else -308.0)


def _bar(scale: _Scale, histogram: Histogram, index: int, peak: int) -> Markup:
    low, high = histogram.edges[index], histogram.edges[index + 1]
    count = histogram.counts[index]
    height = _share(count, peak) * (HEIGHT - TOP - BOTTOM)
    start, end = scale(low), scale(high)
    words = f"{count} elements up to {high:.3g}" if index == 0 else f"{count} elements between {low:.3g} and {high:.3g}"
    return tag(
        "rect",
        tag("title", words),
        x=f"{start + 0.5:.1f}",
        y=f"{HEIGHT - BOTTOM - height:.1f}",
        width=f"{max(end - start - 1, 0.8):.1f}",
        height=f"{height:.1f}",
        rx="1.5",
    )


def _ticks(scale: _Scale) -> Iterator[Markup]:
    first, last = math.ceil(scale.low), math.floor(scale.high)
    step = max(1, math.ceil((last - first + 1) / 8))
    for exponent in range(first, last + 1, step):
        x = scale(10.0**exponent) if -308 <= exponent <= 308 else LEFT
        anchor = "start" if x < 30 else "end" if x > WIDTH - 30 else "middle"
        yield join(
            tag("line", class_="axis", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM + 4),
            tag("text", f"1e{exponent}", x=f"{x:.1f}", y=HEIGHT - 7, text_anchor=anchor),
        )


def _mark(scale: _Scale, histogram: Histogram) -> Markup | None:
    limit = histogram.limit
    if limit is None or limit <= 0:
        return None
    x = scale(limit)
    anchor, shift = ("end", -4) if x > WIDTH / 2 else ("start", 4)
    return join(
        tag("line", class_="mark", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=6, y2=HEIGHT - BOTTOM),
        tag("text", f"{histogram.limit_name} {limit:g}", class_="mark", x=f"{x + shift:.1f}", y=14, text_anchor=anchor),
    )


def thumbnail(picture: Thumbnail) -> Markup:
    """Return a small picture."""
    return tag("img", src=png_address(picture.png), alt=picture.text, title=picture.text, class_="thumbnail")


def png_address(png: bytes) -> str:
    """Return the address under which a page holds a picture itself."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def bars(bar: Bar) -> Markup:
    """Return bars over each other."""
    parts = (tag("i", style=f"width:{max(100 * share, 0.5):.1f}%") for share in bar.shares)
    return tag("div", *parts, class_="bar")
