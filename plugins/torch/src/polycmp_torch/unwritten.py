"""Memory that a module returns without having written it, as `torch.empty` makes it.

It is seen by two runs in eager mode that find zeros and ones in such memory. What it holds otherwise is nobody's
result: it differs between compilers, and between runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import isnan
from typing import Any

from polycmp_torch.values import flatten, same_numbers

#: PyTorch's operators that make tensors which they do not write.
_MAKING = frozenset({"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"})


def find_unwritten(torch: Any, module: Any, places: Sequence[Any], keywords: Mapping[str, Any]) -> list[str]:
    """Return a remark on each tensor that a module returns with memory in it that nobody wrote.

    Args:
        torch: The module `torch`.
        module: The module, which is left as it is.
        places: What it is called with.
        keywords: What it is called with by name.
    """

    def returned(value: float) -> dict[str, Any]:
        inputs = [tensor.clone() for tensor in places]
        named = {name: tensor.clone() for name, tensor in keywords.items()}
        with filling(torch, value):
            return {name or "output": tensor.clone() for name, tensor in flatten(module(*inputs, **named))}

    with suppress(Exception), warnings.catch_warnings(), _unchanged(torch, module):
        warnings.simplefilter("ignore")
        state = torch.get_rng_state()
        zeros = returned(0)
        torch.set_rng_state(state)
        ones = returned(1)
        counts = {name: int((~same_numbers(value, ones[name])).sum()) for name, value in zeros.items()}
        return [
            f"{count} of {zeros[name].numel()} elements of {name!r} are memory that nobody wrote, as torch.empty makes "
            "it: they differ between compilers and runs, and none is wrong"
            for name, count in counts.items()
            if count
        ]
    return []


def filling(torch: Any, value: float) -> Any:
    """Return a context in which memory that nobody wrote holds one number; NaN is 0 in whole numbers.

    Args:
        torch: The module `torch`.
        value: The number.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    class Filling(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if func.__name__.partition(".")[0] in _MAKING:
                result.fill_(0 if isnan(value) and not result.is_floating_point() else value)
            return result

    return Filling()


@contextmanager
def _unchanged(torch: Any, module: Any) -> Iterator[None]:
    """Leave random numbers and a module's buffers as they were: a script may give it to another run, too."""
    held = [(buffer, buffer.detach().clone()) for buffer in module.buffers()] if hasattr(module, "buffers") else []
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        try:
            yield
        finally:
            for buffer, value in held:
                buffer.copy_(value)
