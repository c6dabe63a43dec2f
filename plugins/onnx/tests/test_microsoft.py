"""Operators that ONNX Runtime's optimiser and quantisers write agree with ONNX Runtime, or are refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from packaging.version import Version

from polycmp.errors import BackendError
from polycmp_onnx.reference import make_evaluator

ort = pytest.importorskip("onnxruntime")
RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def codes(kind, *shape):
    return RNG.integers(0, 100, shape).astype(kind)


def positive(*shape):
    return np.abs(floats(*shape)) + np.float32(0.01)


def words(*values):
    return np.array(values, np.int32)


def step(value):
    return np.float32(value)


FEW = {"K": 40, "N": 6, "bits": 4, "block_size": 32}
IMAGE, KERNEL = floats(2, 3, 8, 7), floats(4, 3, 3, 3)
A, B = codes(np.uint8, 2, 3, 8), codes(np.uint8, 2, 3, 8)
ON_A, ON_B, ON_Y = [step(0.02), np.uint8(50)], [step(0.03), np.uint8(40)], [step(0.05), np.uint8(60)]
PIXELS = codes(np.uint8, 2, 4, 7, 6)
LAST = np.ascontiguousarray(np.moveaxis(PIXELS, 1, -1))
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
    *(("FusedMatMul", [floats(2, 5, 4), floats(2, 4, 5)], {"transA": flip, "transB": flip, "alpha": 0.3})
      for flip in (0, 1)),
    ("TransposeMatMul", [floats(5, 4), floats(5, 3)], {"transA": 1}),
    ("FastGelu", [floats(3, 7)], {}),
    ("FastGelu", [floats(3, 7), floats(7)], {}),
    ("Gelu", [floats(3, 7)], {}),
    ("BiasGelu", [floats(3, 7), floats(7)], {}),
    ("QuickGelu", [floats(3, 7) * 100], {"alpha": 1.5}),
    ("SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8)], {"epsilon": 1e-3}),
    ("SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)], {}),
    ("SkipSimplifiedLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8)], {"epsilon": 1e-4}),
    *(("FusedConv", [IMAGE, KERNEL, floats(4)], {"activation": kind, "pads": [1, 0, 1, 1], **more})
      for kind, more in (("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_params": [0.2]}),
                         ("Clip", {"activation_params": [-0.1, 0.3]}),
                         ("HardSigmoid", {"activation_params": [0.3, 0.4]}))),
    ("FusedConv", [IMAGE, KERNEL, floats(4), floats(2, 4, 6, 5)], {"activation": "Relu"}),
    *(("FusedGemm", [floats(3, 5), floats(4, 5), floats(4)], {"activation": kind, "transB": 1, "alpha": 0.5, **more})
      for kind, more in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}), ("Tanh", {}))),
    ("MatMulNBits", [floats(3, 40), RNG.integers(0, 256, (6, 2, 16)).astype(np.uint8), positive(12)], FEW),
    ("MatMulNBits", [floats(3, 40), RNG.integers(0, 256, (6, 2, 16)).astype(np.uint8), positive(12),
                     RNG.integers(0, 256, 6).astype(np.uint8)], FEW),
    ("MatMulNBits", [floats(3, 40), RNG.integers(0, 256, (6, 2, 32)).astype(np.uint8), positive(12)],
     {**FEW, "bits": 8}),
    ("MatMulIntegerToFloat", [codes(np.uint8, 3, 8), codes(np.int8, 8, 4), np.float32(0.1), positive(4),
                              np.uint8(7), codes(np.int8, 4), floats(4)], {}),
    ("DynamicQuantizeMatMul", [floats(3, 8), codes(np.uint8, 8, 4), np.float32(0.02), np.uint8(50), floats(4)], {}),
    *(("DynamicQuantizeLSTM",
       [floats(4, 2, 8), codes(np.int8, ways, 8, 20), codes(np.int8, ways, 5, 20), floats(ways, 40), None, None, None,
        None, *[np.full(ways, 0.01, np.float32), np.full(ways, 50, np.int8)] * 2],
       {"hidden_size": 5, "direction": direction})
      for ways, direction in ((1, "forward"), (1, "reverse"), (2, "bidirectional"))),
]  # fmt: skip
ATTENTION = [
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
POOL = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
QUANTISED = [
    ("QLinearAdd", [A, *ON_A, B, *ON_B, *ON_Y], {}),
    ("QLinearAdd", [A.view(np.int8), step(0.02), np.int8(3), B.view(np.int8)[:, :1], step(0.03), np.int8(4), step(0.05),
                    np.int8(-7)], {}),
    ("QLinearMul", [A, *ON_A, B, *ON_B, *ON_Y], {}),
    ("QLinearLeakyRelu", [A, *ON_A, *ON_Y], {"alpha": 0.2}),
    ("QLinearSigmoid", [A, *ON_A, step(1 / 256), np.uint8(0)], {}),
    *(("QLinearSoftmax", [A, *ON_A, step(1 / 256), np.uint8(0)], {"axis": axis, "opset": opset})
      for axis, opset in ((-1, 13), (1, 13), (1, 12))),
    ("QLinearConcat", [*ON_Y, A, *ON_A, B, *ON_B], {"axis": 1}),
    ("QLinearWhere", [A > 50, A, *ON_A, B, *ON_B, *ON_Y], {}),
    *(("QLinearAveragePool", [PIXELS, *ON_A, *ON_Y], {**POOL, "count_include_pad": pad}) for pad in (0, 1)),
    ("QLinearAveragePool", [LAST, *ON_A, *ON_Y], {**POOL, "channels_last": 1}),
    ("QLinearGlobalAveragePool", [PIXELS, *ON_A, step(0.005), np.uint8(60)], {}),
    ("QLinearGlobalAveragePool", [LAST, *ON_A, step(0.005), np.uint8(60)], {"channels_last": 1}),
    *(("QGemm", [codes(np.uint8, 3, 8), *ON_A, codes(np.uint8, *((5, 8) if flip else (8, 5))), positive(5),
                 np.uint8([1, 2, 3, 4, 5]), words(1, 20, 300, -40, 5), *more], {"transB": flip, "alpha": 0.5})
      for flip in (0, 1) for more in ([], [step(1), np.uint8(100)])),
    ("QLinearConv", [LAST, *ON_A, codes(np.uint8, 5, 4, 3, 3), positive(5) / 50, np.full(5, 50, np.uint8), step(0.3),
                     np.uint8(100), words(1, 20, 300, -40, 5)], {"channels_last": 1, "pads": [1, 1, 0, 0]}),
    ("NhwcMaxPool", [LAST], POOL),
    ("QuantizeLinear", [floats(2, 3, 4), step(0.02), np.int16(50)], {}),
    ("QuantizeLinear", [floats(2, 3, 4), positive(3) / 50, np.uint16([400, 500, 600])], {"axis": 1}),
    ("DequantizeLinear", [codes(np.uint16, 2, 3, 4), step(0.02), np.uint16(50)], {}),
    ("DequantizeLinear", [codes(np.int32, 2, 3, 4), positive(3), np.zeros(3, np.int32)], {"axis": 1}),
    *(("GatherBlockQuantized", [RNG.integers(0, 256, (9, 64 * bits // 8)).astype(np.uint8), np.array([[1, 8], [0, 3]]),
                                positive(9, 4), *zeros], {"bits": bits, "block_size": 16})
      for bits, zeros in ((4, []), (8, []), (4, [RNG.integers(0, 256, (9, 2)).astype(np.uint8)]))),
]  # fmt: skip

#: 7 tokens of 32 numbers, 4 experts of 64; twice as wide where a gate is fused.
TOKENS, LOGITS = floats(7, 32), floats(7, 4)
FIRST, SECOND = [floats(4, 64, 32) / 6, floats(4, 64)], [floats(4, 32, 64) / 8, floats(4, 32)]
TWICE = [floats(4, 128, 32) / 6, floats(4, 128)]
GATED = {"activation_type": "swiglu", "swiglu_fusion": 1, "k": 2, "normalize_routing_weights": 1}


def packed(bits, *shape):
    return RNG.integers(0, 256, (*shape[:-1], shape[-1] * bits // 8)).astype(np.uint8)


def few_bits(bits, wide, blocks=0, zeros=False):
    """Return what QMoE reads of two layers: codes, scales, biases, and possibly zero points."""
    made, points = [], []
    for outer, inner in ((wide, 32), (32, 64)):
        per_row = [blocks * inner // 32] if blocks else []
        made += [packed(bits, 4, outer, inner), positive(4, outer, *per_row) / (1 << bits) / 4, floats(4, outer)]
        points.append(packed(bits, 4, outer, *per_row) if per_row else packed(bits, 4, outer))
    return [TOKENS, LOGITS, *made, *([None, None, None, *points] if zeros else [])]


EXPERTS = [
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


def model_of(op, arrays, attributes, outputs=1, domain="com.microsoft"):
    names = ["" if array is None else f"i{index}" for index, array in enumerate(arrays)]
    feed = {name: np.asarray(array) for name, array in zip(names, arrays, strict=True) if name}
    made = [f"y{index}" for index in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, made, domain=domain, **attributes)],
        "g",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in feed.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in made],
    )
    opsets = [helper.make_opsetid("", 16), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feed


def expected_of(model, feed):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # with more, ONNX Runtime quantises the rows of an LSTM's batch apart
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if Version(ort.__version__) < Version("1.23"):
            pytest.skip(f"ONNX Runtime {ort.__version__} cannot be the judge: {error}")
        raise
    return session.run(None, feed)


@pytest.mark.parametrize("case", [*CASES, *ATTENTION, *EXPERTS], ids=lambda case: case[0])
def test_an_operator_of_onnx_runtime_agrees_with_it(case):
    op, arrays, attributes, *outputs = case
    if op in {"GroupQueryAttention", "MultiHeadAttention", "MatMulNBits"} and Version(ort.__version__) < Version(
        "1.24"
    ):
        pytest.skip("releases before 1.24 calculate some of these otherwise")
    if op in {"MoE", "QMoE"} and Version(ort.__version__) < Version("1.31"):
        pytest.skip(f"ONNX Runtime {ort.__version__} lacks {op} for processors, or weights experts otherwise")
    model, feed = model_of(op, arrays, attributes, *outputs)
    expected, got = expected_of(model, feed), make_evaluator(model).run(None, feed)
    wide = make_evaluator(model, dtype="float64").run(None, feed)
    for one, two, third in zip(expected, got, wide, strict=True):
        assert two.dtype == one.dtype
        scale = max(float(np.abs(one).max()), 1e-3)
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-5 * scale)
        assert third.dtype == (np.float64 if one.dtype == np.float32 else one.dtype)
        np.testing.assert_allclose(third, one, rtol=1e-3, atol=1e-2 * scale)


@pytest.mark.parametrize("case", QUANTISED, ids=lambda case: case[0])
def test_a_quantised_operator_of_onnx_runtime_agrees_with_it_but_for_ties(case):
    model, feed = model_of(*case)
    (one,), (two,) = expected_of(model, feed), make_evaluator(model).run(None, feed)
    assert two.dtype == one.dtype
    assert two.shape == one.shape
    if one.dtype.kind == "f":
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)
        return
    assert np.ptp(one) > 10, "the case says something"
    gap = np.abs(one.astype(int) - two.astype(int))
    assert gap.max() <= 1
    assert (gap > 0).mean() < 0.05


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


@pytest.mark.parametrize("op", ["LayerNormalization", "SimplifiedLayerNormalization"])
def test_a_normalisation_that_onnx_runtime_writes_into_older_opsets_agrees_with_it(op):
    model, feed = model_of(op, [floats(2, 3, 8), floats(8)], {"epsilon": 1e-3}, domain="")
    np.testing.assert_allclose(make_evaluator(model).run(None, feed)[0], expected_of(model, feed)[0], 1e-4, 1e-5)


def test_what_is_not_computed_is_refused_with_a_reason():
    node = helper.make_node("FusedMatMul", ["x", "x"], ["y"], domain="com.microsoft", transBatchA=1)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(BackendError, match="FusedMatMul") as caught:
        make_evaluator(helper.make_model(graph, opset_imports=opsets)).run(None, {"x": floats(2, 2, 2)})
    assert "transBatchA" in caught.value.why
