"""A kernel for dimensions that a file leaves open, beside which that for known ones is right.

Asked of operators that are wrong together, of a model with open dimensions. It takes a run of each side, and one of the
whole model with the dimensions of its inputs.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from polycmp.graph import ModelGraph
from polycmp.tensors import Feed, format_shape, to_numpy
from polycmp_locate.pairing.view import declared_graph
from polycmp_locate.rounding.difference import distance
from polycmp_locate.setting import Setting
from polycmp_locate.trials.probing import is_removed
from polycmp_locate.values.judged import FUSION, Judged, Reason


def open_inputs(graph: ModelGraph, feed: Feed) -> list[str]:
    """Return the inputs whose dimensions a model leaves open."""
    return [name for name, entry in graph.inputs.items() if entry.is_dynamic() and name in feed]


def fixing_command(model: str, opened: Sequence[str], feed: Feed) -> str:
    """Return the command that writes a file whose inputs have the dimensions that they are fed with.

    Args:
        model: The model's file.
        opened: The inputs whose dimensions are open.
        feed: The inputs.
    """
    shapes = [f"{name}:{format_shape(to_numpy(feed[name]).shape)}" for name in opened]
    path = Path(model)
    written = path.with_name(f"{path.stem}_sized{path.suffix}")
    return shlex.join(["polycmp", "surgeon", "sanitize", model, "--override-input-shapes", *shapes, "-o", str(written)])


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield that the candidate is right of a file with the dimensions of the inputs, and what writes such a file."""
    candidate, reference = setting.candidate, setting.reference
    opened = open_inputs(candidate.graph, feed)
    outputs = [item.output for item in judged.finals if not item.passed]
    if judged.verdict != FUSION or not opened or not outputs or declared_graph(candidate.graph) is None:
        return
    actual, expected = candidate.run_whole(feed, outputs), reference.run_whole(feed, outputs)
    fixed = candidate.run_part(feed, outputs)
    if actual is None or expected is None or fixed is None:
        return
    error, remaining = (max(distance(side[name], expected[name]) for name in outputs) for side in (actual, fixed))
    if is_removed(remaining, error):
        yield Reason(
            f"of a file with these dimensions {candidate.label} makes the same but for {remaining:.2g} "
            f"relative, instead of {error:.2g}: it computes otherwise where they are open; "
            f"{fixing_command(candidate.result.model, opened, feed)} writes such a file"
        )
