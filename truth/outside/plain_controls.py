"""Tells how far three modules, compiled and not, are from the same in float64, gradients included; without polycmp.

    python plain_controls.py FOLDER

Of each, on inputs where polycmp accuses what was said to be mended, a line of JSON for each tensor: its largest error
in eager mode and compiled, and the largest true value; how far eager mode and the compiled module are apart, and how
far eager mode is from itself where all that operators make is moved by up to two roundings. A NaN on one side alone is
an infinite error. The remarks in `torch_compile_cases/__init__.py` say what it showed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from plain_torch import load  # type: ignore[import-not-found] # it lies beside this file
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

_SEEDS = range(1, 9)


class Moved(TorchDispatchMode):  # type: ignore[misc]
    """Moves each number that an operator makes at random by up to two roundings to its type."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator, and move what it makes unless that is a view."""
        made = function(*args, **(kwargs or {}))
        is_view = any(item.alias_info is not None for item in function._schema.returns)  # noqa: SLF001
        return made if is_view else tree_map(self._moved, made)

    def _moved(self, item: Any) -> Any:
        if not isinstance(item, torch.Tensor) or not item.is_floating_point():
            return item
        share = 2 * torch.rand(item.shape, generator=self.random) - 1
        return item + item * share.to(item.dtype) * torch.finfo(item.dtype).eps


def feed_of(case: str, module: Any) -> Mapping[str, Any]:
    """Return the inputs of a case."""
    if case == "issue_145379":
        return {"x": torch.tensor([torch.nan, 0.3, 0.5, 0.9] * 10)}
    if case == "issue_148241":
        return {"x": torch.linspace(-1e-5, 1e-5, 3200).reshape(1, 2, 40, 40)}
    feed: Mapping[str, Any] = next(iter(module.load_data()))
    return feed


def tensors(module: Any, feed: Mapping[str, Any], dtype: Any, *, compiled: bool) -> dict[str, Any]:
    """Return the output, and the gradients of its sum, weighted so that they do not cancel."""
    torch._dynamo.reset()  # noqa: SLF001 - as in a new process
    plain = module.load_model()[0].to(dtype)
    given = {name: value.detach().clone().to(dtype).requires_grad_() for name, value in feed.items()}
    output = (torch.compile(plain) if compiled else plain)(**given)
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(3)).to(dtype)
    (output * weights).sum().backward()
    gradients = {**dict(plain.named_parameters()), **given}
    return {"output": output.detach(), **{f"gradient of {name}": item.grad for name, item in gradients.items()}}


def moved_tensors(module: Any, feed: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return what eager mode makes in float32 where what operators make is moved."""
    with Moved(seed):
        return tensors(module, feed, torch.float32, compiled=False)


def error(found: Any, truth: Any) -> float:
    """Return the largest difference; infinity where only one is NaN."""
    found = found.double()
    if (found.isnan() != truth.isnan()).any():
        return float("inf")
    return float((found - truth).abs().nan_to_num(0.0).max())


if __name__ == "__main__":
    for case in ("issue_145379", "issue_148241", "issue_151098"):
        module = load(Path(sys.argv[1]) / f"{case}.py")
        feed = feed_of(case, module)
        truth = tensors(module, feed, torch.float64, compiled=False)
        eager, compiled = (tensors(module, feed, torch.float32, compiled=item) for item in (False, True))
        moved = [moved_tensors(module, feed, seed) for seed in _SEEDS]
        for name, right in truth.items():
            errors = {"eager": error(eager[name], right), "compiled": error(compiled[name], right)}
            errors["apart"] = error(compiled[name], eager[name].double())
            errors["moved"] = max(error(item[name], eager[name].double()) for item in moved)
            largest = float(right.abs().nan_to_num(0.0).max())
            print(json.dumps({"case": case, "tensor": name, "largest": largest, **errors}))
