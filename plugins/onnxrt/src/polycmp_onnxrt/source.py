"""What a session is given for a model: the path of a file, or bytes."""

from __future__ import annotations

import os
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from polycmp.errors import ModelError
from polycmp.loader import Loader

#: Serialized models end at 2 GiB (protobuf); larger ones go to the session through a file with external weights.
MAX_MODEL_BYTES = 2**31 - 1


def path_of(model: Any) -> str | None:
    """Return the file to give to ONNX Runtime, or None if the model has to be made first.

    A loader stands for its `path` only if it has no other source: one that saves what another loader makes has a
    path too, but nothing lies there yet.
    """
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    path = getattr(model, "path", None)
    if not callable(model) or not isinstance(path, (str, os.PathLike)):
        return None
    sources = model.children() if isinstance(model, Loader) else ()
    return None if any(map(_is_source, sources)) else os.fspath(path)


def native_path(path: str) -> str:
    """Return a path as ONNX Runtime takes it, which wants UTF-8 whatever the locale says.

    Under `LANG=C` Python spells a letter outside ASCII with halves of surrogate pairs, which UTF-8 has no place for.

    Raises:
        ModelError: The file's name is not UTF-8.
    """
    try:
        return os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(
            f"ONNX Runtime cannot open {path}",
            whose="onnxrt",
            why="the bytes of this name are not UTF-8, and it opens no others",
            hint="rename the file, or give a link to it",
        ) from error


def _is_source(argument: Any) -> bool:
    return callable(argument) or isinstance(argument, bytes) or hasattr(argument, "SerializeToString")


def serialized(model: Any) -> Any:
    """Return a context manager that gives a session what it takes for a model: its bytes, or a path to a copy.

    Args:
        model: A path, bytes, or an `onnx.ModelProto`.

    Raises:
        ModelError: It is something else.
    """
    if isinstance(model, (str, os.PathLike)):
        return nullcontext(os.fspath(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return nullcontext(bytes(model))
    if not hasattr(model, "SerializeToString"):
        raise ModelError(
            f"a session needs a path, bytes or an onnx.ModelProto, not {type(model).__name__}", whose="onnxrt"
        )
    try:
        content = bytes(model.SerializeToString())
    except Exception:  # noqa: BLE001  too large; protobuf's implementations raise errors of different types
        return _OnDisk(model)
    return _OnDisk(model) if len(content) > MAX_MODEL_BYTES else nullcontext(content)


class _OnDisk:
    """A model that is too large for bytes, in a folder that lives as long as the session is being made."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __enter__(self) -> str:
        from polycmp_onnx import save_onnx

        # ONNX Runtime maps the weights into memory: removing the files afterwards is safe where maps outlive names.
        self.folder = tempfile.TemporaryDirectory(prefix="polycmp-", ignore_cleanup_errors=True)
        path = str(Path(self.folder.name) / "model.onnx")
        save_onnx(self.model, path, external_data_path="model.data")
        return path

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()
