"""What is true of the data loader `random`; apart, because it is asked before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from polycmp.spec import DataLoaderTools

if TYPE_CHECKING:
    from polycmp._builtin_options import RandomOptions
    from polycmp.tensors import TensorMetadata


class RandomTools(DataLoaderTools):
    """Random numbers, of which a value range is worth a word, and in whose place real samples may step."""

    synthetic = True
    gives_way: tuple[str, ...] | None = ("val_range", "backend_module")
    python = "polycmp.comparator:DataLoader"

    def remarks(self, options: RandomOptions, inputs: TensorMetadata) -> Mapping[str, str]:
        """Return in words, for those inputs of which it is worth saying, what they hold and why."""
        from polycmp.data.random import remarks

        return remarks(options, inputs)
