"""Attributes that two files give one operator otherwise."""

from __future__ import annotations

import converted_models as converted
import numpy as np
from located import locate_files, located


def test_an_attribute_that_the_two_files_give_otherwise_is_named(polycmp, tmp_path):
    files = []
    for name, more in (("new", {"alpha": 0.3}), ("old", {"alpha": 0.2})):
        nodes = [converted.node("Neg", "x", "t"), converted.node("LeakyRelu", "t", "l", **more)]
        nodes += [converted.node("Mul", "l two", "y")] if name == "old" else [converted.node("Add", "l l", "y")]
        files.append(converted.save(tmp_path / f"{name}.onnx", nodes, {"two": np.array([2], np.float32)}))
    done = locate_files(polycmp, *files)
    assert done.status == 1, done.out
    assert "LeakyRelu of new has alpha 0.3" in located(tmp_path)["sentence"]
