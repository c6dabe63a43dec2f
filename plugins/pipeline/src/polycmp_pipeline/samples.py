"""The samples of a pipeline: the values that its first stages read."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.data import make_script_loader
from polycmp.errors import DataError, UsageError
from polycmp.options import split_script
from polycmp.results.files import open_inputs
from polycmp.tensors import TensorMetadata
from polycmp_pipeline.file import Source
from polycmp_pipeline.values import Values

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def open_samples(source: Source, registry: Registry) -> dict[str, Values]:
    """Return the values of each sample by its name: that of its file, or its number.

    Raises:
        UsageError: No file fits.
        FileError: A file of inputs cannot be read.
        DataError: There are none, or the script fails.
    """
    if source.files:
        return {path: {"path": path} for pattern in source.files for path in _matches(pattern)}
    if source.script:
        feeds = make_script_loader(*split_script(source.script, "load_data"))(TensorMetadata())
    else:
        feeds = iter(open_inputs(source.load_inputs, registry))
    samples = {str(number): dict(feed) for number, feed in enumerate(feeds)}
    if not samples:
        raise DataError("there are no samples", whose=source.script or ", ".join(source.load_inputs))
    return samples


def _matches(pattern: str) -> Iterator[str]:
    paths = sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())  # noqa: PTH207 - patterns may be absolute
    if not paths:
        raise UsageError(f"no file fits files = {pattern!r}", hint=f"ls {Path(pattern).parent}")
    yield from paths
