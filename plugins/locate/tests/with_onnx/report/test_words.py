"""Sentences on what was found, where NaN, infinities or other formulas are behind it."""

from __future__ import annotations

import converted_models as converted
import numpy as np
from located import locate_files, located


def test_nan_that_came_in_with_the_inputs_is_not_called_rounding(polycmp, tmp_path):
    x = np.zeros((2, 5, converted.WIDTH), np.float32)
    x[0, 1, 2] = np.nan
    np.savez(tmp_path / "x.npz", x=x)
    model = converted.save(tmp_path / "m.onnx", [converted.node("Tanh", "x", "t"), converted.node("Exp", "t", "y")], {})
    done = locate_files(polycmp, model, model, "--load-inputs", tmp_path / "x.npz")
    sentence = located(tmp_path)["sentence"]
    assert done.status == 0, done.out
    assert "NaN or infinity at the same places, as inputs and masks bring them in" in sentence


def test_a_mask_of_infinities_is_no_disagreement(polycmp, tmp_path):
    mask = np.zeros(converted.WIDTH, np.float32)
    mask[1:] = -np.inf
    nodes = [converted.node("Add", "x mask", "masked"), converted.node("Softmax", "masked", "y")]
    model = converted.save(tmp_path / "m.onnx", nodes, {"mask": mask})
    done = locate_files(polycmp, model, model)
    assert done.status == 0, done.out
    assert "1 of 2 tensors fail only because both sides hold NaN or infinity" in located(tmp_path)["sentence"]


def test_an_infinite_weight_that_no_scale_covers_is_told_and_not_laid_on_both_sides(polycmp, tmp_path):
    table = np.random.default_rng(1).standard_normal((converted.WIDTH, converted.WIDTH)).astype(np.float32)
    table[:, 3] = -np.inf
    first = converted.node("ArgMax", "x", "rows", axis=2, keepdims=0)
    last = [converted.node("Transpose", "g", "t", perm=[0, 2, 1]), converted.node("Softmax", "t", "y", axis=1)]
    good = converted.save(
        tmp_path / "good.onnx", [first, converted.node("Gather", "table rows", "g"), *last], {"table": table}
    )
    codes = {"codes": np.zeros(table.shape, np.int8), "step": np.float32(np.inf), "zero": np.int8(0)}
    nodes = [
        first,
        converted.node("Gather", "codes rows", "c"),
        converted.node("DequantizeLinear", "c step zero", "g"),
        *last,
    ]
    made = converted.save(tmp_path / "made.onnx", nodes, codes)
    done = locate_files(polycmp, made, good, "--input-shapes", "x:[2,5,16]")
    assert done.status == 1, done.err
    sentence = located(tmp_path)["sentence"]
    assert "produces NaN in new, where a weight of old holds Inf; no scale covers an infinite number" in sentence


def test_of_another_formula_no_coarser_type_is_guessed(polycmp, tmp_path):
    """GELU by its approximation with Tanh is as far off as numbers in float16."""
    good = converted.save(tmp_path / "good.onnx", [converted.node("Gelu", "x", "y")], {})
    weights = {name: np.float32(value) for name, value in {"c": 0.044715, "k": (2 / np.pi) ** 0.5, "h": 0.5}.items()}
    words = "Mul x x s|Mul s x q|Mul q c d|Add x d a|Mul a k b|Tanh b t|Mul x h z|Mul z t u|Add u z y"
    nodes = [
        converted.node(op, " ".join(reads), made) for op, *reads, made in (part.split() for part in words.split("|"))
    ]
    made = converted.save(tmp_path / "made.onnx", nodes, weights)
    assert locate_files(polycmp, made, good).status == 1
    sentence = located(tmp_path)["sentence"]
    assert "Add, Tanh, old with Gelu" in sentence
    assert "as if computed in" not in sentence
