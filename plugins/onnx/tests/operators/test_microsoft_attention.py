"""The attentions and embeddings that ONNX Runtime's optimiser writes agree with ONNX Runtime."""

from __future__ import annotations

import numpy as np
from microsoft_cases import judged, model_of, step, words
from operator_cases import Draw

from polycmp_onnx.reference import make_evaluator

DRAW = Draw()
floats, codes = DRAW.floats, DRAW.codes
ANGLES = np.outer(range(16), 0.7 ** np.arange(8))
COSINES, SINES = (part.astype(np.float32) for part in (np.cos(ANGLES), np.sin(ANGLES)))
#: Batch 2, 5 queries, 7 keys, 2 heads of 4.
Q, K, V = floats(2, 5, 8), floats(2, 7, 8), floats(2, 7, 8)
QKV = [floats(2, 5, 8), floats(2, 5, 8), floats(2, 5, 8)]
PAST = [floats(2, 2, 3, 4), floats(2, 2, 3, 4)]
MASK = words([1, 1, 1, 1, 1], [1, 1, 0, 0, 0])
TABLES = [floats(11, 8), floats(6, 8), floats(2, 8), floats(8), floats(8)]
IDS, SEGMENTS = words([1, 2, 3, 4, 5], [10, 9, 0, 0, 0]), words([0, 0, 1, 1, 1], [0, 1, 0, 0, 0])
#: 4 heads of 16 on 2 groups.
GROUPED = {"num_heads": 4, "kv_num_heads": 2}
PROMPT = [floats(2, 5, 64), floats(2, 5, 32), floats(2, 5, 32), None, None, words(4, 4), words(5).reshape(())]
LATER = [floats(2, 1, 64), floats(2, 1, 32), floats(2, 1, 32), floats(2, 2, 6, 16), floats(2, 2, 6, 16), words(6, 4),
         words(7).reshape(())]  # fmt: skip
CASES = [
    *(("Attention", [floats(2, 5, 8), floats(8, 24), floats(24), *mask], {"num_heads": 2, "unidirectional": causal})
      for causal in (0, 1) for mask in ([], [words(5, 3)], [words(5, 4, 0, 1)], [MASK],
                                        [np.stack([np.tril(MASK[0] + np.zeros((5, 5), np.int32))] * 2)])),
    ("Attention", [floats(2, 5, 8), floats(8, 24), floats(24), MASK], {"num_heads": 4}),
    ("Attention", [floats(2, 5, 8), floats(8, 28), floats(28)], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 12]}),
    *(("Attention", [floats(2, 5, 8), floats(8, 24), floats(24), None, floats(2, 2, 2, 3, 4)],
       {"num_heads": 2, "unidirectional": causal, "scale": 0.3}, 2) for causal in (0, 1)),
    ("Attention", [floats(2, 5, 8), floats(8, 24), floats(24), None, None, floats(1, 2, 5, 5)], {"num_heads": 2}),
    ("QAttention", [codes(np.uint8, 2, 5, 8), codes(np.int8, 8, 24), floats(24), np.float32(0.02), np.float32(0.01),
                    words(5, 4), np.uint8(50), np.int8(40)], {"num_heads": 2}),
    ("QAttention", [codes(np.uint8, 2, 5, 8), codes(np.int8, 8, 24), floats(24), np.float32(0.02), np.float32(0.01),
                    None, np.uint8(50), np.int8(40), floats(2, 2, 2, 3, 4)], {"num_heads": 2, "unidirectional": 1}, 2),
    ("MultiHeadAttention", [Q, K, V], {"num_heads": 2}),
    ("MultiHeadAttention", [Q, K, V, floats(24), words([1] * 7, [1] * 4 + [0] * 3)], {"num_heads": 2, "scale": 0.2}),
    ("MultiHeadAttention", [Q, K, V, None, None, floats(1, 2, 5, 7)], {"num_heads": 2}),
    ("MultiHeadAttention", [*QKV, floats(24)], {"num_heads": 2, "unidirectional": 1}),
    ("MultiHeadAttention", [*QKV, None, None, None, *PAST], {"num_heads": 2}, 3),
    ("MultiHeadAttention", [*QKV, floats(24), None, floats(2, 1, 5, 8), *PAST],
     {"num_heads": 2, "unidirectional": 1}, 3),
    ("MultiHeadAttention", [Q, floats(2, 2, 7, 4), floats(2, 2, 7, 4)], {"num_heads": 2}),
    *(("GroupQueryAttention", arrays, {**GROUPED, **more}, 3) for arrays in (PROMPT, LATER)
      for more in ({}, {"scale": 0.3}, {"local_window_size": 3}, {"softcap": 2.0}, {"smooth_softmax": 1})),
    *(("GroupQueryAttention", [*arrays, COSINES, SINES], {**GROUPED, "do_rotary": 1, "rotary_interleaved": pairs}, 3)
      for arrays in (PROMPT, LATER) for pairs in (0, 1)),
    ("GroupQueryAttention", [floats(2, 5, 128), None, None, *PROMPT[3:]], GROUPED, 3),
    *(("RotaryEmbedding", [array, places, COSINES, SINES], {"interleaved": pairs})
      for array in (floats(2, 5, 32), floats(2, 2, 5, 16)) for pairs in (0, 1)
      for places in (np.array([3]), np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]))),
    ("RotaryEmbedding", [floats(2, 5, 40), np.array([0]), COSINES, SINES],
     {"num_heads": 2, "rotary_embedding_dim": 16}),
    ("EmbedLayerNormalization", [IDS, SEGMENTS, *TABLES, MASK], {"epsilon": 1e-3}, 3),
    ("EmbedLayerNormalization", [IDS, None, *TABLES[:2], None, *TABLES[3:], None, words([4, 3, 2, 1, 0])], {}, 2),
    ("QEmbedLayerNormalization", [IDS, SEGMENTS, *(codes(np.uint8, *table.shape) for table in TABLES), MASK,
                                  *[step(0.01)] * 5, *[np.uint8(50)] * 5], {"epsilon": 1e-3}, 2),
]  # fmt: skip

test_an_operator_of_onnx_runtime_agrees_with_it = judged(CASES)


def test_packed_queries_keys_and_values_make_the_same_as_apart():
    """ONNX Runtime's kernel for CPUs does not take them."""
    parts = [floats(2, 5, 2, 4) for _ in range(3)]
    apart = [part.reshape(2, 5, 8) for part in parts]
    packed = [[np.stack(parts, axis=3)], [apart[0], np.stack(parts[1:], axis=3)]]
    made = [
        make_evaluator(model).run(None, feed)[0]
        for model, feed in (model_of("MultiHeadAttention", arrays, {"num_heads": 2}) for arrays in (apart, *packed))
    ]
    np.testing.assert_array_equal(made[1], made[0])
    np.testing.assert_array_equal(made[2], made[0])
