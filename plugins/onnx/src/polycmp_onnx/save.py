"""Writing models: to bytes, and to files with or without weights outside.

`onnx.save` with external data changes the model that it is given, and puts weights where they cannot be mapped as
arrays, since it does not align them.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, UsageError, describe_exception
from polycmp.files import atomic_write, cannot_write
from polycmp.loader import Loader, immediate
from polycmp_onnx.external import ALIGNMENT, external_tensors
from polycmp_onnx.graph import is_too_large
from polycmp_onnx.load import OnnxLoader, given_model, structure_from_path
from polycmp_onnx.weights import set_values

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
        path: The file to write.
        external_data_path: File name, relative to the model's folder, for the weights; "" means the model's name with
            `.data` appended; None keeps the weights in the model, unless it is too large for that.
        size_threshold: Tensors with fewer bytes stay in the model.
        all_tensors_to_one_file: Put the weights into one file rather than one file each.

    Attributes:
        verify: As for `write_model`. It is no argument, since it is not part of the source that `repr` gives.
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
        self.verify: Callable[[Path], None] | None = None

    def call_impl(self) -> ModelProto:
        """Return the model after writing it.

        Raises:
            FileError: The file cannot be written.
            UsageError: The file for the weights is to lie elsewhere than in the model's folder or below.
        """
        model = given_model(self.model)
        form = Form(self.external_data_path, self.size_threshold, self.all_tensors_to_one_file)
        write_model(model, self.target, form, self.verify)
        return model


bytes_from_onnx = immediate(BytesFromOnnx)
save_onnx = immediate(SaveOnnx)


@dataclass(frozen=True)
class Form:
    """Form of a model's files.

    Attributes:
        external_data_path: As for `SaveOnnx`.
        size_threshold: As for `SaveOnnx`.
        all_tensors_to_one_file: As for `SaveOnnx`.
    """

    external_data_path: str | None = None
    size_threshold: int = 1024
    all_tensors_to_one_file: bool = True


_INSIDE = Form()


def write_model(
    model: ModelProto, target: Path, form: Form = _INSIDE, verify: Callable[[Path], None] | None = None
) -> None:
    """Write a model, whole or not at all.

    Args:
        model: The model; it is not changed.
        target: The file to write.
        form: Form of the files: where weights are stored.
        verify: Called with the file of the whole model, under another folder's name, before it takes its place; what
            it raises leaves everything as it was.

    Raises:
        FileError: The file cannot be written.
        UsageError: The file for the weights is to lie elsewhere than in the model's folder or below.
    """
    outside = form.external_data_path is not None or is_too_large(model)
    if not outside and verify is None:
        content = _serialized(model, target)
        with atomic_write(target) as file:
            file.write(content)
        return
    location = _location(form.external_data_path or f"{target.name}.data", target) if outside else ""
    with _errors(target), _folder_beside(target) as folder:
        if outside:
            used_names = _foreign_files(target)
            model = deepcopy(model)
            one_file = location if form.all_tensors_to_one_file else ""
            _put_outside(model, folder, one_file, form.size_threshold, used_names)
        _finish(model, folder, target, verify)


def _location(location: str, target: Path) -> str:
    """Return the path of a file of weights, relative to the model's folder.

    Raises:
        UsageError: It lies elsewhere, or is the model itself.
    """
    if Path(location).is_absolute() or ".." in Path(location).parts:
        raise UsageError(
            f"{location!r} does not lie in the model's folder or below",
            whose="the file for weights",
            hint=f"give a name, relative to {target.parent}: {Path(location).name}",
        )
    if Path(location) == Path(target.name):
        raise UsageError(f"{location!r} is the model itself", whose="the file for weights", hint="give another name")
    return location


def _foreign_files(target: Path) -> set[str]:
    """Return the names beside a model that its weights must not take: its own, and files that are not its weights."""
    names = {item.name for item in target.parent.iterdir()} if target.parent.is_dir() else set()
    return {name.casefold() for name in (names - locations(target)) | {target.name}}


def locations(path: Path) -> set[str]:
    """Return the files in which the weights of a model lie, seen from its folder; none where it cannot be read."""
    import onnx

    try:
        model = structure_from_path(path) if path.is_file() else onnx.ModelProto()
    except ModelError:
        return set()
    return {onnx.external_data_helper.ExternalDataInfo(tensor).location for tensor in external_tensors(model)}


def save(
    loader: Callable[[], Any], path: str, form: Form = _INSIDE, verify: Callable[[Path], None] | None = None
) -> None:
    """Write what a loader makes to a file; the hook of `convert`.

    Args:
        loader: A callable that returns a model.
        path: The file to write.
        form: Form of the files: where weights are stored.
        verify: As for `write_model`.
    """
    external = loader.external() if isinstance(loader, OnnxLoader) else None
    target = Path(path)
    if external is None or form.external_data_path is not None or not is_too_large(external.model):
        write_model(given_model(loader), target, form, verify)
        return
    with _errors(target), _folder_beside(target) as folder:
        with (folder / f"{target.name}.data").open("wb") as data:
            model = external.copied_to(data, f"{target.name}.data")
        _finish(model, folder, target, verify)


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Yield a folder for what is about to be moved to a file's place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        yield Path(folder)


def _finish(model: ModelProto, folder: Path, target: Path, verify: Callable[[Path], None] | None) -> None:
    """Write a model beside its weights, have it verified, and move all files to where they belong."""
    (folder / target.name).write_bytes(_serialized(model, target))
    if verify is not None:
        verify(folder / target.name)
    _move_all(folder, target)


def _serialized(model: ModelProto, target: Path) -> bytes:
    import onnx
    import onnx.serialization

    kind = onnx.serialization.registry.get_format_from_file_extension(target.suffix) or "protobuf"
    return bytes(onnx.serialization.registry.get(kind).serialize_proto(model))


def _put_outside(model: ModelProto, folder: Path, location: str, threshold: int, used_names: set[str]) -> None:
    """Write a model's weights to files, and let the model refer to them.

    Args:
        model: The model, which is changed.
        folder: The folder that it will lie in.
        location: The file, relative to that; empty for one file per weight.
        threshold: Weights with fewer bytes stay in the model.
        used_names: Names, folded to one case, that no weight's own file may have; those given out are added.
    """
    import onnx

    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.STRING or onnx.external_data_helper.uses_external_data(tensor):
            continue
        if not tensor.HasField("raw_data"):
            set_values(tensor, onnx.numpy_helper.to_array(tensor))
        length = len(tensor.raw_data)
        if length < max(threshold, 1):
            continue
        name = location or _file_name(tensor.name, used_names)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("ab") as file:
            file.write(b"\0" * (-file.tell() % (ALIGNMENT if length >= ALIGNMENT else 16)))
            onnx.external_data_helper.set_external_data(tensor, name, file.tell(), length)
            file.write(tensor.raw_data)
        tensor.ClearField("raw_data")


def _file_name(name: str, used_names: set[str]) -> str:
    """Return the name of a weight's own file: its own name, with what no file name can hold replaced."""
    safe = re.sub(r"[^\w.-]", "_", name).lstrip(".")[:200] or "weight"
    while safe.casefold() in used_names:  # systems that do not tell cases apart would write one over the other
        safe += "_"
    used_names.add(safe.casefold())
    return safe


@contextmanager
def _errors(target: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise cannot_write(target, error) from error


def _move_all(folder: Path, target: Path) -> None:
    """Move the weights and then the model, so that a model never appears before its weights."""
    new = folder / ".new"
    new.touch()
    rights = stat.S_IMODE(new.stat().st_mode)  # those that any new file gets here
    new.unlink()
    files = sorted((file for file in folder.rglob("*") if file.is_file()), key=lambda file: file.name == target.name)
    for file in files:
        place = target.parent / file.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        file.chmod(rights)  # ONNX makes files of weights that only their owner can read
        with file.open("rb") as content:
            os.fsync(content.fileno())
        file.replace(place)
