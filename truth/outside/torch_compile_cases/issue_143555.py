"""Issue 143555: a shift to the right by as many bits as there are."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> object:
        """Run it."""
        return torch.bitwise_right_shift(x, y)


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(size=(), dtype=torch.int64), "y": torch.zeros(size=(), dtype=torch.int64)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.tensor(1000), "y": torch.tensor(64)}
