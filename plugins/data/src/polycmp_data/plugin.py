"""What this package contributes. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, DataLoaderSpec, ServiceSpec, hookimpl
from polycmp_data.samples.options import SIZES, SampleOptions

_DATA = "Join files of inputs and outputs, or make inputs from images and arrays."
_INSPECT = "Show what is in a model, or in a file of inputs or outputs."
_COMMANDS = (
    ("compare", "Compare saved outputs.", "compare:compare_command", ""),
    ("inspect data", "Show the tensors in a file of inputs or outputs.", "show:inspect_command", _INSPECT),
    ("data concat", "Append the iterations of several files.", "join:concat_command", _DATA),
    ("data merge", "Put the tensors of several files together.", "join:merge_command", _DATA),
    ("data from-images", "Make inputs from images.", "make:images_command", _DATA),
    ("data from-numpy", "Make inputs from NumPy files.", "make:numpy_command", _DATA),
)


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands."""
    for words, summary, target, group in _COMMANDS:
        yield CommandSpec(tuple(words.split()), summary, f"polycmp_data.{target}", group)


@hookimpl
def polycmp_data_loaders() -> Iterable[DataLoaderSpec]:
    """Contribute real samples."""
    yield DataLoaderSpec(
        "sample",
        "Two photographs, a page of text, speech, a sentence: what fits each input",
        "polycmp_data.samples.loader:make_sample",
        SampleOptions,
        remarks="polycmp_data.samples.loader:remarks",
        sizes=SIZES,
    )


@hookimpl
def polycmp_services() -> Iterable[ServiceSpec]:
    """Contribute sizes for dimensions that a model leaves open, and real inputs where random ones reach nothing."""
    yield ServiceSpec("sizes", "Sizes for open dimensions, tried on a quick backend", "polycmp_data.sizes:ShapeSearch")
    yield ServiceSpec(
        "samples",
        "Real samples where random numbers reach nothing",
        "polycmp_data.samples.reach:SampleSearch",
    )
