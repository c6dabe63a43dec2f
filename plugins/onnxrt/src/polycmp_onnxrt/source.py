"""Model in the form that a session takes: the path of a file, or bytes."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError

if TYPE_CHECKING:
    from polycmp_onnx import ExternalModel

#: Serialized models end at 2 GiB (protobuf); larger ones go to the session through a file with external weights.
MAX_MODEL_BYTES = 2**31 - 1

#: Tells ONNX Runtime where the weights are of a model that it gets as bytes.
WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"


def reads_from_folder(ort: Any) -> bool:
    """Return whether ONNX Runtime knows `WEIGHTS_FOLDER`: releases before 1.21 ignore it.

    Args:
        ort: The module `onnxruntime`.
    """
    return _release(ort) >= (1, 21)


def refuse_weights_elsewhere(ort: Any, model: Any) -> None:
    """Raise for weights that a file or a link has outside the model's folder: releases before 1.24 read them.

    Args:
        ort: The module `onnxruntime`.
        model: The model of the session: a path or its bytes.

    Raises:
        ModelError: There are such weights, or the file cannot be read.
    """
    if _release(ort) < (1, 24):
        external_of(model)


def _release(ort: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in ort.__version__.split(".")[:2])


def external_of(model: Any) -> ExternalModel | None:
    """Return the `ExternalModel` that a loader gives, for a session that reads the weights from where they lie.

    Args:
        model: Anything that a session is made of; None comes back for what is no loader of ONNX models, and for models
            whose weights lie in no file.
    """
    from polycmp_onnx import OnnxLoader

    return model.external() if isinstance(model, OnnxLoader) else None


def mapped(path: str) -> tuple[bytes, Path] | None:
    """Return a model file's content without its large weights, and the folder to find these in; None if that is no use.

    A session then maps the weights from the file: reading, parsing and copying them takes twice as long as the rest of
    making a session, and their size in memory three times over.

    Args:
        path: The file.
    """
    from polycmp_onnx import referring_to_itself

    file = Path(path)
    content = referring_to_itself(file) if file.suffix == ".onnx" else None
    return None if content is None else (content, file.parent.absolute())


def native_path(path: str) -> str:
    """Return a path as ONNX Runtime takes it, which wants UTF-8 in any locale.

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
            why="the bytes of this name are not UTF-8, and it opens only such names",
            hint="rename the file, or give a link to it",
        ) from error


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
        import tempfile

        from polycmp_onnx import save_onnx

        # ONNX Runtime maps the weights into memory: removing the files afterwards is safe where maps outlive names.
        self.folder = tempfile.TemporaryDirectory(prefix="polycmp-", ignore_cleanup_errors=True)
        path = str(Path(self.folder.name) / "model.onnx")
        save_onnx(self.model, path, external_data_path="model.data")
        return path

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()
