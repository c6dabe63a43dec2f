"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polycmp.spec import RunnerSpec, RunnerTools, Switch, hookimpl, opt


@dataclass(frozen=True)
class Options:
    """Options of the backend `iree`."""

    optimization: str = opt(
        "O0",
        help="Level of all the compiler's passes, as iree-compile --iree-opt-level.",
        choices=("O0", "O1", "O2", "O3"),
    )
    target: str = opt(
        "llvm-cpu",
        help="What to compile for: this processor's own code, or kernels that IREE's virtual machine interprets.",
        choices=("llvm-cpu", "vmvx"),
    )
    data_tiling: bool = opt(False, help="Lay out products in tiles, as --iree-opt-data-tiling.")
    microkernels: bool = opt(True, help="Take kernels written by hand where the compiler has them.")
    const_eval: bool = opt(True, help="Calculate what follows from constants while compiling.")
    cpu: str = opt("host", help="Processor to compile for, as LLVM calls it, or generic.")
    flags: tuple[str, ...] = opt((), help="Further words for iree-compile, such as --iree-opt-strip-assertions.")
    threads: int = opt(1, help="Threads to calculate with.", choices=range(1, 65))


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `iree`."""
    yield RunnerSpec(
        name="iree",
        summary="IREE, a compiler of MLIR and its runtime, on this processor",
        factory="polycmp_iree.runner:make_runner",
        options=Options,
        accepts=("onnx",),
        needs=("iree.compiler", "iree.runtime"),
        tools="polycmp_iree.plugin:IreeTools",
    )


class IreeTools(RunnerTools):
    """A compiler of whole models, in a process of its own."""

    threads = "threads"
    concurrent = True
    exclusive = ("threads",)
    compiles = True
    switches = (
        Switch("target", values=("llvm-cpu", "vmvx")),
        Switch("microkernels", values=(False,)),
        Switch("data_tiling", values=(False,)),
        Switch("const_eval", values=(False,)),
        Switch("optimization", values=("O2", "O1", "O0")),
    )
