"""Reproducer 11 of the study: logaddexp of infinite complex numbers."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> object:
        """Run it."""
        return torch.logaddexp(x, y)


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {
        "x": torch.zeros(2, 2, dtype=torch.complex64),
        "y": torch.zeros(2, 2, dtype=torch.complex64),
    }


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {
        "x": torch.tensor([[complex(torch.inf, 0), complex(1, -2)], [complex(-3, 4), complex(0, -torch.inf)]]),
        "y": torch.tensor([[complex(0, 0), complex(-torch.inf, 1)], [complex(2, -1), complex(torch.inf, torch.inf)]]),
    }
