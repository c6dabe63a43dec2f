"""Loaders that read ONNX models, and what all loaders of this package share."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, describe_exception
from polycmp.loader import Loader, immediate, resolve
from polycmp_onnx.external import ExternalModel, external_model, load_weights, locations
from polycmp_onnx.graph import part_weights_from_inputs
from polycmp_onnx.structure import read_structure

if TYPE_CHECKING:
    from onnx import ModelProto
    from onnx_graphsurgeon import Graph

    GivenModel = ModelProto | str | Path | bytes | Graph
    ModelSource = GivenModel | Callable[[], GivenModel]

__all__ = [
    "OnnxFromBytes",
    "OnnxFromPath",
    "OnnxLoader",
    "given_model",
    "onnx_from_bytes",
    "onnx_from_path",
    "own_model",
    "structure_from_path",
]

_LFS = b"version https://git-lfs"
_MAGIC = (
    (b"PK\x03\x04", "a zip archive, as PyTorch and Keras save models"),
    (b"\x89HDF", "an HDF5 file, as Keras saves models"),
    (b"ptrt", "a TensorRT engine"),
    (b"ftrt", "a TensorRT engine"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"<?xml", "an XML file"),
    (_LFS, "a Git LFS pointer, in place of the file itself"),
)


class OnnxLoader(Loader["ModelProto"]):
    """Base of the loaders that give a model.

    Attributes:
        path: The file that holds exactly this model, for backends that read large models themselves; None where there
            is no such file.
    """

    model_kind = "onnx"
    path: str | None = None

    def exact_file(self) -> str | None:
        """Return `path`."""
        return self.path

    def external(self) -> ExternalModel | None:
        """Return the model with its large weights left in the files they lie in; None if they lie in no file as such.

        Raises:
            ModelError: The model, or one of its weights, cannot be read.
        """
        return None


#: From this size on, reading the structure alone is worth its while.
LARGE_FILE = 1 << 20


class OnnxFromPath(OnnxLoader):
    """Reads a model from a file.

    Weights outside the file are loaded too, so a model may be larger than the 2 GB that one protobuf file can hold.

    Args:
        path: The file; its suffix says which of ONNX's formats it has.
        external_data_dir: Folder of the weights that lie outside the file; by default the model's own folder.
        ignore_external_data: Leave those weights unloaded; what comes back has the structure only.
    """

    def __init__(
        self, path: str | Path, external_data_dir: str | Path | None = None, ignore_external_data: bool = False
    ) -> None:
        self.file = Path(path)
        self.external_data_dir = None if external_data_dir is None else Path(external_data_dir)
        self.ignore_external_data = ignore_external_data
        self_contained = external_data_dir is None and not ignore_external_data
        self.path = str(path) if self_contained and self.file.suffix == ".onnx" else None

    #: Returns what `shared_structure` has read from the file; None to read it. It is no argument, since it is not part
    #: of the source that `repr` gives.
    structure: Callable[[], ModelProto] | None = None

    def call_impl(self) -> ModelProto:
        """Return the model.

        Raises:
            ModelError: The file is missing, empty, cut short, or no ONNX model; or its external weights are missing.
        """
        model = self._read_whole()
        if not self.ignore_external_data:
            load_weights(model, self.external_data_dir or self.file.parent, str(self.file))
        return model

    def external(self) -> ExternalModel | None:
        """Return the model with its large weights left in the files they lie in, none of them an input; None if none.

        Raises:
            ModelError: The file is missing, empty, cut short, or no ONNX model; or its external weights are missing.
        """
        if self.ignore_external_data or self.file.suffix != ".onnx" or not self.file.is_file():
            return None
        model = shared_structure(self.file) if self.structure is None else deepcopy(self.structure())
        part_weights_from_inputs(model)
        return external_model(model, self.file, self.external_data_dir)

    def _read_whole(self) -> ModelProto:
        known = None if self.structure is None else self.structure()
        if known is None or self.file.resolve().name in locations(known):  # weights are left out that lie in the file
            return _read(self.file)
        return deepcopy(known)


class OnnxFromBytes(OnnxLoader):
    """Reads a model from memory.

    Args:
        serialized_onnx: The bytes of a `.onnx` file, or a callable that returns them.
    """

    def __init__(self, serialized_onnx: bytes | Callable[[], bytes]) -> None:
        self.serialized_onnx = serialized_onnx

    def call_impl(self) -> ModelProto:
        """Return the model.

        Raises:
            ModelError: The bytes are no ONNX model.
        """
        import onnx

        content = resolve(self.serialized_onnx)
        return _checked(None, content, lambda: onnx.load_model_from_string(content))


onnx_from_path = immediate(OnnxFromPath)
onnx_from_bytes = immediate(OnnxFromBytes)


def shared_structure(path: str | Path) -> ModelProto:
    """Return a model without the content of large weights; to those inside a `.onnx` file it refers.

    Args:
        path: The file.

    Raises:
        ModelError: As `OnnxFromPath` does.
    """
    return structure_from_path(path, refers=True)


def structure_from_path(path: str | Path, *, refers: bool = False) -> ModelProto:
    """Return a model without the content of large weights, in or outside the file.

    Args:
        path: The file.
        refers: Let weights refer to the content that a `.onnx` file holds, however small it is; else that is left out,
            and a small file is read whole.

    Raises:
        ModelError: As `OnnxFromPath` does.
    """
    file = Path(path)
    if file.suffix != ".onnx" or not file.is_file() or not (refers or file.stat().st_size > LARGE_FILE):
        return _read(file)
    name = file.resolve().name if refers else ""
    return _checked(file, _start(file), lambda: read_structure(file, name))


def given_model(source: Any, external_data_dir: str | Path | None = None) -> ModelProto:
    """Return the model that a loader was given, in any form.

    Args:
        source: An `onnx.ModelProto`, a path, the bytes of a file, an `onnx_graphsurgeon.Graph`, or a callable that
            returns one of these.
        external_data_dir: Folder of the weights that lie outside a file; by default the file's own.

    Raises:
        ModelError: It is something else, or cannot be read.
    """
    resolved = resolve(source)
    if isinstance(resolved, (str, Path)):
        return OnnxFromPath(resolved, external_data_dir)()
    if isinstance(resolved, (bytes, bytearray, memoryview)):
        return OnnxFromBytes(bytes(resolved))()
    if type(resolved).__module__.startswith("onnx_graphsurgeon"):
        import onnx_graphsurgeon

        model = onnx_graphsurgeon.export_onnx(resolved)
        part_weights_from_inputs(model)  # as such a graph has them, though it keeps the version of an old model
        return model
    if not hasattr(resolved, "graph") or not hasattr(resolved, "CopyFrom"):
        raise ModelError(
            f"this is not an ONNX model but {type(resolved).__name__}",
            hint="give a path, bytes, an onnx.ModelProto, an onnx_graphsurgeon.Graph, or OnnxFromPath(PATH)",
        )
    return resolved


def own_model(source: Any, external_data_dir: str | Path | None = None) -> ModelProto:
    """Return a model that may be changed freely: one just read from a file or from bytes, else a copy.

    None of its weights is an input, even where it lists them as such.

    Args:
        source: The model, in any form that `given_model` takes.
        external_data_dir: As for `given_model`.
    """
    model = given_model(source, external_data_dir)
    if not (_is_fresh(source) or isinstance(source, (str, Path, bytes))):
        model = deepcopy(model)
    part_weights_from_inputs(model)
    return model


def _is_fresh(source: Any) -> bool:
    """Return whether a loader's model is referenced nowhere else: some pass on the very model that they were given."""
    return isinstance(source, OnnxLoader) and (not hasattr(source, "model") or _is_fresh(source.model))


def _read(file: Path) -> ModelProto:
    import onnx

    return _checked(file, _start(file), lambda: onnx.load_model(str(file), load_external_data=False))


def _start(file: Path) -> bytes:
    """Return a file's first bytes.

    Raises:
        ModelError: There is no such file, or it cannot be read.
    """
    try:
        return _first_bytes(file)
    except OSError as error:
        hint = f"ls -l {file.parent}" if not file.exists() else ""
        what = f"there is no file {file}" if not file.exists() else f"cannot read {file}"
        raise ModelError(what, why="" if not file.exists() else describe_exception(error), hint=hint) from error


def _first_bytes(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(64)


def _checked(file: Path | None, start: bytes, load: Callable[[], ModelProto]) -> ModelProto:
    """Check that a file, or bytes that were given, is a model, then call `load`."""
    whose, hint = str(file or "the bytes given"), "give an ONNX model"
    if file is not None:
        hint = f"ls -l {shlex.quote(whose)}  # is that the size it should have?"
    if start.startswith(_LFS):
        hint = "git lfs pull"
    if not start:
        raise ModelError(f"{whose} is empty", hint=hint)
    try:
        model = load()
    except Exception as error:
        raise ModelError(f"{whose} is not a readable ONNX model", why=_guess(start, error), hint=hint) from error
    if not model.HasField("graph"):
        raise ModelError(f"{whose} is not an ONNX model", why=_guess(start, None), hint=hint)
    if not model.opset_import:
        raise ModelError(
            f"{whose} is not a complete ONNX model", why="it imports no operator set: cut short?", hint=hint
        )
    return model


def _guess(start: bytes, error: Exception | None) -> str:
    for magic, meaning in _MAGIC:
        if start.startswith(magic):
            return f"it looks like {meaning}"
    if start.lstrip()[:1] in {b"{", b"["}:
        return "it looks like a JSON file"
    if all(byte >= 32 or byte in b"\t\r\n" for byte in start):
        return "it looks like a text file"
    return "it is damaged, cut short, or of another format" + (f" ({describe_exception(error)})" if error else "")
