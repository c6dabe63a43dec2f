"""Kernels for 8-bit numbers that add two products in 16 bits, which saturates, on processors without VNNI.

Asked of an operator that is accused, or of fused ones between quantised tensors. It takes no run: the operator was
tried with half of the activations when it ran alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polycmp.graph import GraphNode
from polycmp.tensors import Feed
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import FUSION, Judged, Reason

_PRODUCTS = frozenset({"Conv", "MatMul", "Gemm", "ConvTranspose"})
_HELP = "quantise the weights to 7 bits (reduce_range=True) or with an unsigned type, or use a processor with VNNI"
#: What to say where nobody can try it with half of the activations.
IF_IT_SATURATES = (
    "on processors without VNNI, 8-bit kernels that add two products in 16 bits saturate; if this is one, " + _HELP
)


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield what saturates, and what helps."""
    del feed
    row = judged.accused
    if row is not None and judged.verdict != FUSION and row.standalone is not None and row.standalone.saturates:
        yield Reason(
            f"{setting.candidate.label} saturates in {row.node.label}: with half of the activations it is exact. On "
            "processors without VNNI, kernels for unsigned by signed 8-bit numbers add two products in 16 bits; "
            f"{_HELP}",
            is_cause=False,
        )
    elif judged.verdict == FUSION and any(len(read) > 1 for _, read in quantised_products(judged, setting)):
        yield Reason(
            f"the fused operators lie between QuantizeLinear and DequantizeLinear: {IF_IT_SATURATES}",
            is_cause=False,
        )


def quantised_products(judged: Judged, setting: Setting) -> Iterator[tuple[GraphNode, Sequence[str]]]:
    """Yield products around what prevents a fault, each with those of its operands that were quantised; at least one.

    Args:
        judged: The verdict on operators that are wrong together.
        setting: The backends.
    """
    nodes = setting.reference.graph.nodes
    makers = {name: node.op_type for node in nodes for name in node.outputs}
    cures = set(judged.seen_probe.cures) if judged.seen_probe is not None else set()
    for node in nodes:
        read = [name for name in node.inputs if makers.get(name) == "DequantizeLinear"]
        if node.op_type in _PRODUCTS and read and cures & {*node.inputs, *node.outputs}:
            yield node, read
