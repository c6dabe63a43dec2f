"""Weights that are summed over: pruned, left out and made up again."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from surgeon_models import checked, model_of, value, weight

from polycmp_onnx.weights import is_sparse, summed_weights


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_prune_keeps_the_larger_two_of_four(polycmp, tmp_path, kind):
    random = np.random.default_rng(1)
    dtype = (
        helper.tensor_dtype_to_np_dtype(helper.np_dtype_to_tensor_dtype(np.dtype(kind))) if kind != "bfloat16" else None
    )
    import ml_dtypes

    dtype = dtype or np.dtype(ml_dtypes.bfloat16)
    array = random.standard_normal((8, 6)).astype(np.float32).astype(dtype)
    element = helper.np_dtype_to_tensor_dtype(dtype)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    source = model_of([node], [value("x", [2, 8], element)], [value("y", [2, 6], element)], [weight("w", array)])
    source.graph.initializer[0].doc_string = "kept"
    onnx.save(source, tmp_path / "model.onnx")
    assert "dense" in polycmp("inspect", "sparsity", "model.onnx").out
    assert polycmp("surgeon", "prune", "model.onnx", "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    got = numpy_helper.to_array(made.graph.initializer[0]).astype(np.float32)
    wanted = array.astype(np.float32)
    for column in range(6):
        for start in (0, 4):
            four = wanted[start : start + 4, column]
            kept = np.sort(np.argsort(np.abs(four))[2:])
            assert list(np.flatnonzero(got[start : start + 4, column])) == list(kept)
            np.testing.assert_array_equal(got[start : start + 4, column][kept], four[kept])
    assert made.opset_import == source.opset_import
    assert "2:4 sparse" in polycmp("inspect", "sparsity", "out.onnx").out


def test_sparsity_is_seen_behind_a_transposition(polycmp, tmp_path):
    nodes = [helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]), helper.make_node("MatMul", ["x", "t"], ["y"])]
    weights = [weight("w", np.ones((6, 8), np.float32))]
    onnx.save(model_of(nodes, [value("x", [2, 8])], [value("y", [2, 6])], weights), tmp_path / "model.onnx")
    assert polycmp("surgeon", "prune", "model.onnx", "-o", "out.onnx").status == 0
    got = numpy_helper.to_array(onnx.load(tmp_path / "out.onnx").graph.initializer[0])
    assert is_sparse(got, 1)


def test_weights_are_left_out_and_made_up_again(polycmp, chain, tmp_path):
    random = np.random.default_rng(2)
    nodes = [helper.make_node("MatMul", ["x", "a"], ["m"]), helper.make_node("MatMul", ["m", "b"], ["y"])]
    weights = [weight(name, random.standard_normal((8, 8)).astype(np.float32)) for name in "ab"]
    onnx.save(model_of(nodes, [value("x", [2, 8])], [value("y", [2, 8])], weights), tmp_path / "model.onnx")
    assert polycmp("surgeon", "prune", "model.onnx", "-o", "sparse.onnx").status == 0
    (tmp_path / "keep.txt").write_text("b\n")
    done = polycmp("surgeon", "weight-strip", "sparse.onnx", "--exclude-list", "keep.txt", "-o", "stripped.onnx")
    assert done.status == 0, done.err
    stripped = {item.name: item for item in onnx.load(tmp_path / "stripped.onnx").graph.initializer}
    assert (len(stripped["a"].raw_data), len(stripped["b"].raw_data)) == (0, 256)
    assert stripped["a"].doc_string == "TRT_WEIGHTLESS/SPARSE_2_4"
    assert polycmp("surgeon", "weight-reconstruct", "stripped.onnx", "-o", "again.onnx").status == 0
    made = checked(tmp_path / "again.onnx")
    assert all(is_sparse(numpy_helper.to_array(item.tensor), item.axis) for item in summed_weights(made))
    assert numpy_helper.to_array(made.graph.initializer[0]).any()
    first = (tmp_path / "again.onnx").read_bytes()
    assert polycmp("surgeon", "weight-reconstruct", "stripped.onnx", "-o", "again.onnx").status == 0
    assert (tmp_path / "again.onnx").read_bytes() == first  # the numbers have a seed
