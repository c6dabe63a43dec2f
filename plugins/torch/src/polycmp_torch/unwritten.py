"""Memory that a module returns without having written it, as `torch.empty` makes it.

It is seen by two runs in eager mode: PyTorch fills such memory with NaN, or the largest whole number, where it is asked
to be deterministic. What it holds otherwise is nobody's result: it differs between compilers, and between runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from polycmp_torch.values import flatten


def find_unwritten(torch: Any, module: Any, places: Sequence[Any], keywords: Mapping[str, Any]) -> list[str]:
    """Return a remark on each tensor that a module returns with memory in it that nobody wrote.

    Args:
        torch: The module `torch`.
        module: The module, which is left as it is.
        places: What it is called with.
        keywords: What it is called with by name.
    """

    def returned() -> dict[str, Any]:
        inputs = [tensor.clone() for tensor in places]
        named = {name: tensor.clone() for name, tensor in keywords.items()}
        return {name or "output": value.clone() for name, value in flatten(module(*inputs, **named))}

    with suppress(Exception), warnings.catch_warnings(), _unchanged(torch, module):
        warnings.simplefilter("ignore")
        state = torch.get_rng_state()
        plain = returned()
        torch.set_rng_state(state)
        with _filling(torch):
            filled = returned()
        return [remark for name, value in plain.items() if (remark := _told(torch, name, value, filled[name]))]
    return []


def _told(torch: Any, name: str, plain: Any, filled: Any) -> str:
    if plain.dtype == torch.bool or plain.is_complex():
        return ""
    if plain.is_floating_point():
        places = filled.isnan() & ~plain.isnan()
    else:
        largest = torch.iinfo(plain.dtype).max
        places = (filled == largest) & (plain != largest)
    count = int(places.sum())
    if not count:
        return ""
    return (
        f"{count} of {places.numel()} elements of {name!r} are memory that nobody wrote, as torch.empty makes it: "
        "they differ between compilers and runs, and none is wrong"
    )


@contextmanager
def _filling(torch: Any) -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


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
