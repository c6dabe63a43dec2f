"""`.npy` files, which hold one array without a name: it is called `output`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from polycmp.errors import FileError, describe_exception
from polycmp.results import ALONE, ARRAYS, IterationResult, Stored, StoredRun


def read_npy(path: Path) -> Stored:
    """Open a file, whose array is mapped when it is asked for.

    Raises:
        FileError: It is no such file, or damaged.
    """

    def iteration() -> IterationResult:
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise FileError("this is not an npy file, or only a part of one", why=describe_exception(error)) from error
        if not isinstance(array, np.ndarray):
            raise FileError("this is an archive of arrays", hint=f"rename it to {path.with_suffix('.npz')}")
        return IterationResult({ALONE: array}, None, path.stem)

    iteration()
    return Stored(ARRAYS, [StoredRun(path.stem, [iteration])])
