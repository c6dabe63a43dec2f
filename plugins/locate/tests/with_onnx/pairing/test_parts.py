"""The part of two models that makes one tensor, and what one side has in it and the other has not."""

from __future__ import annotations

import converted_models as converted
import numpy as np
from located import locate_files, located


def test_a_constant_that_an_optimiser_took_for_nothing_is_told_and_no_coarser_type_guessed(polycmp, tmp_path):
    x = np.random.default_rng(0).random((2, 5, converted.WIDTH), np.float32)
    x[0, 0, 0] = 7e-5
    np.savez(tmp_path / "x.npz", x=x)
    nodes = [converted.node("Mul", "x x", "m"), converted.node("Add", "m least", "a"), converted.node("Log", "a", "y")]
    good = converted.save(tmp_path / "good.onnx", nodes, {"least": np.full(1, 1e-10, np.float32)})
    made = converted.save(tmp_path / "made.onnx", [nodes[0], converted.node("Log", "m", "y")], {})
    done = locate_files(polycmp, made, good, "--load-inputs", tmp_path / "x.npz")
    sentence = located(tmp_path)["sentence"]
    assert done.status == 1, done.out
    assert "new leaves out Add 'n_a' (1e-10) of old" in sentence
    assert "as if computed in" not in sentence
