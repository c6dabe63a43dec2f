"""What is true of the data loader `sample`; apart, because it is asked before any sample is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from polycmp.spec import DataLoaderTools
from polycmp_samples.options import SIZES, SampleOptions

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.runs import ResolvedBackend, SampleFinder
    from polycmp.tensors import TensorMetadata


class SampleTools(DataLoaderTools):
    """Samples of certain sizes, which may step in for random numbers."""

    sizes = SIZES

    def remarks(self, options: SampleOptions, inputs: TensorMetadata) -> Mapping[str, str]:
        """Return in words, for those inputs of which it is worth saying, what they hold and why."""
        from polycmp_samples.loader import remarks

        return remarks(options, inputs)

    def steps_in(self, backends: Sequence[ResolvedBackend], registry: Registry) -> SampleFinder:
        """Return what looks for samples in place of random numbers that reach no output."""
        from polycmp_samples.reach import SampleSearch

        return SampleSearch(backends, registry)
