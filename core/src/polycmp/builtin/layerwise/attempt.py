"""One attempt of a backend at a segment of a graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from polycmp.builtin.layerwise.partition import Segment
from polycmp.runs import BackendRun


class Attempt(NamedTuple):
    """A segment with what came of running it.

    Attributes:
        segment: The segment that was run.
        live: The run of the backend.
        outputs: Outputs by name; None if the segment failed.
    """

    segment: Segment
    live: BackendRun
    outputs: Mapping[str, Any] | None


def restrict(segment: Segment, names: Collection[str]) -> Segment:
    """Return a segment that gives out no other tensors than these."""
    kept = frozenset(names)
    outputs = tuple(name for name in segment.outputs if name in kept)
    return replace(segment, outputs=outputs, wanted=tuple(name for name in segment.wanted if name in kept))
