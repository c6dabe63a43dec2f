"""Light module that the core reads for this backend's name, options and needs; no heavy import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polycmp.spec import RunnerSpec, RunnerTools, hookimpl, opt


@dataclass(frozen=True)
class Options:
    """Options of this backend; each field becomes the flag `--trtexec-FIELD`."""

    path: str = opt("trtexec", help="Path of the program, if it is not in PATH.", metavar="FILE", executes=True)
    fp16: bool = opt(False, help="Let TensorRT compute in float16.")
    bf16: bool = opt(False, help="Let TensorRT compute in bfloat16.")
    int8: bool = opt(False, help="Let TensorRT compute in int8.")
    best: bool = opt(False, help="Let TensorRT compute in every type it has.")
    no_tf32: bool = opt(False, help="Keep TensorRT from computing in TF32.")
    arguments: tuple[str, ...] = opt(
        (),
        help="More arguments for trtexec, without their hyphens: useCudaGraph, device=1.",
        metavar="WORD",
        executes=True,
    )
    timeout: float = opt(3600.0, help="Seconds to wait for one call of trtexec.", metavar="SECONDS")

    def __post_init__(self) -> None:
        if not self.path:
            raise ValueError("a program is needed, for example trtexec")
        if not self.timeout > 0:
            raise ValueError(f"timeout must be above 0, not {self.timeout}")


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Contribute the backend `trtexec`."""
    yield RunnerSpec(
        name="trtexec",
        summary="TensorRT, through an installed trtexec",
        factory="polycmp_trtexec.runner:make_runner",
        options=Options,
        accepts=("onnx",),
        needs=("onnx",),
        tools="polycmp_trtexec.plugin:TrtexecTools",
    )


class TrtexecTools(RunnerTools):
    """A compiler that may use smaller types."""

    compiles = True
    narrows = (("fp16", "float16"), ("bf16", "bfloat16"), ("int8", "int8"), ("best", "int8"))
