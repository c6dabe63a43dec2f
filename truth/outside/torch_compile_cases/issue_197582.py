"""Issue 197582: what is written to places that come twice."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""
        flat = x.view(-1)
        places = torch.arange(flat.numel()) % 2
        flat[places] = flat[places] + 1.0
        return x


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(2, 3)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(2, 3)}
