"""Descriptions of why a layer loses precision."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from polycmp_locate.precision.rank.result import Codes, LayerFigures, Ranking

#: A channel so many times larger than the median one is worth naming.
_OUTLIER = 20.0
_MUCH_LOST = 0.3
_LITTLE_USED = 0.1


def reason_of(item: LayerFigures) -> str:
    """Describe the effect of the smaller type on a layer; empty where nothing stands out."""
    return "; ".join(_reasons(item))


def why_in_float(item: LayerFigures, ranking: Ranking) -> str:
    """Return the reason why a layer stays in float."""
    words = [reason_of(item) or f"run alone, {_ratio(item.layer_ratio)}"]
    if item.without is not None:
        words.append(f"in the smaller type again, it leaves the outputs with {_ratio(item.without)}")
    elif item.alone is not None and ranking.reduced is not None:
        words.append(
            f"in float by itself, it takes the outputs from {_ratio(ranking.reduced.ratio)} to {_ratio(item.alone)}"
        )
    return "; ".join(words)


def _reasons(item: LayerFigures) -> Iterator[str]:
    if item.overflows:
        yield "numbers become infinite or NaN"
    beyond = max(item.codes, key=lambda code: code.saturated, default=None)
    if beyond is not None and beyond.saturated:
        yield f"{_share(beyond.saturated)} of {beyond.tensor!r} is beyond {beyond.type}"
    lost = max(item.codes, key=lambda code: code.underflow, default=None)
    if lost is not None and lost.underflow > _MUCH_LOST:
        yield f"{_share(lost.underflow)} of {lost.tensor!r} becomes zero in {lost.type}"
    yield from _unused(item.codes)
    if item.peak is not None and item.peak[2] and item.peak[1] > _OUTLIER * item.peak[2]:
        channel, top, median = item.peak
        yield f"channel {channel} of its input reaches {top:.3g}, the median channel {median:.3g}"


def _unused(codes: Sequence[Codes]) -> Iterator[str]:
    known = [code for code in codes if code.used is not None]
    least = min(known, key=lambda code: code.used or 0.0, default=None)
    if least is not None and least.used is not None and least.used < _LITTLE_USED:
        yield f"{least.tensor!r} uses {_share(least.used)} of the range of {least.type}"


def _share(share: float) -> str:
    return f"{100 * share:.2g} %"


def _ratio(value: float) -> str:
    """Describe a signal-to-noise ratio."""
    if math.isinf(value):
        return "no error" if value > 0 else "infinity or NaN"
    return f"a signal-to-noise ratio of {value:.0f} dB"
