"""Issue 151198: distances of what was padded by reflection."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def __init__(self) -> None:
        super().__init__()
        self.pad = torch.nn.ReflectionPad3d(1)

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""
        parts = torch.chunk(self.pad(x).flatten(1), 2, dim=1)
        return torch.nn.functional.pairwise_distance(parts[0], parts[1])


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(2, 3, 4, 4, 4)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(2, 3, 4, 4, 4)}
