"""Test of operators between quantised tensors that are right one by one: wrong together, or only rounding ties."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.layerwise import PartitionedRun
from polycmp.tensors import Feed, to_numpy
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import accumulated_limit, step_limit, tie_width
from polycmp_locate.setting import Setting
from polycmp_locate.trials.flow import Flow
from polycmp_locate.values.measured import Row

Tensors = Mapping[str, Any]
#: Quantised tensors up to which each part between them is run alone.
_MOST = 512


@dataclass(frozen=True)
class _Steps:
    """A quantised tensor, the tensor before it and the one after it.

    Attributes:
        row: The tensor.
        start: Tensor that is quantised; the row's own where that is more than QuantizeLinear's input.
        end: It scaled back; the tensor itself where nothing does that.
    """

    row: Row
    start: str
    end: str

    def step(self, held: Tensors) -> float:
        """Return one step in real numbers, by what is held of the tensor."""
        values, whole = (to_numpy(held[name]).astype(np.float64) for name in (self.end, self.row.tensor))
        steps = np.ptp(whole) if whole.size else 0.0
        return float(np.ptp(values) / steps) if steps else np.inf


def _steps_of(rows: Iterable[Row], flow: Flow) -> list[_Steps]:
    found = []
    for row in rows:
        if row.in_steps:
            start = row.node.inputs[0] if row.node.op_type == "QuantizeLinear" else row.tensor
            found.append(_Steps(row, start, _scaled_back(flow, row.tensor)))
    return found


def _scaled_back(flow: Flow, name: str) -> str:
    reader = next((node for node in flow.readers(name) if node.op_type == "DequantizeLinear"), None)
    return name if reader is None or reader.inputs[0] != name else reader.outputs[0]


def is_wrong_between_steps(setting: Setting, feed: Feed, rows: Sequence[Row], failing: Collection[str]) -> bool:
    """Return whether the candidate's operators between quantised tensors are wrong together, where they run alone.

    A part of the model between two quantised tensors is what backends fuse into one kernel of whole numbers. On the
    reference's tensors it may come out a step away, at a tie; after the last of them there is no tie.

    Args:
        setting: The backends to search, and the tools for it.
        feed: The inputs.
        rows: The tensors, in the order of the graph.
        failing: The outputs that are outside the tolerance.
    """
    flow = Flow(setting.reference.graph.nodes)
    # Backends fuse what lies between quantising and scaling back: quantised tensors at the borders would be in the way.
    steps = _steps_of(rows, flow)
    around = (name for item in steps for name in (item.row.tensor, item.start, item.end))
    names = [name for name in dict.fromkeys([*around, *failing]) if name not in feed]
    held = setting.reference.run_part(feed, names) if steps and len(steps) <= _MOST else None
    if held is None:
        return False
    held = {**feed, **held}
    known = {**feed, **{item.start: held[item.start] for item in steps}}
    limit = accumulated_limit(len(rows), max((row.unit for row in rows), default=0.0))

    def end_of(name: str, without: str = "") -> Any:
        """Run the candidate up to the end of a part; None if it cannot run that."""
        border = known.keys() - ({without} - feed.keys())
        inputs = _read(flow, [name], {item: known[item] for item in border})
        made = setting.candidate.run_part(inputs, [name]) if inputs else None
        return None if made is None else made[name]

    for item in steps:
        made = end_of(item.end, item.start)
        if made is not None and not _is_rounding(setting.reference, flow, item, feed, held, made, limit):
            return True
    behind = [name for name in failing if name not in known and name not in {item.end for item in steps}]
    finals = {name: end_of(name) for name in behind}
    return any(made is not None and distance(made, held[name]) > limit for name, made in finals.items())


def _read(flow: Flow, names: Iterable[str], border: Feed) -> Feed:
    """Return those tensors of a border that some tensors are made of."""
    wanted = {item for name in names for item in flow.before(name, border.keys())}
    return {name: array for name, array in border.items() if name in wanted}


def _is_rounding(
    run: PartitionedRun, flow: Flow, item: _Steps, feed: Feed, held: Tensors, made: Any, limit: float
) -> bool:
    """Return whether rounding explains how far a tensor, scaled back, is off from what is held."""
    own, other, step = to_numpy(made), to_numpy(held[item.end]), item.step(held)
    if own.shape != other.shape:
        return False
    if not np.isfinite(step):
        return True
    apart = np.rint((own.astype(np.float64) - other) / step)
    if not apart.any() or distance(own, other) <= limit:
        return True
    if not np.abs(apart).max() <= step_limit(item.row.input_unit):
        return False
    codes = to_numpy(held[item.row.tensor]).astype(np.int64) + apart.astype(np.int64)
    return _are_ties(run, flow, [item], feed, held, {item.row.tensor: codes}, limit)


def _are_ties(
    run: PartitionedRun, flow: Flow, steps: Iterable[_Steps], feed: Feed, held: Tensors,
    codes: Mapping[str, NDArray[Any]], limit: float,
) -> bool:  # fmt: skip
    """Return whether a backend makes each code of numbers that are a small part of a step away.

    Args:
        run: The backend to ask.
        flow: Data flow of the graph.
        steps: The quantised tensors in question; whole numbers that nothing was quantised to are no ties.
        feed: The inputs.
        held: Tensors that are quantised, and those that tell the steps, by name.
        codes: The codes in question.
        limit: Largest error of the quantised tensor that rounding explains, relative.
    """
    steps = [item for item in steps if item.start != item.row.tensor and np.isfinite(item.step(held))]
    names = [item.row.tensor for item in steps]
    sides = []
    for sign in (-1.0, 1.0):
        moved = {}
        for item in steps:
            x = to_numpy(held[item.start])
            by = max(tie_width(item.row.input_unit) * item.step(held), limit * float(np.abs(x).max(initial=0.0)))
            moved[item.start] = (x.astype(np.float64) + sign * by).astype(x.dtype)
        made = run.run_part(_read(flow, names, {**feed, **moved}), names) if names else {}
        if made is None:
            return False
        sides.append({name: to_numpy(array).astype(np.int64) for name, array in made.items()})
    low, high = sides
    return all(bool(((low[name] <= codes[name]) & (codes[name] <= high[name])).all()) for name in names)


def ties_that_grow(
    sides: tuple[PartitionedRun, PartitionedRun], feed: Feed, rows: Sequence[Row], outputs: Collection[str],
    is_wrong: Callable[[Tensors], bool],
) -> tuple[Row, int, int] | None:  # fmt: skip
    """Return the tensor from which fused operators round ties otherwise, if nothing else is the matter with them.

    The quantised tensors of the whole model are looked at by probes that leave the outputs wrong. The other backend
    makes of them what was quantised, and of that the same codes but for ties, and the same wrong outputs.

    Args:
        sides: The backend that fuses operators, and the other.
        feed: The inputs.
        rows: The tensors, in the order of the graph.
        outputs: The outputs in question.
        is_wrong: Predicate over those outputs: whether most of their error is there.
    """
    fusing, other = sides
    flow = Flow(other.graph.nodes)
    steps = [item for item in _steps_of(rows, flow) if item.start != item.row.tensor]
    names = [item.row.tensor for item in steps]
    made = fusing.run_whole(feed, list(dict.fromkeys([*outputs, *names]))) if names else None
    if made is None or not is_wrong({name: made[name] for name in outputs}):
        return None
    known = {**feed, **{name: made[name] for name in names}}
    around = (name for item in steps for name in (item.start, item.end))
    wanted = [name for name in dict.fromkeys([*around, *outputs]) if name not in known]
    again = other.run_part(_read(flow, wanted, known), wanted)
    if again is None:
        return None
    held, limit = {**known, **again}, accumulated_limit(len(rows), max(row.unit for row in rows))
    codes = {name: to_numpy(made[name]).astype(np.int64) for name in names}
    if any(distance(made[name], held[name]) > limit for name in outputs):
        return None  # after the last quantised tensor something is wrong, too
    if not _are_ties(other, flow, steps, feed, held, codes, limit):
        return None
    quantised = {**feed, **{item.start: held[item.start] for item in steps}}
    plain = other.run_part(_read(flow, names, quantised), names) or {}
    for item in (item for item in steps if item.row.tensor in plain):
        name = item.row.tensor
        count = int(np.count_nonzero(to_numpy(plain[name]).astype(np.int64) != codes[name]))
        if count:
            return item.row, count, codes[name].size
    return None
