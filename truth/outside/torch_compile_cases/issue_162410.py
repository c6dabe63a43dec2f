"""Issue 162410: an input that is written over while it is read backwards."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> object:
        """Run it."""
        x.copy_(x.flip(1))
        return x + (y.sum(dim=1) + y)


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(20, 20), "y": torch.zeros(20, 20)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(20, 20), "y": torch.randn(20, 20)}
