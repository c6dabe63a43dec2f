"""Options of the backend `torch`. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.spec import check_at_least_one, opt


@dataclass(frozen=True)
class Options:
    """Options of the backend `torch`."""

    script: str | None = opt(
        None,
        help="Run the module that this file provides, with the inputs and names of the model; NAME is a module, a "
        "class or a function without arguments, by default load_model. May also be an exported program or TorchScript.",
        metavar="FILE.py[:NAME]",
    )
    device: str = opt("cpu", help="Device by PyTorch's name: cpu, cuda, cuda:1, mps.", metavar="NAME")
    dtype: str = opt(
        "",
        help="Compute real numbers in this type instead of the module's own: float64 for a reference with very "
        "little rounding error.",
        choices=("", "float64", "float32", "bfloat16", "float16"),
    )
    compile: bool = opt(False, help="Run the module compiled with torch.compile.")
    compiler: str = opt(
        "inductor",
        help="Backend of torch.compile: eager runs the graph captured by Dynamo, aot_eager runs ATen's operators "
        "one by one.",
        choices=("inductor", "aot_eager", "eager"),
    )
    disable: tuple[str, ...] = opt(
        (),
        help="Inductor optimizations to disable, by the names in torch._inductor.list_options: pattern_matcher, "
        "epilogue_fusion, …",
        metavar="NAME",
    )
    dynamic: bool = opt(False, help="Compile for open sizes: torch.compile(dynamic=True).")
    fallback_random: bool = opt(False, help="Let Inductor draw the random numbers that the module draws uncompiled.")
    grad: str = opt(
        "off",
        help="off: run without gradients. on: record them, as a plain call of the module does. backward: also return "
        "the gradients of inputs and parameters, as x.grad; the gradient of every real output is fixed.",
        choices=("off", "on", "backward"),
    )
    threads: int | None = opt(None, help="Threads within one operator; by default PyTorch's own number.", metavar="N")

    def __post_init__(self) -> None:
        check_at_least_one(self, "threads")
        if not self.device.strip():
            raise ValueError("a device is needed, for example cpu")
        if (self.disable or self.dynamic or self.fallback_random or self.compiler != "inductor") and not self.compile:
            raise ValueError("compiler, disable, dynamic and fallback_random have an effect only with compile")
        if (self.disable or self.fallback_random) and self.compiler != "inductor":
            raise ValueError(f"{self.compiler} has no such settings: disable and fallback_random are for inductor")
