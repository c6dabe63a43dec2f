"""A dump beside the model that it is of: its tensors under the model's names, in the model's layout and types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import BackendError, FileError, ModelError, UsageError, did_you_mean
from polycmp.layerwise import static_tensors
from polycmp.model import Model
from polycmp.precision import UNITS
from polycmp.sentences import counted, listed
from polycmp.tensors import (
    Feed,
    TensorEntry,
    TensorMetadata,
    as_dtype,
    dtype_class,
    dtype_name,
    format_shape,
    is_floating,
    to_numpy,
)
from polycmp_dump.dump_files import RAW, DumpFile, DumpFolder, FilePattern
from polycmp_dump.dump_map import DumpMap, Numbers, TensorRule
from polycmp_dump.graph import DumpGraph
from polycmp_dump.layouts import file_shape, last_channel_order, order_of, same_but_ones, transposed
from polycmp_dump.names import operator_outputs, pair_with_model

Array = NDArray[Any]
#: Names that a message lists.
_SHOWN = 4
#: Files of which the element type is read to tell in what the program calculated.
_LOOKED_AT = 16
#: The operator that makes numbers of codes in a model, and the type whose rounding stands for that of codes.
_DECODING, _CODES = "DequantizeLinear", "int8"


@dataclass(frozen=True)
class RecordedTensor:
    """One tensor of the model in a dump.

    Attributes:
        name: Its name in the model.
        rule: How it lies in its files.
        files: Its files by iteration; under None the one that is the same in all.
    """

    name: str
    rule: TensorRule
    files: Mapping[int | None, DumpFile]

    def file_of(self, iteration: int) -> DumpFile | None:
        """Return the file of an iteration; None if there is none."""
        return self.files.get(iteration, self.files.get(None))


class Dump:
    """The tensors of a dump.

    Args:
        dump_map: Which file holds which tensor.
        model: The model that the other program ran.

    Attributes:
        notes: Remarks on what was not certain.
    """

    def __init__(self, dump_map: DumpMap, model: Model) -> None:
        self._map, self._model = dump_map, model
        self._folder = DumpFolder(dump_map.folder, model.registry)
        self.notes: list[str] = []
        self._last = 0
        self._types_by_shapes: dict[tuple[tuple[int, ...], ...], TensorMetadata] = {}

    # --- which tensors there are

    @cached_property
    def _model_graph(self) -> Any:
        graph = self._model.graph()
        if graph is None:
            raise ModelError(
                f"the loader of {self._model.kind} models does not show their operators", whose=self._model.path
            )
        return graph

    @cached_property
    def graph(self) -> DumpGraph:
        """The model between the tensors that were dumped.

        Raises:
            FileError: None of the model's outputs is among them.
        """
        graph = DumpGraph(self, self._model_graph, self.readable)
        if not graph.outputs:
            raise FileError(
                f"no file in {self._map.folder} is known to hold an output of {self._model.path}: "
                f"{_some(self._model_graph.outputs)}",
                whose=self._map.path,
                why=f"files: {_some(list(self._folder.paths))}",
                hint=f"polycmp template dump {self._model.path} {self._map.folder} -b onnxrt -o dump.toml",
            )
        return graph

    @cached_property
    def tensors(self) -> Mapping[str, RecordedTensor]:
        """The tensors of the model that the dump holds, by their names in the model.

        Raises:
            UsageError: The map names a tensor that the model does not have, or two files hold one tensor.
            FileError: No file belongs to the model.
        """
        known = list(dict.fromkeys([*self.inputs, *self.computed]))
        self._check_rules(known)
        claimed: dict[str, list[DumpFile]] = {}
        for rule in self._map.rules:
            if rule.file is not None:
                claimed[rule.name] = self._files_of(rule)
        taken = {file.path for files in claimed.values() for file in files}
        found = [file for file in self.files if file.path not in taken]
        pairs, given = self._pair(found, known), set(claimed)
        for file in found:
            if file.name in pairs and pairs[file.name] not in given:
                claimed.setdefault(pairs[file.name], []).append(file)
        unused = list(dict.fromkeys(file.name for file in found if file.name not in pairs))
        if not claimed:
            raise FileError(
                f"no file in {self._map.folder} belongs to a tensor of {self._model.path}",
                why=f"files: {_some(list(self._folder.paths))}; tensors: {_some(known)}",
                hint=f"polycmp template dump {self._model.path} {self._map.folder} -b onnxrt -o dump.toml",
            )
        if unused:
            self.notes.append(f"{counted(len(unused), 'tensor')} of the dump not known in the model: {_some(unused)}")
        tensors = {name: self._recorded(name, claimed[name]) for name in known if name in claimed}
        return self._complete(tensors)

    @cached_property
    def computed(self) -> Sequence[str]:
        """The tensors that the model's operators make of its inputs."""
        graph = self._model_graph
        static = static_tensors(graph) | graph.opaque
        return [name for node in graph.nodes for name in node.outputs if name and name not in static]

    @cached_property
    def files(self) -> Sequence[DumpFile]:
        """The files of the dump, but for those that the map gives to single tensors and no pattern matches."""
        patterns = [FilePattern(text, self._map.path) for text in self._map.files]
        return list(self._folder.find(patterns))

    def is_raw(self, file: DumpFile) -> bool:
        """Return whether a file does not say what type its numbers have."""
        return not _tells_shape(file)

    def read_file(self, file: DumpFile, dtype: str) -> Array:
        """Return what a file holds, as it lies there.

        Args:
            file: The file.
            dtype: Element type, where the file does not say it.
        """
        return self._folder.read(file, dtype, self._map.common.byte_order or "little")

    @cached_property
    def readable(self) -> frozenset[str]:
        """The names of the tensors whose files fit the model; others inside it are left out, with a note.

        Raises:
            FileError: A file of an output does not fit.
            UsageError: The map says of a tensor what cannot be.
        """
        errors = {name: error for name in self.tensors if (error := self._misfit(name)) is not None}
        self.notes.extend(f"left out: {error.what}" for error in list(errors.values())[:_SHOWN])
        if len(errors) > _SHOWN:
            self.notes.append(f"left out: {len(errors) - _SHOWN} more, whose files do not fit the model either")
        return frozenset(self.tensors) - errors.keys()

    def _misfit(self, name: str) -> FileError | None:
        """Return what is wrong with the files of a tensor inside the model; None if nothing is.

        Of inner tensors the first iteration is looked at. Errors are those of `readable`.
        """
        is_end = name in self.inputs or name in self._model_graph.outputs
        try:
            for iteration in self.iterations if is_end else self.iterations[:1]:
                self._lie(name, iteration)
        except FileError as error:
            if is_end:
                raise
            return error
        return None

    def _check_rules(self, known: Sequence[str]) -> None:
        from fnmatch import filter as matching

        for rule in self._map.rules:
            if rule.name not in known and (rule.file is not None or not matching(known, rule.name)):
                raise UsageError(
                    f"no tensor of {self._model.path} is called {rule.name!r}",
                    whose=f"{self._map.path}, line {rule.line}",
                    why=did_you_mean(rule.name, known),
                    hint=f"polycmp inspect model {self._model.path} --show layers",
                )

    def _files_of(self, rule: TensorRule) -> list[DumpFile]:
        assert rule.file is not None
        files = self._folder.find_named(FilePattern(rule.file, self._map.path), rule.name)
        if not files:
            raise FileError(
                f"no file {rule.file} in {self._map.folder}",
                whose=f"{self._map.path}, line {rule.line}",
                why=did_you_mean(rule.file, self._folder.paths),
                hint=f"ls {self._map.folder}",
            )
        return files

    def _pair(self, found: Sequence[DumpFile], known: Sequence[str]) -> dict[str, str]:
        """Return the model's tensors by the names of a dump, and note what was not the very name."""
        names = dict.fromkeys(file.name for file in found if not file.is_node)
        pairs = pair_with_model(names, known)
        operators = {
            name: tensor
            for name, tensor in operator_outputs(self._model_graph.nodes).items()
            if tensor in known and tensor not in pairs.values()
        }
        left = dict.fromkeys(file.name for file in found if file.name not in pairs)
        by_operator = pair_with_model(left, operators)
        self._tell("by the spelling of their names", {a: b for a, b in pairs.items() if a != b})
        self._tell("by the names of their operators", by_operator)
        pairs.update({name: operators[operator] for name, operator in by_operator.items()})
        inputs = [name for name in self.inputs if name in known and name not in pairs.values()]
        by_size = dict(self._fitting(found, inputs, pairs))
        self._tell("as the only ones of their size", by_size)
        return {**pairs, **by_size}

    def _fitting(
        self, found: Sequence[DumpFile], inputs: Sequence[str], pairs: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        """Yield the tensors of a dump which alone have the size of an input, with the input."""
        first = {file.name: file for file in reversed(found) if file.name not in pairs}
        sizes = {name: self._size(file) for name, file in first.items()} if inputs else {}
        wanted = {name: _elements(self.inputs[name]) for name in inputs}
        for name, size in wanted.items():
            fitting = [file_name for file_name, count in sizes.items() if count == size]
            if size and len(fitting) == 1 and list(wanted.values()).count(size) == 1:
                yield fitting[0], name

    def _size(self, file: DumpFile) -> int:
        """Return the number of elements in a file, of float32 where it does not say its type."""
        try:
            return int(self.read_file(file, "float32").size)
        except FileError:  # of another type; it tells nothing
            return 0

    def _tell(self, how: str, pairs: Mapping[str, str]) -> None:
        if pairs:
            shown = listed([f"{one} = {two}" for one, two in pairs.items()], 2)
            self.notes.append(f"{counted(len(pairs), 'tensor')} of the dump paired {how}: {shown}")

    def _recorded(self, name: str, files: Sequence[DumpFile]) -> RecordedTensor:
        by_iteration: dict[int | None, DumpFile] = {}
        for file in files:
            first = by_iteration.setdefault(file.iteration, file)
            if first is not file:
                raise UsageError(
                    f"two files hold {name!r}: {first} and {file}",
                    whose=self._map.path,
                    hint=f'say which: [tensors."{name}"] file = "…"'
                    + ("" if file.iteration is not None else ", with {iteration} where files differ by a number"),
                )
        return RecordedTensor(name, self._map.rule_for(name), by_iteration)

    def _complete(self, tensors: Mapping[str, RecordedTensor]) -> dict[str, RecordedTensor]:
        """Return the tensors that every iteration has."""
        iterations = _iterations_of(tensors.values())
        partial = [
            name for name, tensor in tensors.items() if any(tensor.file_of(index) is None for index in iterations)
        ]
        if partial:
            missing = next(index for index in iterations if tensors[partial[0]].file_of(index) is None)
            self.notes.append(
                f"left out, as not every iteration has them: {_some(partial)} (iteration {missing} lacks {partial[0]})"
            )
        return {name: tensor for name, tensor in tensors.items() if name not in partial}

    @cached_property
    def iterations(self) -> Sequence[int]:
        """The numbers of the iterations, in their order."""
        return _iterations_of(self.tensors.values())

    @cached_property
    def precision(self) -> str:
        """The coarsest type in which the program calculated, as the map says or its tensors have it; empty if unknown.

        Codes of a model that has codes itself are its own, and round no more than it does.
        """
        if self._map.precision:
            return self._map.precision
        made = [tensor for name, tensor in self.tensors.items() if name not in self.inputs]
        has_codes = any(node.op_type == _DECODING for node in self._model_graph.nodes)
        names = {_CODES for tensor in made if tensor.rule.scale is not None and not has_codes}
        dtypes = {tensor.rule.dtype for tensor in made if tensor.rule.scale is None} - {None}
        told = [file for tensor in made if tensor.rule.scale is None and _tells_shape(file := self._first_file(tensor))]
        dtypes |= {dtype_name(self._folder.read(file, "float32", "little").dtype) for file in told[:_LOOKED_AT]}
        names |= {name for name in dtypes if name is not None and is_floating(as_dtype(name))}
        return max((name for name in names if name in UNITS), key=UNITS.__getitem__, default="")

    def _first_file(self, tensor: RecordedTensor) -> DumpFile:
        file = tensor.file_of(self.iterations[0])
        assert file is not None
        return file

    # --- inputs

    @property
    def inputs(self) -> TensorMetadata:
        """The inputs of the model."""
        inputs: TensorMetadata = self._model_graph.inputs
        return inputs

    @property
    def feeds(self) -> RecordedFeeds | None:
        """The recorded inputs; None where some are missing."""
        missing = [name for name, entry in self.inputs.items() if name not in self.tensors and not entry.optional]
        return None if missing else RecordedFeeds(self)

    def feed(self, iteration: int) -> dict[str, Array]:
        """Return the recorded inputs of an iteration."""
        return {name: self.read(name, iteration) for name in self.inputs if name in self.tensors}

    def iteration_of(self, feed: Feed, label: str) -> int:
        """Return the iteration in which the program had these tensors.

        Args:
            feed: Inputs of the model, or of a part of it.
            label: The backend's label, for messages.

        Raises:
            BackendError: It had others in all of them, or nothing tells what it was fed.
        """
        known = [name for name in feed if name in self.tensors]
        if not known:
            return self._iteration_in_turn(feed, label)
        later = self.iterations[self._last :]
        for index in chain(later, self.iterations[: self._last]):
            if all(_equal(self.read(name, index), feed[name]) for name in known):
                self._last = self.iterations.index(index)
                return index
        raise BackendError(
            f"the program was fed other {'inputs' if set(feed) <= set(self.inputs) else 'tensors'} than these: "
            f"{_some(known)}",
            whose=label,
            why="a dump holds one run, and calculates nothing",
            hint="leave out --load-inputs and --data-loader: the inputs of the dump are taken then",
        )

    def _iteration_in_turn(self, feed: Feed, label: str) -> int:
        """Return the iteration of inputs that the dump lacks: of the run's inputs the first are those of the first."""
        source = self._model.data_loader
        if source is None or source.synthetic:
            raise BackendError(
                "the dump holds no inputs, and numbers were drawn",
                whose=label,
                why=f"which file holds {_some(list(self.inputs))} is not known",
                hint="say it in the map, or give the inputs that the program was fed: --load-inputs PATH",
            )
        for index, given in zip(self.iterations, source(self.inputs), strict=False):
            if all(_equal(given[name], feed[name]) for name in feed if name in given):
                return index
        raise BackendError(
            f"the dump has {counted(len(self.iterations), 'iteration')}, and these inputs are none of the first",
            whose=label,
            hint="give the inputs that the program was fed, in its order: --load-inputs PATH",
        )

    # --- numbers

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return the types and shapes of the model's tensors for inputs of these shapes."""
        types: TensorMetadata = self._model_graph.types(inputs)
        return types

    def _entry(self, name: str, iteration: int) -> TensorEntry:
        """Return type and shape of a tensor as the model has it in an iteration."""
        if name in self.inputs:
            return self.inputs[name]
        feed = self.feed(iteration) if self.feeds is not None else self._first_given()
        shapes = tuple(array.shape for array in feed.values())
        if shapes not in self._types_by_shapes:
            self._types_by_shapes[shapes] = self.types(TensorMetadata.from_feed_dict(feed) if feed else self.inputs)
        types = self._types_by_shapes[shapes]
        return types[name] if name in types else TensorEntry(None, None)

    def _first_given(self) -> Feed:
        source = self._model.data_loader
        return {} if source is None else next(iter(source(self.inputs)), {})

    def read(self, name: str, iteration: int) -> Array:
        """Return a tensor as the model has it.

        Raises:
            FileError: Its file is missing, damaged, or holds another number of elements.
            UsageError: The map says what does not fit the tensor.
        """
        array, order, shape = self._lie(name, iteration)
        recorded = self.tensors[name]
        if recorded.rule.scale is not None:
            scale, zero = self._steps(array, recorded.rule, recorded.file_of(iteration))
            array = ((array.astype(np.float64) - zero) * scale).astype(np.float32)
        array = array.reshape(shape) if order is None else transposed(array, order)
        return _as_model(array, self._entry(name, iteration))

    def _lie(self, name: str, iteration: int) -> tuple[Array, tuple[int, ...] | None, tuple[int, ...]]:
        """Return a tensor as it lies in its file, the order of its axes there, and its shape in the model.

        Errors are those of `read`.
        """
        recorded, entry = self.tensors[name], self._entry(name, iteration)
        rule, file = recorded.rule, recorded.file_of(iteration)
        assert file is not None
        kind = rule.dtype or ("float32" if entry.dtype is None or is_floating(entry.dtype) else dtype_name(entry.dtype))
        array = self._folder.read(file, kind, rule.byte_order or "little")
        shape = self._shape(entry, array, recorded, file)
        order, array = self._in_file(array, shape, recorded, file)
        if rule.scale is not None:
            self._steps(array, rule, file)
        return array, order, shape

    def _shape(self, entry: TensorEntry, array: Array, recorded: RecordedTensor, file: DumpFile) -> tuple[int, ...]:
        """Return the shape of a tensor in the model, its open dimensions as the file has them.

        Raises:
            FileError: The file has another number of elements, or does not tell the open dimensions.
        """
        told = recorded.rule.shape or (array.shape if _tells_shape(file) else None)
        if entry.shape is None:
            return told or array.shape
        if not entry.is_dynamic():
            return tuple(int(size) for size in entry.shape)
        fixed = [size for size in entry.shape if isinstance(size, int) and size >= 0]
        is_open = [not (isinstance(size, int) and size >= 0) for size in entry.shape]
        product = math.prod(fixed)
        if told is not None and len(told) == len(entry.shape):
            layout = recorded.rule.layout
            order = order_of(layout, told) if layout is not None else None
            sizes = [told[place] for place in order] if order is not None else list(told)
            if all(free or size == want for free, size, want in zip(is_open, sizes, entry.shape, strict=True)):
                return tuple(sizes)
        if sum(is_open) == 1 and product and array.size % product == 0:
            return tuple(
                array.size // product if free else int(size) for free, size in zip(is_open, entry.shape, strict=True)
            )
        raise FileError(
            f"{file} does not tell the shape of {recorded.name!r}, which the model leaves open: "
            f"{format_shape(entry.shape)}",
            whose=self._map.path,
            hint=f'[tensors."{recorded.name}"] shape = [ … ]',
        )

    def _in_file(
        self, array: Array, shape: tuple[int, ...], recorded: RecordedTensor, file: DumpFile
    ) -> tuple[tuple[int, ...] | None, Array]:
        """Return the order of the axes in the file, None for the model's, and the array with the shape in the file."""
        rule, name = recorded.rule, recorded.name
        if array.size != math.prod(shape):
            raise self._wrong_size(array, shape, recorded, file)
        order = order_of(rule.layout, shape) if rule.layout is not None else None
        if order is None and rule.layout is not None and any(rule.layout is item.layout for item in self._map.rules):
            raise UsageError(
                f"layout {rule.layout} does not fit {name!r}, which is {format_shape(shape)}",
                whose=f"{self._map.path}, line {rule.line}",
            )
        told = rule.shape or (array.shape if _tells_shape(file) else None)
        if order is not None:
            wanted = file_shape(order, shape)
            if told is not None and not same_but_ones(told, wanted):
                raise FileError(
                    f"layout {rule.layout} does not fit {file}: it has the shape {format_shape(told)}, and "
                    f"{name!r}, which is {format_shape(shape)} in the model, would be {format_shape(wanted)} there",
                    whose=self._map.path,
                )
            return order, array.reshape(wanted)
        if told is None:
            last = last_channel_order(len(shape)) if self.has_channels_last and len(shape) > 2 else None
            return last, array.reshape(shape if last is None else file_shape(last, shape))
        if rule.layout is None and len(shape) > 2 and len(told) == len(shape):
            last = last_channel_order(len(shape))
            if told == file_shape(last, shape) and (told != shape or self.has_channels_last):
                return last, array.reshape(told)
        if same_but_ones(told, shape):
            return None, array.reshape(told)
        raise FileError(
            f"{file} has the shape {format_shape(told)}, and {name!r} is {format_shape(shape)} in the model",
            whose=self._map.path,
            hint=f'say how its axes lie: [tensors."{name}"] layout = "NHWC", or [0, 3, 1, 2]',
        )

    @cached_property
    def has_channels_last(self) -> bool:
        """Whether all tensors whose files tell it have their channels last."""
        self.__dict__["has_channels_last"] = False  # while the shapes are looked at
        votes = set()
        first = self.iterations[0]
        for name, recorded in self.tensors.items():
            file = recorded.file_of(first)
            if file is None or recorded.rule.layout is not None or not _tells_shape(file):
                continue
            entry = self._entry(name, first)
            told = self._folder.read(file, "float32", "little").shape
            if entry.shape is None or entry.is_dynamic() or len(told) != len(entry.shape) or len(told) < 3:
                continue
            shape = tuple(int(size) for size in entry.shape)
            last = file_shape(last_channel_order(len(shape)), shape)
            if last != shape:
                votes.add("last" if told == last else "first")
        if votes == {"last"}:
            self.notes.append('the dump has channels last, as the shapes in its files say: layout = "NHWC"')
        return votes == {"last"}

    def _wrong_size(self, array: Array, shape: tuple[int, ...], recorded: RecordedTensor, file: DumpFile) -> FileError:
        count = math.prod(shape)
        bits = array.nbytes * 8 / count if count else 0
        others = [kind for kind in ("float32", "float16", "uint8", "float64") if as_dtype(kind).itemsize * 8 == bits]
        is_raw = file.path.suffix.lower() in RAW or not _tells_shape(file)
        return FileError(
            f"{file} holds {array.size} numbers of {dtype_name(array.dtype)}, and {recorded.name!r} has {count}: "
            f"{format_shape(shape)}",
            whose=self._map.path,
            hint=f'as {others[0]} it would fit: dtype = "{others[0]}"'
            if others and is_raw and others[0] != dtype_name(array.dtype)
            else "another file, another type, or other shapes of inputs? say it in the map",
        )

    def _steps(self, array: Array, rule: TensorRule, file: DumpFile | None) -> tuple[Array, Array]:
        """Return scale and zero point of codes, in shapes that can be broadcast to theirs."""
        if is_floating(array.dtype):
            raise UsageError(
                f"{file} holds {dtype_name(array.dtype)}, and the map gives a scale, as for codes",
                whose=self._map.path,
                hint=f'[tensors."{rule.name}"] dtype = "uint8", or leave the scale out',
            )
        scale = self._along(self._values(rule.scale), rule, array, "scale")
        return scale, self._along(self._values(rule.zero_point or 0.0), rule, array, "zero_point")

    def _values(self, numbers: Numbers | None) -> Array:
        if isinstance(numbers, str):
            files = self._folder.find_named(FilePattern(numbers, self._map.path), numbers)
            if len(files) != 1:
                raise FileError(f"no file {numbers} in {self._map.folder}", whose=self._map.path)
            return self._folder.read(files[0], "float32", "little").astype(np.float64).reshape(-1)
        return np.asarray(numbers, np.float64).reshape(-1)

    def _along(self, values: Array, rule: TensorRule, array: Array, key: str) -> Array:
        if values.size == 1:
            return values.reshape(())
        axis = rule.axis if rule.axis is not None else array.ndim - 1
        if not -array.ndim <= axis < array.ndim or array.shape[axis] != values.size:
            raise UsageError(
                f"{key} has {values.size} numbers, and axis {axis} of {rule.name!r} has the shape "
                f"{format_shape(array.shape)} in the file",
                whose=self._map.path,
                hint="axis = the axis, in the file, along which they differ",
            )
        sizes = [1] * array.ndim
        sizes[axis] = values.size
        return values.reshape(sizes)


class RecordedFeeds:
    """The recorded inputs, iteration by iteration; can be passed over again.

    Args:
        dump: The dump.
    """

    def __init__(self, dump: Dump) -> None:
        self._dump = dump

    def __iter__(self) -> Iterator[Feed]:
        for iteration in self._dump.iterations:
            yield self._dump.feed(iteration)


def _iterations_of(tensors: Iterable[RecordedTensor]) -> list[int]:
    numbers = {index for tensor in tensors for index in tensor.files if index is not None}
    return sorted(numbers) or [0]


def _elements(entry: TensorEntry) -> int:
    """Return the number of elements of a tensor; 0 where dimensions are open."""
    return 0 if entry.shape is None or entry.is_dynamic() else math.prod(map(int, entry.shape))


def _tells_shape(file: DumpFile) -> bool:
    """Return whether a file says the shape of what it holds."""
    return bool(file.member) or file.path.suffix.lower() in {".npy", ".pb", ".tensorproto"}


def _as_model(array: Array, entry: TensorEntry) -> Array:
    """Return an array in the model's type where that is of the same kind."""
    if entry.dtype is None or array.dtype == entry.dtype:
        return array
    kinds = dtype_class(array.dtype), dtype_class(entry.dtype)
    if kinds[0] == kinds[1] or kinds in (("integer", "float"), ("integer", "bool")):
        with np.errstate(over="ignore"):
            return array.astype(entry.dtype)
    if kinds[0] == "float" and kinds[1] in ("integer", "bool") and np.array_equal(array, np.rint(array)):
        return array.astype(entry.dtype)
    return array


def _equal(one: Any, two: Any) -> bool:
    a, b = to_numpy(one), to_numpy(two)
    if a.shape != b.shape:
        return False
    return a is b or bool(np.array_equal(a, b, equal_nan=is_floating(a.dtype) and is_floating(b.dtype)))


def _some(names: Sequence[str]) -> str:
    return listed(list(names), _SHOWN) if names else "none"
