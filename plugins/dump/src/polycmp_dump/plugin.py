"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from polycmp.spec import CommandSpec, RunnerSpec, hookimpl, opt


@dataclass(frozen=True)
class DumpOptions:
    """Options of the backend `dump`."""

    folder: str = opt(
        "", help="Folder of the dump; by default the one that the map names.", alias="--dump", metavar="DIR"
    )
    map: str = opt("", help="Map of the dump: which file holds which tensor, and how.", alias="--map", metavar="FILE")

    def __post_init__(self) -> None:
        if not (self.folder or self.map):
            raise ValueError("a folder or a map is missing: -b dump:folder=DIR,map=dump.toml")


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Contribute the backend `dump`."""
    yield RunnerSpec(
        name="dump",
        summary="Tensors that another program dumped: a phone, an NPU, a program in C++",
        factory="polycmp_dump.runner:make_runner",
        options=DumpOptions,
        accepts=("onnx",),
        tools="polycmp_dump.tools:DumpTools",
    )


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the command that writes a map."""
    yield CommandSpec(
        ("template", "dump"), "Write a map of a dump, paired by names and values.", "polycmp_dump.template:dump_map"
    )
