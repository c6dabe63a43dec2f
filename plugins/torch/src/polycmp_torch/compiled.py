"""Optimizations and compilers that torch.compile can leave out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle
    from polycmp_torch.options import Options

#: Optimizations of Inductor that what a module computes does not depend on, the narrow ones first.
OPTIMIZATIONS = (
    "pattern_matcher", "split_cat_fx_passes", "batch_fusion", "joint_graph_constant_folding",
    "constant_and_index_propagation", "optimize_scatter_upon_const_tensor", "online_softmax", "epilogue_fusion",
    "split_reductions", "layout_optimization", "shape_padding", "comprehensive_padding", "reorder_for_locality",
    "loop_ordering_after_fusion", "inplace_buffers", "allow_buffer_reuse", "cpp.weight_prepack",
    "use_pre_grad_passes", "use_joint_graph_passes", "use_post_grad_passes",
)  # fmt: skip
#: Compilers below Inductor: ATen's operators one by one behind AOTAutograd, and the graph as Dynamo caught it.
COMPILERS = ("aot_eager", "eager")


def optimizations(model: ModelHandle, options: Options) -> Iterator[str]:
    """Yield the optimizations that this release of PyTorch knows, where the module is compiled by Inductor."""
    if options.compile and options.compiler == "inductor":
        try:
            from torch import _inductor
        except ImportError:  # the names alone need no PyTorch
            known = {*OPTIMIZATIONS}
        else:
            known = {*_inductor.list_options()}
        yield from (name for name in OPTIMIZATIONS if name in known)


def compilers(model: ModelHandle, options: Options) -> Iterator[str]:
    """Yield the compilers that leave out more, where the module is compiled at all."""
    yield from COMPILERS if options.compile else ()


def own_random_numbers(model: ModelHandle, options: Options) -> Iterator[bool]:
    """Yield True where Inductor draws random numbers of its own, which another setting keeps it from."""
    if options.compile and options.compiler == "inductor" and not options.fallback_random:
        yield True


def compile_arguments(options: Options) -> Mapping[str, Any]:
    """Return the arguments of torch.compile."""
    arguments: dict[str, Any] = {"backend": options.compiler}
    inductor: dict[str, bool] = dict.fromkeys(options.disable, False)
    if options.fallback_random:
        inductor["fallback_random"] = True
    if inductor:
        arguments["options"] = inductor
    if options.dynamic:
        arguments["dynamic"] = True
    return arguments


def draws(options: Options) -> str:
    """Say what it means for a comparison that a module draws random numbers."""
    if options.compile and options.compiler == "inductor" and not options.fallback_random:
        return (
            "the module draws random numbers, for which Inductor has a way of its own, so that one seed gives others: "
            "-b torch:compile,fallback_random draws those of the module uncompiled"
        )
    return "the module draws random numbers, others in each backend and run"


def unasked(options: Options, contiguous: bool) -> str:
    """Describe the calls that a run of a compiled module did not exercise; empty if there are none.

    Args:
        options: The backend's options.
        contiguous: Whether no input had strides other than those of rows.
    """
    if not options.compile:
        return ""
    limits = {
        "contiguous inputs": ("--stress-layouts transposed sliced", contiguous),
        "no gradients": ("--torch-grad on", options.grad == "off"),
        "static shapes": ("-b torch:compile,dynamic", not options.dynamic),
    }
    missing = {name: words for name, (words, holds) in limits.items() if holds}
    return f"asked only with {', '.join(missing)}; for others: {', '.join(missing.values())}" if missing else ""
