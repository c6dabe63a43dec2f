"""Facts about TensorFlow's files from their names, without TensorFlow."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

#: The file that makes a folder a SavedModel.
SAVED_MODEL = "saved_model.pb"
#: The suffix of LiteRT's models.
TFLITE = ".tflite"


def saved_model_of(path: str | Path) -> Path | None:
    """Return the folder of a SavedModel that is named by itself or by the `saved_model.pb` in it; None for others."""
    path = Path(path)
    folder = path.parent if path.name == SAVED_MODEL else path
    return folder if (folder / SAVED_MODEL).is_file() else None


def further_files(path: str) -> Iterator[str]:
    """Yield the other files of a SavedModel, which lie in its folder; nothing for other kinds of files."""
    folder = saved_model_of(path)
    if folder is not None:
        yield from sorted(str(file) for file in folder.rglob("*") if file.is_file() and file != Path(path))


def other_tools(path: str, kind: str) -> str:
    """Return tf2onnx's command that converts a file to ONNX; empty for other kinds.

    Args:
        path: The file or folder.
        kind: Kind of file to make: `onnx`, or another, for which there is no command.
    """
    if kind != "onnx":
        return ""
    folder = saved_model_of(path)
    flag = {".keras": "--keras", ".h5": "--keras", ".hdf5": "--keras", ".tflite": "--tflite", ".pb": "--graphdef"}
    source = ["--saved-model", str(folder)] if folder else [flag.get(Path(path).suffix.lower(), "--saved-model"), path]
    ends = " --inputs NAME:0 --outputs NAME:0" if "--graphdef" in source else ""
    return f"python -m tf2onnx.convert {shlex.join(source)}{ends} --output model.onnx  (pip install tf2onnx)"
