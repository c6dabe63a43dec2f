"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import DataLoaderSpec, hookimpl
from polycmp_samples.options import SampleOptions


@hookimpl
def polycmp_data_loaders() -> Iterable[DataLoaderSpec]:
    """Contribute real samples."""
    yield DataLoaderSpec(
        "sample",
        "Two photographs, a page of text, speech, a sentence: what fits each input",
        "polycmp_samples.loader:make_sample",
        SampleOptions,
        tools="polycmp_samples.tools:SampleTools",
    )
