"""Issue 150765: an object that does something else when an attribute is deleted."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Record:
    """Counts the attributes that are deleted."""

    deleted = 0
    first = 0.0

    def __delattr__(self, name: str) -> None:
        self.deleted = self.deleted + 3


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""
        record = Record()
        record.first = 1.0
        del record.first
        return x * record.deleted


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(5)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(5)}
