"""Reading, packing, cutting, marking, showing and writing toys."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from polycmp.errors import FileError, ModelError
from polycmp.loader import BytesFromPath, Loader, resolve
from polycmp.tensors import ModelDescription, TensorMetadata
from toybox.model import Toy, parse


class ToyFromPath(Loader[Toy]):
    """Reads a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def call_impl(self) -> Toy:
        return parse(BytesFromPath(self.path)(), self.path)


class UnpackToy(Loader[Toy]):
    """Makes a toy of a packed one."""

    def __init__(self, packed: Callable[[], bytes]) -> None:
        self.packed = packed

    def call_impl(self) -> Toy:
        return parse(zlib.decompress(resolve(self.packed)), "the packed toy")


class PackToy(Loader[bytes]):
    """Packs a toy."""

    def __init__(self, toy: Callable[[], Toy]) -> None:
        self.toy = toy

    def call_impl(self) -> bytes:
        return zlib.compress(resolve(self.toy).dumps())


class MarkToy(Loader[Toy]):
    """Gives a toy other outputs."""

    def __init__(self, toy: Callable[[], Toy], outputs: Sequence[str] = (), mark_all: bool = False) -> None:
        self.toy = toy
        self.outputs = outputs
        self.mark_all = mark_all

    def call_impl(self) -> Toy:
        toy = resolve(self.toy)
        made = [name for node in toy.nodes for name in node.outputs]
        wanted = tuple(made if self.mark_all else self.outputs)
        unknown = [name for name in wanted if name not in made]
        if unknown:
            raise ModelError(f"no tensor is called {unknown[0]!r}", hint="polycmp inspect model MODEL --show layers")
        return replace(toy, outputs=wanted)


class CutToy(Loader[Toy]):
    """Makes the part of a toy between some tensors and others."""

    def __init__(self, toy: Callable[[], Toy], inputs: TensorMetadata, outputs: Sequence[str]) -> None:
        self.toy = toy
        self.inputs = inputs
        self.outputs = outputs

    def call_impl(self) -> Toy:
        toy = resolve(self.toy)
        needed, nodes = set(self.outputs), []
        for node in reversed(toy.nodes):
            made = set(node.outputs)
            if made & needed and not made <= set(self.inputs):
                nodes.insert(0, node)
                needed |= {name for name in node.inputs if name not in self.inputs}
        missing = needed - set(toy.weights) - {name for node in nodes for name in node.outputs} - set(self.inputs)
        if missing:
            raise ModelError(f"the part lacks {sorted(missing)}")
        inputs = {name: (str(entry.dtype), entry.shape or ()) for name, entry in self.inputs.items()}
        weights = {name: spec for name, spec in toy.weights.items() if name in needed}
        return Toy(inputs, tuple(self.outputs), tuple(nodes), weights)


def make_loader(source: Any, options: Any) -> Loader[Toy]:
    """Return the loader of a file, or of what a loader packs."""
    loader = UnpackToy(source) if isinstance(source, Loader) else ToyFromPath(source)
    if options.outputs or options.mark_all:
        return MarkToy(loader, options.outputs, options.mark_all)
    return loader


def make_packed(source: Any, options: Any) -> Loader[bytes]:
    """Return the loader of a packed file, or of what a loader makes, packed."""
    return PackToy(source) if isinstance(source, Loader) else BytesFromPath(source)


def describe(source: Any, options: Any) -> ModelDescription:
    """Return what a file says of its model."""
    toy = make_loader(source, options)()
    outputs = TensorMetadata()
    for name in toy.outputs:
        outputs.add(name, None, None)
    return ModelDescription(toy.metadata, outputs, tuple(name for node in toy.nodes for name in node.outputs))


def inspect(loader: Callable[[], Toy], show: Sequence[str]) -> str:
    """Return a toy as text."""
    toy = loader()
    lines = [f"toy with {len(toy.nodes)} operators", f"inputs: {toy.metadata}", f"outputs: {', '.join(toy.outputs)}"]
    if "layers" in show:
        for node in toy.nodes:
            attributes = f" {dict(node.attributes)}" if "attrs" in show and node.attributes else ""
            lines.append(f"{node.op} {node.name}: {', '.join(node.inputs)} -> {', '.join(node.outputs)}{attributes}")
    if "weights" in show:
        lines += [f"{name}: {spec['dtype']}{list(spec['shape'])}" for name, spec in toy.weights.items()]
    return "\n".join(lines)


def save(loader: Callable[[], Toy], path: str) -> None:
    """Write a toy."""
    _write(loader().dumps(), path)


def save_packed(loader: Callable[[], bytes], path: str) -> None:
    """Write a packed toy."""
    _write(loader(), path)


def _write(content: bytes, path: str) -> None:
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise FileError(f"cannot write {path}", why=str(error)) from error
