"""Issue 197738: a counter and a parameter that is written to, beside a power of one."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(0.0))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""
        self.weight.data.fill_(0.0)
        self.count += 1
        return torch.pow(x + 0, 1)


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(4)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(4)}
