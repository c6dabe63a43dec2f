"""Issue 149991: a class that says itself what its instances are."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class _Meta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True


class Anything(metaclass=_Meta):
    """Everything is an instance of it."""


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""
        return x + 1 if isinstance(1.5, Anything) else x - 1


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(5)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(5)}
