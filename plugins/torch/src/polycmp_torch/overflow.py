"""Numbers inside a module that are beyond its type, as the module in float64 tells.

A compiler that keeps what is between two operators in a wider type, or leaves both out, makes a number where eager mode
makes infinity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from math import nan
from typing import Any

from polycmp_torch.unwritten import filling
from polycmp_torch.values import flatten


def find_overflows(
    torch: Any, module: Any, places: Sequence[Any], keywords: Mapping[str, Any], returned: Sequence[tuple[str, Any]]
) -> list[str] | None:
    """Return a remark on the first tensor with infinities or NaN that float64 makes finite.

    It is None where all are finite, or an input is not.

    Args:
        torch: The module `torch`.
        module: The module, of which a copy runs.
        places: What it was called with.
        keywords: What it was called with by name.
        returned: The tensors that it returned, with their names.
    """
    kinds = {torch.float32, torch.float16, torch.bfloat16}

    def is_lost(tensor: Any) -> bool:
        return tensor.dtype in kinds and not bool(tensor.isfinite().all())

    def widened(tensor: Any) -> Any:
        return tensor.double() if tensor.is_floating_point() else tensor.clone()

    if not any(is_lost(tensor) for _, tensor in returned) or any(map(is_lost, (*places, *keywords.values()))):
        return None
    with suppress(Exception), torch.random.fork_rng(devices=[]), torch.no_grad(), filling(torch, nan):
        # It is a remark: many a module has no other type.
        wide = deepcopy(module).double()
        made = dict(flatten(wide(*map(widened, places), **{name: widened(item) for name, item in keywords.items()})))
        for name, tensor in returned:
            value = made.get(name)
            if value is None or value.dtype != torch.float64 or value.shape != tensor.shape or not is_lost(tensor):
                continue
            beyond = value.isfinite() & ~tensor.isfinite()
            if beyond.any():
                kind = str(tensor.dtype).removeprefix("torch.")
                return [
                    f"a number inside is beyond {kind}: {int(beyond.sum())} of {beyond.numel()} elements of "
                    f"{name or 'output'!r} are infinite or NaN here, of which float64 makes "
                    f"{value[beyond][0].item():.6g} first; a compiler may leave out such a step, or keep it in a wider "
                    "type, so a run that holds what float64 makes is not wrong"
                ]
    return []
