"""A product with weights of few bits whose other operand a backend rounds to 8 bits, as it may.

Asked of MatMulNBits that is accused and whose attribute allows that, and of products that are wrong together with the
DequantizeLinear of their weights. It takes four runs at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polycmp.graph import GraphNode
from polycmp.tensors import Feed, to_numpy
from polycmp_locate.causes.saturation import quantised_products
from polycmp_locate.rounding.difference import distance
from polycmp_locate.setting import Setting, Tensors
from polycmp_locate.trials.probing import is_removed
from polycmp_locate.values.judged import FUSION, Judged, Reason

#: What `accuracy_level` of MatMulNBits says by 4: what it reads may be rounded to int8, block by block.
_INT8 = 4
_BLOCK = 32
#: What to do instead.
_IN_FILE = "accuracy_level=1 asks for float32"
_IN_SESSION = "in ONNX Runtime session.qdq_matmulnbits_accuracy_level:1, a configuration entry, asks for float32"


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield that what a product reads is rounded, where the reference makes the same of rounded numbers."""
    if judged.verdict == FUSION:
        yield from _ask_together(judged, setting, feed)
        return
    row = judged.accused
    if row is None or row.node.op_type != "MatMulNBits" or row.node.attributes.get("accuracy_level") != _INT8:
        return
    name = row.node.operand(0)
    shown = feed if name in feed else setting.reference.run_whole(feed, [name])
    if shown is None:
        return
    inputs = {name: shown[name]}
    sides = setting.candidate.run_part(inputs, [row.tensor]), setting.reference.run_part(inputs, [row.tensor])
    tried = _try(setting, inputs, name, row.node.attributes.get("block_size", _BLOCK), sides)
    if tried is not None:
        yield _reason(tried, setting, row.node, "accuracy_level=4 allows rounding", _IN_FILE)


def _ask_together(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield so of a product that is wrong together with the DequantizeLinear of its weights."""
    outputs = [item.output for item in judged.finals if not item.passed]
    sides: Sequence[Tensors | None] = ()
    for node, read in quantised_products(judged, setting):
        names = [name for name in node.inputs if name not in read and name not in setting.reference.graph.weights]
        if len(names) != 1:
            continue
        sides = sides or (setting.candidate.run_whole(feed, outputs), setting.reference.run_whole(feed, outputs))
        tried = _try(setting, feed, names[0], _BLOCK, sides)
        if tried is not None:
            yield _reason(tried, setting, node, "a kernel for weights of few bits may round", _IN_SESSION)
            return


@dataclass(frozen=True)
class _Tried:
    """A trial with rounded numbers.

    Attributes:
        block: Numbers that share a step.
        error: Error of the candidate, relative.
        remaining: Its error beside what the reference makes of rounded numbers.
    """

    block: int
    error: float
    remaining: float


def _try(setting: Setting, feed: Feed, name: str, block: int, sides: Sequence[Tensors | None]) -> _Tried | None:
    """Return the trial, if most of an error is gone where the reference reads a tensor in rounded numbers."""
    shown = feed if name in feed else setting.reference.run_whole(feed, [name])
    actual, expected = sides
    if shown is None or actual is None or expected is None or not to_numpy(shown[name]).size:
        return None
    same = setting.reference.run_part({**feed, name: _rounded(to_numpy(shown[name]), block)}, list(expected))
    if same is None:
        return None
    error, remaining = (max(distance(actual[key], side[key]) for key in expected) for side in (expected, same))
    return _Tried(block, error, remaining) if is_removed(remaining, error) else None


def _reason(tried: _Tried, setting: Setting, node: GraphNode, allowed: str, instead: str) -> Reason:
    one, other = setting.candidate.label, setting.reference.label
    return Reason(
        f"{allowed} what {node.label} reads to 8 bits in blocks of {tried.block}, and {one} does: of numbers so "
        f"rounded {other} makes the same but for {tried.remaining:.2g} relative, instead of {tried.error:.2g}; "
        f"{instead}"
    )


def _rounded(values: Any, block: int) -> Any:
    """Return numbers in steps of a 127th of the largest one of each block along the last axis."""
    rows = values.astype(np.float32).reshape(-1, values.shape[-1])
    wide = np.pad(rows, ((0, 0), (0, -rows.shape[1] % block)))
    blocks = wide.reshape(len(wide), -1, block)
    steps = np.abs(blocks).max(-1, keepdims=True) / 127
    steps[steps == 0] = 1
    rounded = (np.rint(blocks / steps) * steps).reshape(wide.shape)[:, : rows.shape[1]]
    return rounded.reshape(values.shape).astype(values.dtype)
