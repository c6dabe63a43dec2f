"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polycmp.spec import RunnerSpec, RunnerTools, Switch, hookimpl, opt

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle


@dataclass(frozen=True)
class Options:
    """Options of the backend `mnn`."""

    precision: str = opt(
        "normal",
        help="Types that MNN may calculate in: low takes float16 where the processor has it, and bfloat16 elsewhere.",
        choices=("high", "normal", "low"),
    )
    fp16: bool = opt(False, help="Keep weights in float16, as MNNConvert --fp16 does.")
    weight_bits: int = opt(
        0,
        help="Keep weights in so many bits, as MNNConvert --weightQuantBits does; 0 for all.",
        choices=(0, *range(2, 9)),
    )
    winograd: bool = opt(True, help="Calculate convolutions by Winograd's method in tiles as large as MNN likes.")
    threads: int = opt(1, help="Threads to calculate with.", choices=range(1, 65))


_FOUR = 4


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `mnn`."""
    yield RunnerSpec(
        name="mnn",
        summary="MNN, an engine for phones, on this processor",
        factory="polycmp_mnn.runner:make_runner",
        options=Options,
        accepts=("onnx",),
        needs=("MNN",),
        tools="polycmp_mnn.plugin:MnnTools",
    )


class MnnTools(RunnerTools):
    """An engine whose models are converted first, in a process of its own."""

    threads = "threads"
    concurrent = True
    exclusive = ("threads",)
    compiles = True
    switches = (Switch("winograd", values=(False,)),)

    def precision(self, model: ModelHandle, options: Any) -> str:
        """Return the coarsest type that options let it calculate in."""
        if options.weight_bits:
            return "int8" if options.weight_bits > _FOUR else "float8_e4m3fn"  # the unit that four bits have, too
        if options.precision == "low":
            return "bfloat16"
        return "float16" if options.fp16 else ""
