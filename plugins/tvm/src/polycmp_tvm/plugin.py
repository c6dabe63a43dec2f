"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polycmp.spec import RunnerSpec, RunnerTools, Switch, hookimpl, opt

#: Passes of TVM without which a model still compiles for a processor, as TVM calls them.
PASSES = ("FuseOps", "FoldConstant")


@dataclass(frozen=True)
class Options:
    """Options of the backend `tvm`."""

    target: str = opt("llvm", help="Target, as tvm.target.Target takes it: llvm, a tag, or JSON.")
    cpu: str | None = opt(
        None, help="Processor to compile for, as LLVM calls it, or host; by default the target's.", metavar="NAME"
    )
    opt_level: int = opt(2, help="Level of TVM's passes, as that of tvm.transform.PassContext.", choices=range(5))
    llvm_level: int = opt(3, help="Level of LLVM's passes.", choices=range(4))
    fast_math: bool = opt(False, help="Let LLVM calculate as if numbers had no rounding, infinities or NaN.")
    vectorize: bool = opt(True, help="Turn loops that ask for it into vectors.")
    disable_passes: tuple[str, ...] = opt((), help="Passes to leave out.", choices=PASSES)


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `tvm`."""
    yield RunnerSpec(
        name="tvm",
        summary="Apache TVM, a compiler of models, on this processor",
        factory="polycmp_tvm.runner:make_runner",
        options=Options,
        accepts=("onnx",),
        needs=("tvm",),
        tools="polycmp_tvm.plugin:TvmTools",
    )


class TvmTools(RunnerTools):
    """A compiler of whole models, in a process of its own."""

    concurrent = True
    compiles = True
    switches = (
        Switch("fast_math", values=(False,)),
        Switch("disable_passes", values=PASSES),
        Switch("vectorize", values=(False,)),
        Switch("llvm_level", values=(2, 1, 0)),
    )
