"""Whether operators that are right one by one are wrong together between quantised tensors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from polycmp.tensors import Feed, to_numpy
from polycmp_locate.decisions import accumulated_limit, step_limit
from polycmp_locate.flow import Flow
from polycmp_locate.measure import distance
from polycmp_locate.result import Row
from polycmp_locate.setting import Setting

#: Quantised tensors up to which each part between them is run alone.
_MOST = 512
#: What scaling back may round.
_ROUNDING = 1.0 + 2.0**-20


def is_wrong_between_steps(setting: Setting, feed: Feed, rows: Sequence[Row], failing: Collection[str]) -> bool:
    """Return whether the candidate's operators between quantised tensors are wrong together, where they run alone.

    A part of the model between two quantised tensors is what backends fuse into one kernel of whole numbers. On the
    reference's tensors it may come out a step away, at a tie; behind the last of them there is no tie.

    Args:
        setting: Who is searched.
        feed: The inputs.
        rows: The tensors, in the order of the graph.
        failing: The outputs that are outside the tolerance.
    """
    steps = {row.tensor: row for row in rows if row.in_steps}
    flow = Flow(setting.reference.graph.nodes)
    # Backends fuse what lies between quantising and scaling back: quantised tensors at the borders would be in the way.
    starts = {row.tensor: _before_quantising(row) for row in steps.values()}
    ends = {name: _scaled_back(flow, name) for name in steps}
    names = [name for name in dict.fromkeys([*steps, *starts.values(), *ends.values(), *failing]) if name not in feed]
    held = setting.reference.run_part(feed, names) if steps and len(steps) <= _MOST else None
    if held is None:
        return False
    known = {**feed, **{name: held[name] for name in starts.values() if name not in feed}}
    limit = accumulated_limit(len(rows), max((row.unit for row in rows), default=0.0), 0.0)

    def off(end: str, without: str = "") -> float:
        """Return how far the candidate is off at the end of a part, relative; 0 if it cannot run that."""
        border = known.keys() - ({without} - feed.keys())
        inputs = {item: known[item] for item in flow.before(end, border) & border}
        made = setting.candidate.run_part(inputs, [end]) if inputs else None
        return 0.0 if made is None else distance(made[end], held[end])

    for name, row in steps.items():
        allowed = max(limit, step_limit(row.input_unit) * _step(held[ends[name]], held[name]))
        if off(ends[name], starts[name]) > allowed * _ROUNDING:
            return True
    return any(off(name) > limit for name in failing if name not in known)


def _before_quantising(row: Row) -> str:
    return row.node.inputs[0] if row.node.op_type == "QuantizeLinear" else row.tensor


def _scaled_back(flow: Flow, name: str) -> str:
    reader = next((node for node in flow.readers(name) if node.op_type == "DequantizeLinear"), None)
    return name if reader is None or reader.inputs[0] != name else reader.outputs[0]


def _step(scaled: Any, codes: Any) -> float:
    """Return one step of a quantised tensor as a share of its largest magnitude."""
    values, whole = (to_numpy(array).astype(np.float64).reshape(-1) for array in (scaled, codes))
    largest = np.abs(values).max(initial=0.0)
    steps = np.ptp(whole) if whole.size else 0.0
    return float(np.ptp(values) / steps / largest) if steps and largest else np.inf
