"""Writing models: to bytes, and to files with or without weights outside."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import FileError, ModelError, describe_exception
from polycmp.files import atomic_write
from polycmp.loader import Loader, immediate
from polycmp_onnx.graph import is_too_large
from polycmp_onnx.load import OnnxLoader, given_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource


class BytesFromOnnx(Loader[bytes]):
    """Turns a model into the bytes of a `.onnx` file.

    Args:
        model: A model, or a callable that returns one.
    """

    def __init__(self, model: ModelSource) -> None:
        self.model = model

    def call_impl(self) -> bytes:
        """Return the bytes.

        Raises:
            ModelError: The model is larger than the 2 GB that protobuf allows.
        """
        model = given_model(self.model)
        try:
            return bytes(model.SerializeToString())
        except Exception as error:
            raise ModelError(
                "the model cannot be turned into bytes",
                why=f"it is probably larger than 2 GB ({describe_exception(error)})",
                hint="save it with --save-onnx PATH --save-external-data and use that file",
            ) from error


class SaveOnnx(OnnxLoader):
    """Writes a model to a file, whole or not at all, and passes it on unchanged.

    Args:
        model: A model, or a callable that returns one; it is not changed.
        path: Where to write.
        external_data_path: File name, relative to the model's folder, for the weights; "" means the model's name with
            `.data` behind it; None keeps the weights in the model, unless it is too large for that.
        size_threshold: Tensors with fewer bytes stay in the model.
        all_tensors_to_one_file: Put the weights into one file rather than one file each.
    """

    def __init__(
        self,
        model: ModelSource,
        path: str | Path,
        external_data_path: str | None = None,
        size_threshold: int = 1024,
        all_tensors_to_one_file: bool = True,
    ) -> None:
        self.model = model
        self.target = Path(path)
        self.external_data_path = external_data_path
        self.size_threshold = size_threshold
        self.all_tensors_to_one_file = all_tensors_to_one_file

    def call_impl(self) -> ModelProto:
        """Return the model after writing it.

        Raises:
            FileError: The file cannot be written.
        """
        model = given_model(self.model)
        if self.external_data_path is None and not is_too_large(model):
            content = _serialized(model, self.target)
            with atomic_write(self.target) as file:
                file.write(content)
        else:
            self._save_with_weights_outside(model)
        return model

    def _save_with_weights_outside(self, model: ModelProto) -> None:
        import onnx

        with _external(model, self.size_threshold) as stripped, _errors(self.target):
            location = self.external_data_path or f"{self.target.name}.data"
            with _folder_beside(self.target) as folder:
                (folder / location).parent.mkdir(parents=True, exist_ok=True)
                _mark_as_outside(
                    stripped, location if self.all_tensors_to_one_file else None, threshold=self.size_threshold
                )
                onnx.save_model(stripped, str(folder / self.target.name))
                _move_all(folder, self.target)


bytes_from_onnx = immediate(BytesFromOnnx)
save_onnx = immediate(SaveOnnx)


def save(loader: Callable[[], Any], path: str) -> None:
    """Write what a loader makes to a file; the hook behind `convert`.

    Args:
        loader: A callable that returns a model.
        path: Where to write.
    """
    external = loader.external() if isinstance(loader, OnnxLoader) else None
    if external is None or not is_too_large(external.model):
        SaveOnnx(loader, path)()
        return
    target = Path(path)
    with _errors(target), _folder_beside(target) as folder:
        with (folder / f"{target.name}.data").open("wb") as data:
            model = external.copied_to(data, f"{target.name}.data")
        (folder / target.name).write_bytes(_serialized(model, target))
        _move_all(folder, target)


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Yield a folder for what is about to be moved to a file's place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        yield Path(folder)


def _serialized(model: ModelProto, target: Path) -> bytes:
    import onnx
    import onnx.serialization

    kind = onnx.serialization.registry.get_format_from_file_extension(target.suffix) or "protobuf"
    return bytes(onnx.serialization.registry.get(kind).serialize_proto(model))


@contextmanager
def _external(model: ModelProto, threshold: int) -> Iterator[ModelProto]:
    """Yield a copy for ONNX's writer, which takes the weights out of what it writes, and only raw ones."""
    import onnx

    copy = type(model)()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        movable = not tensor.HasField("raw_data") and tensor.data_type != onnx.TensorProto.STRING
        if movable and tensor.ByteSize() >= threshold:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    yield copy


def _mark_as_outside(model: ModelProto, location: str | None, *, threshold: int) -> None:
    """Note in a model where its weights will lie: in one file, or, without a location, in one for each.

    ONNX refuses the name of a file that exists in the working directory, wherever the model goes, so it gets a name of
    its own first.
    """
    from onnx.external_data_helper import convert_model_to_external_data

    convert_model_to_external_data(model, all_tensors_to_one_file=location is not None, size_threshold=threshold)
    for tensor in model.graph.initializer if location is not None else ():
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location


@contextmanager
def _errors(target: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise FileError(
            f"cannot write {target}", why=describe_exception(error), hint=f"df -h {target.parent}"
        ) from error


def _move_all(folder: Path, target: Path) -> None:
    """Move the weights and then the model, so that a model never appears before its weights."""
    mask = os.umask(0o077)
    os.umask(mask)
    files = sorted((file for file in folder.rglob("*") if file.is_file()), key=lambda file: file.name == target.name)
    for file in files:
        place = target.parent / file.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        file.chmod(0o666 & ~mask)  # ONNX makes files of weights that only their owner can read
        file.replace(place)
