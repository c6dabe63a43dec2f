"""Models whose large weights stay in the files they lie in, so that parts of a model cost no copy of its weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from polycmp.errors import ModelError, describe_exception
from polycmp_onnx.graph import keep_items, subgraphs

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

#: Element types whose bytes in a file are those of a NumPy array.
_PLAIN_KINDS = "biufc"
_CHUNK = 4 << 20
#: Alignment of weights in a file of their own, so that they can be mapped as arrays.
ALIGNMENT = 4096


@dataclass(frozen=True)
class ExternalModel:
    """A model that refers to its weights as external data, and where those lie.

    Attributes:
        model: The model; neither it nor its parts may be changed.
        folder: The folder that the locations in the model begin in.
        own: The name in that folder of the file that the model itself was read from, to which the model refers for the
            weights inside that file; empty if it does not.
    """

    model: ModelProto
    folder: Path
    own: str = ""

    def loaded(self) -> ModelProto:
        """Return a copy of the model that holds its weights.

        Raises:
            ModelError: They cannot be read.
        """
        model, files = deepcopy(self.model), _MappedFiles(self.folder)
        for tensor in external_tensors(model):
            if self.own and _place(tensor).location == self.own:
                tensor.raw_data = files.content(tensor).tobytes()
                tensor.ClearField("data_location")
                del tensor.external_data[:]
        load_weights(model, self.folder, str(self.folder))
        return model

    def copied_to(self, data: BinaryIO, location: str) -> ModelProto:
        """Copy the weights into a file and return a model that refers to that instead; they pass through no memory.

        Args:
            data: The file to write to.
            location: Name of that file in references.

        Raises:
            OSError: Something cannot be read or written.
        """
        model = deepcopy(self.model)
        for tensor in external_tensors(model):
            place = _place(tensor)
            start = data.tell()
            with (self.folder / place.location).open("rb") as source:
                source.seek(place.offset or 0)
                _copy(source, data, place.length)
            del tensor.external_data[:]
            for key, value in (("location", location), ("offset", start), ("length", data.tell() - start)):
                tensor.external_data.add(key=key, value=str(value))
            data.write(bytes(-data.tell() % ALIGNMENT))
        return model

    @property
    def size(self) -> int:
        """Bytes of the weights that lie in files."""
        return sum(_place(tensor).length or 0 for tensor in external_tensors(self.model))

    def moved(self, where: Callable[[str], str]) -> ModelProto:
        """Return a copy of the model that refers to other files, which hold the same bytes.

        Args:
            where: Returns the new location for an old one; called once for each.
        """
        model, places = deepcopy(self.model), dict[str, str]()
        for tensor in external_tensors(model):
            entry = next(item for item in tensor.external_data if item.key == "location")
            if entry.value not in places:
                places[entry.value] = where(entry.value)
            entry.value = places[entry.value]
        return model

    def without_weights(self) -> ModelProto:
        """Return a copy of the model without the initializers that are external data, as initializers or inputs."""
        away = {tensor.name for tensor in external_tensors(self.model)}
        model = deepcopy(self.model)
        for field in (model.graph.initializer, model.graph.input):
            keep_items(field, lambda item: item.name not in away)
        return model

    def arrays(self, tensors: Iterable[Any] | None = None) -> dict[str, NDArray[Any]]:
        """Return weights that are external data by name, mapped into memory where their types allow that.

        What was read of a file counts as memory of this process until the last of these arrays is gone.

        Args:
            tensors: The weights; None for all of the model.

        Raises:
            ModelError: They cannot be read.
        """
        files = _MappedFiles(self.folder)
        weights = external_tensors(self.model) if tensors is None else tensors
        try:
            return {tensor.name: _array(tensor, files.content(tensor)) for tensor in weights}
        except (OSError, ValueError) as error:
            raise _unreadable(str(self.folder), error) from error


class _MappedFiles:
    """Files of weights, each mapped once: a process may have about 1,000 files open, and a map keeps its file open.

    Args:
        folder: The folder that locations begin in.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._maps: dict[str, NDArray[Any]] = {}

    def content(self, tensor: Any) -> NDArray[Any]:
        """Return the bytes of a tensor that is external data.

        Raises:
            OSError: The file cannot be read.
            ValueError: The tensor does not lie in it.
        """
        import numpy as np

        place = _place(tensor)
        offset = place.offset or 0
        length = (self._folder / place.location).stat().st_size - offset if place.length is None else place.length
        if length == 0:  # the file may be empty, too, which cannot be mapped
            return np.empty(0, np.uint8)
        if place.location not in self._maps:
            self._maps[place.location] = np.asarray(np.memmap(self._folder / place.location, np.uint8, mode="r"))
        content: NDArray[Any] = self._maps[place.location][offset : offset + length]
        if offset < 0 or content.nbytes != length:
            raise ValueError(f"the weight {tensor.name!r} does not lie in the file {place.location}")
        return content


def _array(tensor: Any, raw: NDArray[Any]) -> NDArray[Any]:
    import onnx

    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if dtype.kind in _PLAIN_KINDS and dtype.isbuiltin and raw.nbytes == math.prod(tensor.dims) * dtype.itemsize:
        plain: NDArray[Any] = raw.view(dtype.newbyteorder("<")).reshape(tuple(tensor.dims))
        return plain
    inside = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    inside.raw_data = raw.tobytes()
    array: NDArray[Any] = onnx.numpy_helper.to_array(inside)
    return array


def _copy(source: BinaryIO, target: BinaryIO, length: int | None) -> None:
    remaining = length
    while remaining is None or remaining > 0:
        chunk = source.read(_CHUNK if remaining is None else min(_CHUNK, remaining))
        if not chunk:
            return
        target.write(chunk)
        remaining = None if remaining is None else remaining - len(chunk)


def external_model(model: ModelProto, file: Path, folder: Path | None = None) -> ExternalModel | None:
    """Return a model with all of its large weights as external data; None if it has none.

    Args:
        model: The model, as `read_structure` returns it for the file and the name that the file really has.
        file: The file.
        folder: Folder of the weights that lie outside the file; None for the file's own.

    Raises:
        ModelError: Weights outside the file are missing, cut short, or lie outside the folder.
    """
    import onnx

    real = file.resolve()
    base = file.parent if folder is None else folder
    if any(_place(tensor).location != real.name for tensor in external_tensors(model)):
        file_name = real.name if folder is None and not file.is_symlink() else ""
        if not file_name:  # the file and the weights outside it have no folder in common to refer to both from
            model = onnx.load_model(str(file), load_external_data=False)
        external = ExternalModel(model, base, file_name)
        _check(external, str(file))
    else:
        external = ExternalModel(model, real.parent, real.name)
    for tensor in _inner_tensors(model.graph):
        _load(tensor, base, str(file))
    return external if any(external_tensors(model)) else None


def external_tensors(model: ModelProto) -> Iterator[Any]:
    """Yield a model's initializers whose content is external data."""
    from onnx.external_data_helper import uses_external_data

    return (tensor for tensor in model.graph.initializer if uses_external_data(tensor))


def locations(model: ModelProto) -> list[str]:
    """Return the names of the files that a model's weights lie in besides its own, as the model gives them."""
    from onnx.external_data_helper import uses_external_data

    graphs = [model.graph, *model.functions]
    tensors = [*model.graph.initializer, *(tensor for graph in graphs for tensor in _inner_tensors(graph))]
    return list(dict.fromkeys(_place(tensor).location for tensor in tensors if uses_external_data(tensor)))


def load_weights(model: ModelProto, folder: Path, whose: str) -> None:
    """Read a model's external data into the model.

    Args:
        model: The model, which is changed.
        folder: The folder that its locations begin in.
        whose: The model's name in errors.

    Raises:
        ModelError: They are missing, cut short, or lie outside the folder.
    """
    for tensor in (*external_tensors(model), *_inner_tensors(model.graph)):
        _load(tensor, folder, whose)


def _load(tensor: Any, folder: Path, whose: str) -> None:
    from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

    if not uses_external_data(tensor):
        return
    try:
        _refuse_links(folder, _place(tensor).location)
        load_external_data_for_tensor(tensor, str(folder))
    except Exception as error:
        raise _unreadable(whose, error) from error
    tensor.data_location = type(tensor).DEFAULT
    del tensor.external_data[:]


def _refuse_links(folder: Path, location: str) -> None:
    """Raise for weights that a link leads out of the folder to: ONNX itself does not before 1.20."""
    if not (folder / location).resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{location} leads out of the folder {folder}")


def _inner_tensors(graph: Any) -> Iterator[Any]:
    """Yield the tensors among the attributes of a graph's nodes, and those of the graphs among them."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
        for inner in subgraphs(node):
            yield from inner.initializer
            yield from _inner_tensors(inner)


def _check(external: ExternalModel, whose: str) -> None:
    """Make sure that all weights outside the file are there, and that their files lie in the folder."""
    import onnx

    sizes: dict[str, int] = {}
    for tensor in external_tensors(external.model):
        place = _place(tensor)
        if place.location == external.own:
            continue
        if place.location not in sizes:  # ONNX's own check, on one byte: it refuses links and paths that lead outside
            byte = onnx.TensorProto(name=tensor.name, data_location=onnx.TensorProto.EXTERNAL)
            byte.external_data.add(key="location", value=place.location)
            byte.external_data.add(key="length", value="1")
            _load(byte, external.folder, whose)
            sizes[place.location] = (external.folder / place.location).stat().st_size
        end = (place.offset or 0) + (place.length or 0)
        if end > sizes[place.location]:
            raise _unreadable(whose, ValueError(f"the file {place.location} ends before the weight {tensor.name!r}"))


def _place(tensor: Any) -> Any:
    from onnx.external_data_helper import ExternalDataInfo

    try:
        return ExternalDataInfo(tensor)
    except ValueError as error:
        raise _unreadable(f"the weight {tensor.name!r}", error) from error


def _unreadable(whose: str, error: Exception) -> ModelError:
    return ModelError(
        "cannot load the weights outside the file",
        whose=whose,
        why=describe_exception(error),
        hint="give their folder with --external-data-dir DIR",
    )
