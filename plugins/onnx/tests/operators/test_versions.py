"""Operators of older opsets, and those that ONNX's evaluator takes for newer ones, corrected."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from operator_cases import IMAGE, Draw, F, by_hand, f, i, judged

from polycmp_onnx.reference import make_evaluator

floats = Draw().floats
SCALES = np.array([1, 1, 2, 3], np.float32)
#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    ("OneHot", 10, [i(-1, 1), i(2), f(0, 5)], {}, [[[0, 0], [0, 5]]]),
    ("OneHot", 11, [i(-1, 1), i(2), f(0, 5)], {}, [[[0, 5], [0, 5]]]),
    ("NonMaxSuppression", 11, [f([[[0, 0, 1, 1], [0, 0, 1, 1]]]), f([[[0.2, 0.9]]]), i([1])], {}, [[[0, 0, 1]]]),
    ("NonMaxSuppression", 11, [f([[[0, 0, 1, 1]]]), f([[[0.2]]])], {}, [np.empty((0, 3))]),
    ("Flatten", 13, [np.empty((2, 0, 3), F)], {"axis": 2}, [np.empty((0, 3))]),
    ("Squeeze", 11, [np.ones((1, 2, 1), F)], {"axes": [2, 0]}, [[1, 1]]),
    ("Unsqueeze", 11, [f([[1, 2]])], {"axes": [2, 0]}, [[[[[1, 2]]]]]),
    ("Shape", 15, [np.ones((2, 3, 4, 5, 6), F)], {"start": 1, "end": -7}, [np.empty(0)]),
    ("Softsign", 1, [f(1.0)], {}, [0.5]),
    ("Det", 11, [np.array([[1, 2], [3, 4]], np.float16)], {}, [-2]),
    ("CumProd", 26, [f(2, 3, 4), i([0])], {"exclusive": 1, "reverse": 1}, [[12, 4, 1]]),
    ("STFT", 17, [f([[1, 2, 3, 4]]), i(2), None, i(2)], {}, [[[[[3, 0], [-1, 0]], [[7, 0], [-1, 0]]]]]),
    ("Dropout", 7, [f(1, 2)], {}, [[1, 2], [1, 1]]),
    (
        "TfIdfVectorizer",
        9,
        [i(1, 2, 2)],
        {
            "mode": "IDF",
            "max_gram_length": 1,
            "max_skip_count": 0,
            "min_gram_length": 1,
            "ngram_counts": [0],
            "ngram_indexes": [0, 1],
            "pool_int64s": [1, 2],
        },
        [[1, 1]],
    ),
    (
        "StringNormalizer",
        10,
        [np.array(["Day", "", "tue"], object)],
        {"stopwords": ["DAY"], "case_change_action": "UPPER"},
        [np.array(["", "TUE"], object)],
    ),
]
JUDGED = [
    ("Upsample", 9, [IMAGE, SCALES], {}),
    ("Upsample", 7, [IMAGE], {"scales": [1.0, 1.0, 2.0, 2.0]}),
    ("Upsample", 9, [IMAGE, SCALES], {"mode": "linear"}),
    ("Resize", 10, [IMAGE, SCALES], {"mode": "nearest"}),
    ("Resize", 10, [IMAGE, SCALES], {"mode": "linear"}),
    ("RoiAlign", 10, [IMAGE, np.array([[0, 0, 4, 4], [1, 1, 6, 5]], np.float32), np.array([0, 1])],
     {"output_height": 2, "output_width": 2, "sampling_ratio": 2}),
    ("CumSum", 14, [floats(2, 5), np.array([1])], {"reverse": 1}),
    ("Unique", 11, [np.array([2, 1, 1, 3, 2], np.float32)], {"sorted": 0}),
    ("OneHot", 13, [np.array([[-1, 1], [3, 9]]), np.array([4]), np.array([0.5, 5], np.float32)], {"axis": 1}),
]  # fmt: skip

test_an_operator_gives_what_the_standard_says = by_hand(CASES)

test_a_corrected_operator_agrees_with_onnx_runtime = judged(JUDGED)


@pytest.mark.parametrize("keep_order", [True, False])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_unique_keeps_the_order_of_the_input_where_it_is_to(make_model, axis, keep_order, count):
    attributes = {"sorted": int(not keep_order), **({} if axis is None else {"axis": axis})}
    names = ["y", "first", "inverse", "counts"][:count]
    x = np.array([[3, 1, 3, 0], [2, 5, 2, 0], [3, 1, 3, 0]], np.float32)
    kinds = [TensorProto.FLOAT, *[TensorProto.INT64] * 3]
    model = make_model(
        [helper.make_node("Unique", ["x"], names, **attributes)],
        [("x", TensorProto.FLOAT, [3, 4])],
        [(name, kind, None) for name, kind in zip(names, kinds, strict=False)],
        opset=11,
    )
    ort = pytest.importorskip("onnxruntime")
    expected = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    for got, wanted in zip(make_evaluator(model).run(None, {"x": x}), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype
