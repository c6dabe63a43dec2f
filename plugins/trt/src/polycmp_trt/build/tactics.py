"""Tactics: recording those that the builder chose, and making it choose the same again.

Replay files have the form that Polygraphy writes and reads. Reading and comparing them needs no TensorRT.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from polycmp.errors import BackendError, FileError, describe_exception
from polycmp.files import atomic_write
from polycmp.loader import Loader, immediate
from polycmp_trt.build.callbacks import guarded, remember_errors
from polycmp_trt.features import import_tensorrt, require

if TYPE_CHECKING:
    from types import ModuleType

    import tensorrt as trt
    from tensorrt import IAlgorithm, IAlgorithmContext

    from polycmp_trt.types import FileLike

__all__ = [
    "Algorithm",
    "RecordTactics",
    "ReplayTactics",
    "TacticRecorder",
    "TacticReplayData",
    "TacticReplayer",
    "TensorInfo",
    "record_tactics",
    "replay_tactics",
]

_LOG = logging.getLogger("polycmp.trt")
_CLASS = "polygraphy_class"


@dataclass(frozen=True)
class TensorInfo:
    """Memory layout of one input or output of an algorithm.

    Attributes:
        dtype: TensorRT's name of the element type, for example `DataType.FLOAT`.
        strides: Strides in elements.
        vectorized_dim: The dimension whose elements are packed into vectors; -1 or None without one.
        components_per_element: Elements in a vector.
        tensor_format: The format's name where TensorRT reports it; older Polygraphy needs it. It is redundant, so it
            is ignored when algorithms are compared.
    """

    dtype: str
    strides: tuple[int, ...]
    vectorized_dim: int | None = None
    components_per_element: int | None = None
    tensor_format: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", str(self.dtype))
        object.__setattr__(self, "strides", tuple(self.strides))

    @staticmethod
    def from_trt(io_info: trt.IAlgorithmIOInfo) -> TensorInfo:
        """Copy the fields of a `tensorrt.IAlgorithmIOInfo`."""
        form = getattr(io_info, "tensor_format", None)
        return TensorInfo(
            str(io_info.dtype),
            tuple(io_info.strides),
            getattr(io_info, "vectorized_dim", None),
            getattr(io_info, "components_per_element", None),
            None if form is None else str(form),
        )

    def to_json_object(self) -> dict[str, Any]:
        """Return the members that it has in a replay file."""
        form = {} if self.tensor_format is None else {"tensor_format": self.tensor_format}
        return {
            "dtype": self.dtype,
            **form,
            "strides": list(self.strides),
            "vectorized_dim": self.vectorized_dim,
            "components_per_element": self.components_per_element,
            _CLASS: "TensorInfo",
        }

    def __str__(self) -> str:
        return f"{self.dtype.rpartition('.')[2].lower()}, strides {list(self.strides)}" + (
            f", {self.components_per_element} per element of dimension {self.vectorized_dim}"
            if (self.components_per_element or 1) > 1
            else ""
        )


@dataclass(frozen=True)
class Algorithm:
    """One way to carry out a layer.

    Attributes:
        implementation: TensorRT's number for the implementation.
        tactic: TensorRT's number for the tactic.
        inputs: Memory layouts of the inputs.
        outputs: Memory layouts of the outputs.
    """

    implementation: int
    tactic: int
    inputs: tuple[TensorInfo, ...] = ()
    outputs: tuple[TensorInfo, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "outputs", tuple(self.outputs))

    @staticmethod
    def from_trt(context: trt.IAlgorithmContext, algorithm: trt.IAlgorithm) -> Algorithm:
        """Copy the fields of a `tensorrt.IAlgorithm`, for the layer of an `IAlgorithmContext`."""
        count = context.num_inputs
        infos = [TensorInfo.from_trt(algorithm.get_algorithm_io_info(i)) for i in range(count + context.num_outputs)]
        variant = algorithm.algorithm_variant
        return Algorithm(variant.implementation, variant.tactic, tuple(infos[:count]), tuple(infos[count:]))

    def to_json_object(self) -> dict[str, Any]:
        """Return the members that it has in a replay file."""
        return {
            "implementation": self.implementation,
            "tactic": self.tactic,
            "inputs": [info.to_json_object() for info in self.inputs],
            "outputs": [info.to_json_object() for info in self.outputs],
            _CLASS: "Algorithm",
        }

    def __str__(self) -> str:
        def listed(infos: Iterable[TensorInfo]) -> str:
            return "; ".join(str(info) for info in infos) or "none"

        return (
            f"(Implementation: {self.implementation}, Tactic: {self.tactic}) "
            f"| Inputs: {listed(self.inputs)} | Outputs: {listed(self.outputs)}"
        )


class TacticReplayData(MutableMapping[str, Algorithm]):
    """The algorithm chosen for each layer, by the layer's name, in the order of the build."""

    def __init__(self, dct: Mapping[str, Algorithm] | None = None) -> None:
        self._layers: dict[str, Algorithm] = dict(dct or {})

    def add(self, name: str, algorithm: Algorithm) -> TacticReplayData:
        """Set one layer's algorithm and return the data, so that calls chain."""
        self._layers[name] = algorithm
        return self

    def to_json(self) -> str:
        """Return the text of a replay file."""
        layers = {name: algorithm.to_json_object() for name, algorithm in self._layers.items()}
        return json.dumps({"replay": layers, _CLASS: "TacticReplayData"}, indent="    ")

    def to_json_object(self) -> dict[str, Any]:
        """Return the members of a replay file."""
        return {"replay": dict(self._layers), _CLASS: "TacticReplayData"}

    @staticmethod
    def from_json(src: str) -> TacticReplayData:
        """Return the data in the text of a replay file.

        Raises:
            FileError: It is not one.
        """
        try:
            whole = json.loads(src)
            if whole.get(_CLASS, "TacticReplayData") != "TacticReplayData":
                raise ValueError(f"it holds {whole[_CLASS]}")
            return TacticReplayData({name: _algorithm_from_dict(value) for name, value in whole["replay"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileError("not a tactic replay file", why=describe_exception(error)) from error

    def save(self, dest: FileLike) -> None:
        """Write a replay file.

        Args:
            dest: A path, or an open text or binary file.

        Raises:
            FileError: It cannot be written.
        """
        text = self.to_json()
        if hasattr(dest, "write"):
            _write(cast("IO[Any]", dest), text)
            return
        with atomic_write(dest) as file:
            file.write(text.encode())

    @staticmethod
    def load(src: FileLike) -> TacticReplayData:
        """Read a replay file.

        Args:
            src: A path, or an open file.

        Raises:
            FileError: It cannot be read, or is not one.
        """
        if hasattr(src, "read"):
            content = src.read()
            return TacticReplayData.from_json(content if isinstance(content, str) else content.decode())
        try:
            return TacticReplayData.from_json(Path(src).read_text("utf-8"))
        except FileError as error:
            raise FileError(f"{src} is not a tactic replay file", why=error.why) from error
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot read the tactic replay file {src}", why=describe_exception(error)) from error

    def __getitem__(self, name: str) -> Algorithm:
        return self._layers[name]

    def __setitem__(self, name: str, algorithm: Algorithm) -> None:
        self._layers[name] = algorithm

    def __delitem__(self, name: str) -> None:
        del self._layers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layers)

    def __len__(self) -> int:
        return len(self._layers)

    def __str__(self) -> str:
        return "\n".join(f"Layer: {name}\n    Algorithm: {algorithm}" for name, algorithm in self._layers.items())


def _write(file: IO[Any], text: str) -> None:
    try:
        file.write(text)
    except TypeError:
        file.write(text.encode())


def _algorithm_from_dict(value: Mapping[str, Any]) -> Algorithm:
    def infos(items: Iterable[Mapping[str, Any]]) -> tuple[TensorInfo, ...]:
        return tuple(
            TensorInfo(
                item["dtype"],
                tuple(item["strides"]),
                item.get("vectorized_dim"),
                item.get("components_per_element"),
                item.get("tensor_format"),
            )
            for item in items
        )

    return Algorithm(
        int(value["implementation"]), int(value["tactic"]), infos(value["inputs"]), infos(value["outputs"])
    )


def TacticRecorder(  # noqa: N802  (the field's name for it; its class needs TensorRT to exist)
    record: TacticReplayData | FileLike,
) -> trt.IAlgorithmSelector:
    """Return a `tensorrt.IAlgorithmSelector` that records the tactics of a build.

    Args:
        record: A path, an open file, or a `TacticReplayData` to add to.

    Raises:
        BackendError: This release of TensorRT has no algorithm selector.
    """
    trt = _selector_module("recording tactics (--save-tactics)")

    @remember_errors
    class TacticRecorder(trt.IAlgorithmSelector):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            trt.IAlgorithmSelector.__init__(self)
            self.data = record if isinstance(record, TacticReplayData) else TacticReplayData()

        @guarded(default=())
        def select_algorithms(self, context: IAlgorithmContext, choices: Sequence[IAlgorithm]) -> list[int]:
            return list(range(len(choices)))

        @guarded(default=None)
        def report_algorithms(self, contexts: Sequence[IAlgorithmContext], choices: Sequence[IAlgorithm]) -> None:
            for context, choice in zip(contexts, choices, strict=False):
                self.data.add(context.name, Algorithm.from_trt(context, choice))
            if not isinstance(record, TacticReplayData):
                self.data.save(record)

    return TacticRecorder()


def TacticReplayer(replay: TacticReplayData | FileLike) -> trt.IAlgorithmSelector:  # noqa: N802  (see TacticRecorder)
    """Return a `tensorrt.IAlgorithmSelector` that makes a build use recorded tactics.

    A layer that the record lacks gets TensorRT's own choice, with a warning; a recorded tactic that TensorRT does not
    offer ends the build.

    Args:
        replay: A path, an open file, or a `TacticReplayData`.

    Raises:
        BackendError: This release of TensorRT has no algorithm selector.
        FileError: The file cannot be read.
    """
    trt = _selector_module("replaying tactics (--load-tactics)")
    data = replay if isinstance(replay, TacticReplayData) else TacticReplayData.load(replay)

    @remember_errors
    class TacticReplayer(trt.IAlgorithmSelector):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            trt.IAlgorithmSelector.__init__(self)
            self.data = data

        @guarded(default=())
        def select_algorithms(self, context: IAlgorithmContext, choices: Sequence[IAlgorithm]) -> list[int]:
            return _replayed(data, context, choices)

        @guarded(default=None)
        def report_algorithms(self, contexts: Sequence[IAlgorithmContext], choices: Sequence[IAlgorithm]) -> None:
            for context, choice in zip(contexts, choices, strict=False):
                _check_replayed(data, context, choice)

    return TacticReplayer()


def _selector_module(option: str) -> ModuleType:
    trt = import_tensorrt()
    require("algorithm_selector", option, trt)
    return trt


def _replayed(data: TacticReplayData, context: trt.IAlgorithmContext, choices: Sequence[trt.IAlgorithm]) -> list[int]:
    recorded = data.get(context.name)
    if recorded is None:
        if data:
            _LOG.warning("layer %r is not in the tactic replay; TensorRT chooses", context.name)
        return list(range(len(choices)))
    offered = [Algorithm.from_trt(context, choice) for choice in choices]
    if recorded not in offered:
        raise BackendError(
            f"TensorRT does not offer the recorded tactic for layer {context.name!r}",
            whose="trt",
            why=f"recorded: {recorded}; offered: {' / '.join(map(str, offered)) or 'nothing'}",
            hint="record again: the model, its options, the device or TensorRT is not the same any more",
        )
    return [offered.index(recorded)]


def _check_replayed(data: TacticReplayData, context: trt.IAlgorithmContext, choice: trt.IAlgorithm) -> None:
    recorded = data.get(context.name)
    chosen = Algorithm.from_trt(context, choice)
    if recorded is not None and recorded != chosen:
        raise BackendError(
            f"TensorRT chose another tactic for layer {context.name!r} than the recorded one",
            whose="trt",
            why=f"recorded: {recorded}; chosen: {chosen}",
        )


class RecordTactics(Loader["trt.IAlgorithmSelector"]):
    """Makes a `TacticRecorder` once TensorRT is needed.

    Args:
        path: The replay file to write.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path

    def call_impl(self) -> trt.IAlgorithmSelector:
        """Return a new recorder; see `TacticRecorder` for the errors."""
        return TacticRecorder(self.path)


class ReplayTactics(Loader["trt.IAlgorithmSelector"]):
    """Makes a `TacticReplayer` once TensorRT is needed.

    Args:
        path: The replay file to read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path

    def call_impl(self) -> trt.IAlgorithmSelector:
        """Return a new replayer; see `TacticReplayer` for the errors."""
        return TacticReplayer(self.path)


record_tactics = immediate(RecordTactics)
replay_tactics = immediate(ReplayTactics)
