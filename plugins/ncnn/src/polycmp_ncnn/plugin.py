"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polycmp.spec import RunnerSpec, RunnerTools, Switch, hookimpl, opt


@dataclass(frozen=True)
class Options:
    """Options of the backend `ncnn`."""

    fp16: bool = opt(False, help="Keep weights, and tensors where the processor can, in float16, as pnnx does unasked.")
    bf16: bool = opt(False, help="Keep tensors in bfloat16.")
    winograd: bool = opt(True, help="Calculate convolutions by Winograd's method where ncnn finds that faster.")
    threads: int = opt(1, help="Threads to calculate with.", choices=range(1, 65))


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `ncnn`."""
    yield RunnerSpec(
        name="ncnn",
        summary="ncnn, an engine for phones, on this processor",
        factory="polycmp_ncnn.runner:make_runner",
        options=Options,
        accepts=("onnx",),
        needs=("ncnn",),
        tools="polycmp_ncnn.plugin:NcnnTools",
    )


class NcnnTools(RunnerTools):
    """An engine whose models are converted first, in a process of its own."""

    narrows = (("bf16", "bfloat16"), ("fp16", "float16"))
    threads = "threads"
    concurrent = True
    exclusive = ("threads",)
    compiles = True
    switches = (Switch("winograd", values=(False,)),)
