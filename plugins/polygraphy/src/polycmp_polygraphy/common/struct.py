"""Metadata of tensors under the names of `polygraphy.common`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polycmp.tensors import TensorEntry as MetadataTuple
from polycmp.tensors import TensorMetadata as TensorMetadata


class BoundedShape(list[Any]):
    """A shape with the smallest and the largest that a backend takes.

    Attributes:
        min: Smallest shape; None if there is no such bound.
        max: Largest shape; None if there is no such bound.
    """

    def __init__(self, shape: Iterable[Any], min: Any = None, max: Any = None) -> None:
        super().__init__(shape)
        self.min = min
        self.max = max

    def __repr__(self) -> str:
        return f"BoundedShape({list(self)}, min={self.min}, max={self.max})"
