"""Metadata of tensors under the names of `polygraphy.common`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from polycmp.tensors import Feed, TensorEntry, dtype_name
from polycmp.tensors import TensorMetadata as _TensorMetadata

__all__ = ["BoundedShape", "MetadataTuple", "TensorMetadata"]


class BoundedShape(list[Any]):
    """A shape with the smallest and the largest that a backend takes; it equals lists and tuples of its dimensions.

    Attributes:
        min: Smallest shape; None if there is no such bound.
        max: Largest shape; None if there is no such bound.
    """

    def __init__(self, shape: Iterable[Any], min: Any = None, max: Any = None) -> None:
        super().__init__(shape)
        self.min = min
        self.max = max

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, list | tuple) else NotImplemented

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))  # of the tuple that it equals, whose place it takes in what polycmp calculates

    def __repr__(self) -> str:
        return f"BoundedShape({list(self)}, min={self.min}, max={self.max})"


class MetadataTuple(TensorEntry):
    """An entry of `TensorMetadata` that a program may change, with a list for a shape."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.shape is not None:
            setattr(self, "shape", BoundedShape(self.shape, self.min_shape, self.max_shape))  # noqa: B010 - a type checker refuses it

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __str__(self) -> str:
        facts = [] if self.dtype is None else [f"dtype={dtype_name(self.dtype)}"]
        facts += [] if self.shape is None else [f"shape={tuple(self.shape)}"]
        return f"[{', '.join(facts)}]"

    __repr__ = __str__


def changeable(entry: TensorEntry) -> MetadataTuple:
    """Return an entry in the form that programs expect."""
    return MetadataTuple(**{field.name: getattr(entry, field.name) for field in fields(TensorEntry)})


class TensorMetadata(_TensorMetadata):
    """An ordered mapping from tensor name to `MetadataTuple`."""

    def __init__(self, dct: Mapping[str, TensorEntry] | None = None) -> None:
        super().__init__({name: changeable(entry) for name, entry in (dct or {}).items()})

    def add(self, name: str, *args: Any, **kwargs: Any) -> TensorMetadata:
        """Add or replace one tensor and return self, so that calls chain; of the arguments of polycmp's `add`."""
        super().add(name, *args, **kwargs)
        return self.update({name: self[name]})

    def update(self, other: Mapping[str, TensorEntry]) -> TensorMetadata:
        """Add or replace the tensors of another mapping and return self."""
        super().update({name: changeable(entry) for name, entry in other.items()})
        return self

    @staticmethod
    def from_feed_dict(feed_dict: Feed) -> TensorMetadata:
        """Return the names, types and shapes of the arrays in a feed."""
        return TensorMetadata(_TensorMetadata.from_feed_dict(feed_dict))
