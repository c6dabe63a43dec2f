"""An operator that may round what it reads to 8 bits, as its attribute allows, and does.

Asked of a product with weights of few bits that is accused and asks for no more accuracy than that of int8. It takes
two runs of the reference and one of the candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polycmp.tensors import Feed, to_numpy
from polycmp_locate.rounding.difference import distance
from polycmp_locate.setting import Setting
from polycmp_locate.trials.probing import is_removed
from polycmp_locate.values.judged import CAUSE, Judged

#: What `accuracy_level` of MatMulNBits says by 4: what it reads may be rounded to int8, block by block.
_INT8 = 4
_BLOCK = 32


def ask(found: Judged, setting: Setting, feed: Feed) -> Iterator[str]:
    """Yield that what the operator reads is rounded, where the reference makes the same of rounded numbers."""
    row = found.origin or found.first_bad
    if row is None or row.node.op_type != "MatMulNBits" or row.node.attributes.get("accuracy_level") != _INT8:
        return
    name = row.node.operand(0)
    shown = feed if name in feed else setting.reference.run_whole(feed, [name])
    if shown is None:
        return
    block = row.node.attributes.get("block_size", _BLOCK)
    given, rounded = {name: shown[name]}, {name: _rounded(to_numpy(shown[name]), block)}
    made, wanted = setting.candidate.run_part(given, [row.tensor]), setting.reference.run_part(given, [row.tensor])
    same = setting.reference.run_part(rounded, [row.tensor])
    if made is None or wanted is None or same is None:
        return
    error, left = (distance(made[row.tensor], side[row.tensor]) for side in (wanted, same))
    if is_removed(left, error):
        one, other = setting.candidate.label, setting.reference.label
        yield (
            f"{CAUSE}accuracy_level=4 of {row.node.label} allows rounding what it reads to 8 bits in blocks of "
            f"{block}, and {one} does: of numbers so rounded {other} makes the same but for {left:.2g} relative, "
            f"instead of {error:.2g}; accuracy_level=1 asks for float32"
        )


def _rounded(values: Any, block: int) -> Any:
    """Return numbers in steps of a 127th of the largest one of each block along the last axis."""
    rows = values.astype(np.float32).reshape(-1, values.shape[-1])
    wide = np.pad(rows, ((0, 0), (0, -rows.shape[1] % block)))
    blocks = wide.reshape(len(wide), -1, block)
    steps = np.abs(blocks).max(-1, keepdims=True) / 127
    steps[steps == 0] = 1
    made = (np.rint(blocks / steps) * steps).reshape(wide.shape)[:, : rows.shape[1]]
    return made.reshape(values.shape).astype(values.dtype)
