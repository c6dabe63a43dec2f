"""The layers of experts that ONNX Runtime knows agree with it."""

from __future__ import annotations

from microsoft_cases import judged
from operator_cases import Draw

DRAW = Draw()
floats, positive, octets = DRAW.floats, DRAW.positive, DRAW.octets
#: 7 tokens of 32 numbers, 4 experts of 64; twice as wide where a gate is fused.
TOKENS, LOGITS = floats(7, 32), floats(7, 4)
FIRST, SECOND = [floats(4, 64, 32) / 6, floats(4, 64)], [floats(4, 32, 64) / 8, floats(4, 32)]
TWICE = [floats(4, 128, 32) / 6, floats(4, 128)]
GATED = {"activation_type": "swiglu", "swiglu_fusion": 1, "k": 2, "normalize_routing_weights": 1}


def packed(bits, *shape):
    return octets(*shape[:-1], shape[-1] * bits // 8)


def few_bits(bits, wide, blocks=0, zeros=False):
    """Return what QMoE reads of two layers: codes, scales, biases, and possibly zero points."""
    made, points = [], []
    for outer, inner in ((wide, 32), (32, 64)):
        per_row = [blocks * inner // 32] if blocks else []
        made += [packed(bits, 4, outer, inner), positive(4, outer, *per_row) / (1 << bits) / 4, floats(4, outer)]
        points.append(packed(bits, 4, outer, *per_row) if per_row else packed(bits, 4, outer))
    return [TOKENS, LOGITS, *made, *([None, None, None, *points] if zeros else [])]


CASES = [
    *(("MoE", [TOKENS, LOGITS, *FIRST, *SECOND], {"activation_type": name, "k": k, "normalize_routing_weights": norm})
      for name, k, norm in (("relu", 1, 0), ("relu", 2, 1), ("gelu", 2, 0), ("silu", 3, 1), ("identity", 4, 1))),
    ("MoE", [TOKENS.reshape(1, 7, 32), LOGITS, FIRST[0], None, SECOND[0]], {"k": 2}),
    ("MoE", [TOKENS, LOGITS, *TWICE, *SECOND], GATED),
    ("MoE", [TOKENS, LOGITS, *TWICE, *SECOND],
     {**GATED, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 0.7}),
    *(("QMoE", few_bits(bits, 64, zeros=zeros), {"expert_weight_bits": bits, "k": 2, "activation_type": "silu"})
      for bits in (4, 8) for zeros in (False, True)),
    ("QMoE", few_bits(4, 64, blocks=2), {"expert_weight_bits": 4, "k": 2, "block_size": 16}),
    ("QMoE", few_bits(4, 64, blocks=2, zeros=True), {"expert_weight_bits": 4, "k": 2, "block_size": 16}),
    ("QMoE", few_bits(4, 128), {**GATED, "expert_weight_bits": 4, "activation_alpha": 1.702, "activation_beta": 1.0}),
    ("QMoE", [*few_bits(4, 64), *[None] * 6, positive(7, 4)], {"k": 2, "normalize_routing_weights": 1}),
]  # fmt: skip

test_an_operator_of_onnx_runtime_agrees_with_it = judged(CASES)
