"""Tensors as `torch.save` writes them: alone, by name, or a list with one mapping for each iteration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from polycmp.errors import DataError, FileError, describe_exception
from polycmp.results import ARRAYS, IterationResult, Stored, StoredRun, iterations_of


def read(path: Path) -> Stored:
    """Read a file without running anything of it.

    Raises:
        FileError: It is no such file, damaged, or holds something else than tensors.
    """
    import torch

    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:
        hint = "save tensors alone: torch.save({'logits': logits}, FILE)"
        raise FileError("this holds no plain tensors", why=describe_exception(error), hint=hint) from error
    try:
        iterations = [IterationResult(arrays, None, path.stem) for arrays in iterations_of(saved)]
    except DataError as error:
        raise FileError(error.what, why=error.why) from error
    return Stored(ARRAYS, [StoredRun(path.stem, [_giving(item) for item in iterations])])


def _giving(iteration: IterationResult) -> Callable[[], IterationResult]:
    return lambda: iteration
