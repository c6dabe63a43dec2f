"""Issue 174371: an addition in place to a view that overlaps itself."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""
        view = x.clone().as_strided((2, 3), (1, 1), 0)
        view.add_(1.0)
        return view


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(3, 4)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(3, 4)}
