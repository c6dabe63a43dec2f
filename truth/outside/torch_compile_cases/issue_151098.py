"""Issue 151098: attention written out, whose scores are divided by a factor."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(3))
        self.inverse = 1 / 8**0.5

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> object:
        """Run it."""
        query, key, value = (layer(x).permute(0, 2, 1, 3) for layer in self.layers)
        scores = torch.matmul(query, key.transpose(-2, -1)).div(self.inverse) + mask
        return scores.softmax(dim=-1).matmul(value)


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(1, 16, 64, 64), "mask": torch.zeros(1, 1, 16, 16)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(1, 16, 64, 64), "mask": torch.zeros(1, 1, 16, 16)}
