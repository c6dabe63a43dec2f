"""A module in float64, which tells of numbers inside that are beyond its type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import nan
from typing import Any

from numpy.typing import NDArray

from polycmp.tensors import to_numpy
from polycmp_torch.unwritten import filling
from polycmp_torch.values import flatten


def in_float64(torch: Any, module: Any, places: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return what a copy of a module makes in float64, by their places in what it returns.

    Args:
        torch: The module `torch`.
        module: The module.
        places: What it is called with.
        keywords: What it is called with by name.
    """

    def widened(tensor: Any) -> Any:
        return tensor.double() if tensor.is_floating_point() else tensor.clone()

    with torch.random.fork_rng(devices=[]), torch.no_grad(), filling(torch, nan):
        wide = deepcopy(module).double()
        returned = wide(*map(widened, places), **{name: widened(item) for name, item in keywords.items()})
        return {name or "output": to_numpy(tensor) for name, tensor in flatten(returned)}
