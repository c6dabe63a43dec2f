"""Issue 198379: interpolate to an open size, padded and compared."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Model(torch.nn.Module):  # type: ignore[misc]
    """The module of the issue, as small as it can be."""

    def forward(self, x: torch.Tensor) -> object:
        """Run it."""
        small = torch.nn.functional.interpolate(x, scale_factor=1 / 300, mode="linear", align_corners=False)
        return torch.gt(torch.nn.functional.pad(small, (1, 0)), small)


def load_model() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Return the module, and inputs that say their types and shapes."""
    return Model().eval(), {"x": torch.zeros(1, 4, 396)}


def load_data() -> Iterator[dict[str, torch.Tensor]]:
    """Yield inputs on which the issue shows."""
    torch.manual_seed(0)
    yield {"x": torch.randn(1, 4, 396)}
