"""Issue 197434: places of largest numbers in a transposed picture."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""
        return torch.nn.functional.adaptive_max_pool2d(x, (2, 2), return_indices=True)[1]


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(2, 3, 12, 12)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(2, 3, 12, 12).transpose(2, 3)}
