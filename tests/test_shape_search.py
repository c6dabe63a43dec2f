"""Shapes are found by trying where the file leaves them open, and the result says which were taken."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from open_models import CASES, FLOAT, make, node, weight
from small_models import graph_model

INT64 = onnx.TensorProto.INT64


def words(done):
    """Return what stood on the terminal with all line breaks as blanks."""
    return " ".join(done.out.split())


@pytest.mark.parametrize("case", list(CASES))
def test_run_finds_a_shape_by_itself(polycmp, tmp_path, case):
    onnx.save(make(case), tmp_path / "m.onnx")
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx")
    assert done.status == 0, done.out + done.err
    assert "inputs: x:[1," in words(done)
    assert "tried, and it works" in words(done)


def test_locate_finds_a_shape_by_itself(polycmp, tmp_path):
    onnx.save(make("a frame of speech, padded by reflection"), tmp_path / "m.onnx")
    done = polycmp("locate", "m.onnx", "-b", "onnxrt", "-b", "onnx")
    assert (done.status, "tried, and it works" in words(done)) == (0, True), done.out + done.err


def test_a_shape_that_fails_is_answered_with_one_that_works(polycmp, tmp_path):
    onnx.save(make("a frame of speech, padded by reflection"), tmp_path / "m.onnx")
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "--input-shapes", "x:[1,20]")
    assert done.status == 3
    assert "next: it runs with --input-shapes x:[1,512]" in words(done)


def test_where_nothing_works_the_result_says_so(polycmp, tmp_path):
    nodes = [node("MatMul", ["x", "m"], ["a"]), node("MatMul", ["x", "o"], ["b"]), node("Add", ["a", "b"], ["y"])]
    model = graph_model(
        nodes, [("x", FLOAT, ["n", "k"])], [("y", FLOAT, None)], [("m", weight(7, 2)), ("o", weight(9, 2))]
    )
    onnx.save(model, tmp_path / "m.onnx")
    done = polycmp("run", "m.onnx", "-b", "onnxrt")
    assert done.status == 3
    assert "no shape was found that works" in words(done)
    assert "--input-shapes x:[1," in words(done)


def test_backends_that_forget_names_do_not_untie_the_inputs(polycmp, tmp_path):
    nodes = [node("Add", ["x", "z"], ["y"])]
    inputs = [("x", FLOAT, ["batch", "length"]), ("z", FLOAT, ["batch", "length"])]
    onnx.save(graph_model(nodes, inputs, [("y", FLOAT, None)], []), tmp_path / "m.onnx")
    nodes = [node("Add", ["x", "z"], ["y"])]
    inputs = [("x", FLOAT, [None, None]), ("z", FLOAT, [None, None])]
    onnx.save(graph_model(nodes, inputs, [("y", FLOAT, None)], []), tmp_path / "forgot.onnx")
    for order in (("onnxrt:model=forgot.onnx", "onnxrt"), ("onnxrt", "onnxrt:model=forgot.onnx")):
        done = polycmp("run", "m.onnx", "-b", order[0], "-b", order[1], "--data-loader", "stress")
        assert done.status == 0, done.out + done.err


def test_a_decoder_with_a_cache_whose_dimensions_the_exporter_did_not_tie(polycmp, tmp_path):
    """PyTorch's exporter names each dimension of keys, values and mask apart, and positions end soon."""
    nodes = [
        node("Gather", ["words", "ids"], ["word"]),
        node("Reshape", ["word", "heads"], ["new"]),
        node("Concat", ["past.0.key", "new"], ["keys"], axis=2),
        node("Concat", ["past.0.value", "new"], ["values"], axis=2),
        node("Transpose", ["keys"], ["turned"], perm=[0, 1, 3, 2]),
        node("MatMul", ["new", "turned"], ["scores"]),
        node("Cast", ["attention_mask"], ["mask"], to=FLOAT),
        node("Add", ["scores", "mask"], ["masked"]),
        node("Softmax", ["masked"], ["shares"], axis=-1),
        node("MatMul", ["shares", "values"], ["mixed"]),
        node("Shape", ["past.0.key"], ["place"], start=2, end=3),
        node("Gather", ["places", "place"], ["position"]),
        node("Add", ["mixed", "position"], ["y"]),
    ]
    inputs = [
        ("ids", INT64, [1, 1]), ("attention_mask", INT64, [1, "s22"]),
        ("past.0.key", FLOAT, [1, 2, "s8", 4]), ("past.0.value", FLOAT, [1, 2, "s61", 4]),
    ]  # fmt: skip
    weights = [("words", weight(16, 8)), ("places", weight(32, 4)), ("heads", np.array([1, 2, 1, 4]))]
    onnx.save(graph_model(nodes, inputs, [("y", FLOAT, None)], weights), tmp_path / "m.onnx")
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx")
    assert done.status == 0, done.out + done.err
    assert "attention_mask:[1,9] past.0.key:[1,2,8,4] past.0.value:[1,2,8,4]" in words(done)
