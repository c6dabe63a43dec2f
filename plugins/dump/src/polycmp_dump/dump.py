"""A dump beside the model that it is of: its tensors under the model's names, in the model's layout and types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import BackendError, FileError
from polycmp.graph import ModelGraph
from polycmp.layerwise import static_tensors
from polycmp.model import Model
from polycmp.precision import UNITS
from polycmp.sentences import counted
from polycmp.tensors import (
    Feed,
    TensorEntry,
    TensorMetadata,
    as_dtype,
    dtype_name,
    is_floating,
    to_numpy,
)
from polycmp_dump.dump_files import DumpFile, DumpFolder
from polycmp_dump.dump_map import DumpMap
from polycmp_dump.layouts import file_shape, last_channel_order
from polycmp_dump.pairing import SHOWN, DumpPairing, iterations_of, some
from polycmp_dump.reading import RecordedTensor, TensorReader

Array = NDArray[Any]
#: Files of which the element type is read to tell in what the program calculated.
_LOOKED_AT = 16
#: The operator that makes numbers of codes in a model, and the type whose rounding stands for that of codes.
_DECODING, _CODES = "DequantizeLinear", "int8"


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
        self._reader = TensorReader(dump_map, self._folder)
        self.notes: list[str] = []
        self._last = 0
        self._types_by_shapes: dict[tuple[tuple[int, ...], ...], TensorMetadata] = {}

    # --- which tensors there are

    @cached_property
    def model_graph(self) -> ModelGraph:
        """The whole model."""
        return self._model.shown_graph()

    @cached_property
    def _pairing(self) -> DumpPairing:
        return DumpPairing(self._map, self._folder, self.model_graph, self.computed, self._model.path)

    @cached_property
    def tensors(self) -> Mapping[str, RecordedTensor]:
        """The tensors of the model that the dump holds, by their names in the model; errors as of `DumpPairing`."""
        tensors = self._pairing.tensors()
        self.notes.extend(self._pairing.notes)
        return tensors

    @property
    def files(self) -> Sequence[DumpFile]:
        """The files of the dump, but for those that the map gives to single tensors and no pattern matches."""
        return self._pairing.files

    @cached_property
    def computed(self) -> Sequence[str]:
        """The tensors that the model's operators make of its inputs."""
        graph = self.model_graph
        static = static_tensors(graph) | graph.opaque
        return [name for node in graph.nodes for name in node.outputs if name and name not in static]

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
            FileError: A file of an output does not fit, or none of them is known.
            UsageError: The map says of a tensor what cannot be.
        """
        if not any(name in self.tensors for name in self.model_graph.outputs):
            raise FileError(
                f"no file in {self._map.folder} is known to hold an output of {self._model.path}: "
                f"{some(self.model_graph.outputs)}",
                whose=self._map.path,
                why=f"files: {some(list(self._folder.paths))}",
                hint=f"polycmp template dump {self._model.path} {self._map.folder} -b onnxrt -o dump.toml",
            )
        errors = {name: error for name in self.tensors if (error := self._misfit(name)) is not None}
        self.notes.extend(f"left out: {error.what}" for error in list(errors.values())[:SHOWN])
        if len(errors) > SHOWN:
            self.notes.append(f"left out: {len(errors) - SHOWN} more, whose files do not fit the model either")
        return frozenset(self.tensors) - errors.keys()

    def _misfit(self, name: str) -> FileError | None:
        """Return what is wrong with the files of a tensor inside the model; None if nothing is.

        Of inner tensors the first iteration is looked at. Errors are those of `readable`.
        """
        is_end = name in self.inputs or name in self.model_graph.outputs
        try:
            for iteration in self.iterations if is_end else self.iterations[:1]:
                self._look(name, iteration)
        except FileError as error:
            if is_end:
                raise
            return error
        return None

    @cached_property
    def iterations(self) -> Sequence[int]:
        """The numbers of the iterations, in their order."""
        return iterations_of(self.tensors.values())

    @cached_property
    def precision(self) -> str:
        """The coarsest type in which the program calculated, as the map says or its tensors have it; empty if unknown.

        Codes of a model that has codes itself are its own, and round no more than it does.
        """
        if self._map.precision:
            return self._map.precision
        made = [tensor for name, tensor in self.tensors.items() if name not in self.inputs]
        has_codes = any(node.op_type == _DECODING for node in self.model_graph.nodes)
        names = {_CODES for tensor in made if tensor.rule.scale is not None and not has_codes}
        dtypes = {tensor.rule.dtype for tensor in made if tensor.rule.scale is None} - {None}
        told = [file for tensor in made if tensor.rule.scale is None and (file := self._first_file(tensor)).tells_shape]
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
        return self.model_graph.inputs

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
        missing = [name for name in self.inputs if name not in self.tensors]
        raise BackendError(
            f"the program was fed other {'inputs' if set(feed) <= set(self.inputs) else 'tensors'} than these: "
            f"{some(known)}",
            whose=label,
            why=f"the dump lacks {some(missing)}" if missing else "a dump holds one run, and calculates nothing",
            hint="give the inputs that the program was fed: --load-inputs PATH"
            if missing
            else "leave out --load-inputs and --data-loader-script: the inputs of the dump are taken then",
        )

    def _iteration_in_turn(self, feed: Feed, label: str) -> int:
        """Return the iteration of inputs that the dump lacks: of the run's inputs the first are those of the first."""
        source = self._model.data_loader
        if source is None or source.synthetic:
            raise BackendError(
                "the dump holds no inputs, and numbers were drawn",
                whose=label,
                why=f"which file holds {some(list(self.inputs))} is not known",
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
        return self.model_graph.types(inputs)

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
        entry = self._entry(name, iteration)
        return self._reader.read(self.tensors[name], iteration, entry, channels_last=self.has_channels_last)

    def _look(self, name: str, iteration: int) -> None:
        """See that the file of a tensor fits the model; errors as of `read`.

        An input may be fed with whole numbers, as pictures are; those of a tensor inside are codes.
        """
        recorded, entry = self.tensors[name], self._entry(name, iteration)
        dtype = self._reader.look(recorded, iteration, entry, channels_last=self.has_channels_last).array.dtype
        is_real = entry.dtype is not None and is_floating(entry.dtype)
        if is_real and not is_floating(dtype) and recorded.rule.scale is None and name not in self.inputs:
            raise FileError(
                f"{recorded.file_of(iteration)} holds {dtype_name(dtype)}, and {name!r} is {entry} in the model",
                whose=self._map.path,
                hint=f'codes have a scale: [tensors."{name}"] scale = …, zero_point = …',
            )

    @cached_property
    def has_channels_last(self) -> bool:
        """Whether all tensors whose files tell it have their channels last."""
        self.__dict__["has_channels_last"] = False  # while the shapes are looked at
        votes = set()
        first = self.iterations[0]
        for name, recorded in self.tensors.items():
            file = recorded.file_of(first)
            if file is None or recorded.rule.layout is not None or not file.tells_shape:
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


def _equal(one: Any, two: Any) -> bool:
    a, b = to_numpy(one), to_numpy(two)
    if a.shape != b.shape:
        return False
    return a is b or bool(np.array_equal(a, b, equal_nan=is_floating(a.dtype) and is_floating(b.dtype)))
