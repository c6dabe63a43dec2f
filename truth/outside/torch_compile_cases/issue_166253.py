"""Issue 166253: a tensor filled with the first call's number."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""
        return torch.full((3,), x, dtype=torch.float64)


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(size=(), dtype=torch.float64)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    for number in (5.0, 10.0):
        yield {"x": torch.tensor(number, dtype=torch.float64)}
