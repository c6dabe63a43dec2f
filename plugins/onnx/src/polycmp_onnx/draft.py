"""Writing parts of a model that are read once and then removed: quickly, their weights only once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.files import cannot_write
from polycmp_onnx.external import ExternalModel
from polycmp_onnx.load import OnnxLoader
from polycmp_onnx.save import save

if TYPE_CHECKING:
    from onnx import ModelProto

#: From this many bytes on, weights are worth a file that all parts refer to; from the other on, they need one.
_LARGE, _TOO_LARGE = 1 << 20, 1 << 30


def draft(loader: Callable[[], Any], path: str, weights: str, *, whole: bool) -> None:
    """Write a part of a model; the hook of searches that write one part after the other.

    Args:
        loader: A callable that returns the part.
        path: The file to write.
        weights: A folder, relative to that of `path`, whose files the part may refer to; those that earlier parts of
            the same model left there are used again. Empty for none.
        whole: Whether the file is to hold its weights if one file can.

    Raises:
        FileError: Something cannot be written.
    """
    external = loader.external() if isinstance(loader, OnnxLoader) else None
    least = _TOO_LARGE if whole or not weights else _LARGE
    if external is not None and not weights and external.size >= least:
        save(loader, path)
        return
    shares = external is not None and external.size >= least
    try:
        model = _outside(external, Path(path).parent, weights) if external is not None and shares else loader()
        Path(path).write_bytes(model.SerializeToString())
    except OSError as error:
        raise cannot_write(Path(path), error) from error


def _outside(external: ExternalModel, target: Path, weights: str) -> ModelProto:
    """Return the model with references to weights that lie in or below a folder."""
    if target.resolve() == external.folder.resolve():
        return external.model
    return external.moved(lambda location: _copied(external.folder / location, target, weights))


def _copied(source: Path, target: Path, folder: str) -> str:
    """Copy a file of weights unless it is there already; return where it is, seen from the model's folder."""
    place, known = target / folder / source.name, source.stat()
    if not place.is_file() or (place.stat().st_size, place.stat().st_mtime_ns) != (known.st_size, known.st_mtime_ns):
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
        shutil.copystat(source, place)
    return f"{folder}/{source.name}"
