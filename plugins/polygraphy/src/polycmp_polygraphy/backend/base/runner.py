"""The base of runners under the name that Polygraphy has for it."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from typing import Any, ClassVar

from polycmp.runner import Runner
from polycmp.tensors import TensorEntry
from polycmp_polygraphy.common.struct import TensorMetadata
from polycmp_polygraphy.datatype import DataType

__all__ = ["BaseRunner"]


class BaseRunner(Runner):
    """A runner whose label, where none is given, holds its kind, its number and the time, as programs expect it.

    Attributes:
        RUNNER_COUNTS: Number of runners that were labelled so, by kind.
    """

    RUNNER_COUNTS: ClassVar[dict[str, int]] = defaultdict(int)

    def __init__(self, name: str | None = None, prefix: str | None = None) -> None:
        super().__init__(name or "", prefix)
        if not name:
            kind = self.name
            self.name = f"{kind}-N{self.RUNNER_COUNTS[kind]}-{time.strftime('%x')}-{time.strftime('%X')}"
            self.RUNNER_COUNTS[kind] += 1


class TypedRunner(BaseRunner):
    """A runner with Polygraphy's element types where a program asks for them."""

    def get_input_metadata(self, use_numpy_dtypes: bool | None = None) -> TensorMetadata:
        """Return names, element types and shapes of the inputs.

        Args:
            use_numpy_dtypes: False asks for members of `DataType` instead of NumPy's types.
        """
        metadata = TensorMetadata(super().get_input_metadata())
        if use_numpy_dtypes is not False:
            return metadata
        return TensorMetadata({name: _with_data_type(entry) for name, entry in metadata.items()})


def _with_data_type(entry: TensorEntry) -> TensorEntry:
    """Return an entry with a member of `DataType`, which equals NumPy's type."""
    member: Any = None if entry.dtype is None else DataType.from_dtype(entry.dtype)
    return replace(entry, dtype=member)
