"""Loaders of ExecuTorch's programs: from files, and exported from PyTorch's modules."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, PluginError, describe_exception
from polycmp.loader import Loader
from polycmp.tensors import TensorMetadata, to_numpy
from polycmp_executorch.names import Names, names_of
from polycmp_executorch.program import PteProgram
from polycmp_executorch.pte import PteFile

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle
    from polycmp_executorch.plugin import Options


@dataclass(frozen=True)
class PteModel:
    """A program and the names of what goes in and out.

    Attributes:
        program: The program.
        inputs: Inputs in the order of the method's arguments.
        outputs: Names of what it returns, in that order.
        weights: Names of weights in the model that it was exported from, by `fingerprint`.
        shapes: Shapes in which outputs are shown, where those of the program are others.
    """

    program: PteProgram
    inputs: TensorMetadata
    outputs: tuple[str, ...]
    weights: Mapping[bytes, str] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, program: PteProgram, like: Any = None) -> PteModel:
        """Return a program with names, of which its file has none: those of the model that it was exported from.

        Args:
            program: The program.
            like: A model of PyTorch or ONNX; None for numbers.
        """
        names = Names([], [], {}) if like is None else names_of(like)
        entries = TensorMetadata()
        for name, place in zip(_named(names.inputs, "input", program.inputs), program.inputs, strict=True):
            entries.add(name, *program.entry(place))
        return cls(program, entries, _named(names.outputs, "output", program.outputs), names.weights)


def _named(names: Iterable[str], word: str, places: Sequence[int]) -> tuple[str, ...]:
    given = tuple(names)
    return given if len(given) == len(places) else tuple(f"{word}_{number}" for number in range(len(places)))


class PteFromFile(Loader[PteModel]):
    """Reads a `.pte` file.

    Args:
        path: The file.
        like: Makes the PyTorch or ONNX model whose names of inputs and outputs are taken; None for numbers.
    """

    model_kind = "executorch"

    def __init__(self, path: str | Path, like: Loader[Any] | None = None) -> None:
        self.path, self.like = str(path), like

    def call_impl(self) -> PteModel:
        """Return the program; errors as of `PteFile.read`."""
        return PteModel.of(PteProgram(PteFile.read(self.path), self.path), None if self.like is None else self.like())

    def exact_file(self) -> str:
        """Return the file."""
        return self.path


class PteFromTorch(Loader[PteModel]):
    """Exports a PyTorch module for ExecuTorch.

    Args:
        load: Makes the module: a loader of polycmp-torch.
        data: Source of inputs, called with the module's; None if there is none.
        path: The module's file, for messages.
        delegate: `none`, or `xnnpack`.
    """

    model_kind = "executorch"

    def __init__(self, load: Loader[Any], data: Any, path: str, delegate: str) -> None:
        self.load, self.data, self.path, self.delegate = load, data, path, delegate

    def call_impl(self) -> PteModel:
        """Return the program.

        Raises:
            PluginError: executorch is not installed.
            ModelError: The module cannot be exported, or there is no input to do so with.
        """
        model = self.load()
        feed = next(iter(self.data(model.inputs)), None) if self.data is not None else None
        if feed is None:
            raise ModelError("there are no inputs to export the module with", whose="executorch", hint="polycmp run")
        try:
            import torch
            from executorch.exir import to_edge_transform_and_lower

            partitioner = _partitioner(self.delegate)
        except ImportError as error:
            raise PluginError(
                "needs ExecuTorch, which is not installed here", whose="executorch", why=str(error),
                hint="pip install 'polycmp-executorch[executorch]'",
            ) from error  # fmt: skip
        tensors = {name: torch.from_numpy(to_numpy(feed[name]).copy()) for name in model.inputs}
        places = tuple(tensor for name, tensor in tensors.items() if name not in model.keywords)
        keywords = {name: tensor for name, tensor in tensors.items() if name in model.keywords}
        try:
            exported = torch.export.export(model.module, places, keywords, strict=False)
            program = to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch()
        except Exception as error:
            raise ModelError(
                f"ExecuTorch cannot export {self.path}",
                whose="executorch",
                why=describe_exception(error).splitlines()[0],
            ) from error
        with tempfile.TemporaryDirectory(prefix="polycmp-pte-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, "model.pte")
            path.write_bytes(program.buffer)
            file = PteFile.read(str(path))
        return PteModel.of(PteProgram(file, self.path), model)


def _partitioner(delegate: str) -> list[Any]:
    if delegate == "none":
        return []
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return [XnnpackPartitioner()]


def make_loader(source: Any, options: Options | None, *, model: ModelHandle) -> Loader[PteModel]:
    """Return the loader for a file of the command line, or for a module.

    Args:
        source: The file, or a loader of a module.
        options: The backend's options.
        model: The model handle, which knows the inputs of the run.
    """
    if isinstance(source, Loader):
        return PteFromTorch(source, model.data_loader, model.path, options.delegate if options else "none")
    return PteFromFile(source)
