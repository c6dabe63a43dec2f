"""Issue 136662: a gradient inside the compiled function loses one of two additions to a slice."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""

        def loss(value: torch.Tensor) -> torch.Tensor:
            sums = torch.zeros_like(value)
            sums[:, 0] += value[:, 1].abs()
            sums[:, 0] += value[:, 1].abs()
            return sums.sum()

        return torch.func.grad(loss)(x)


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(3, 4)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(3, 4)}
