"""Metadata of tensors."""

from __future__ import annotations

import numpy as np

from polycmp.tensors import TensorMetadata

METADATA = TensorMetadata().add("x", "float32", (-1, 2)).add("n", "int64", (3,))


def test_entries_of_metadata_unpack_into_type_and_shape():
    assert [(name, dtype, shape) for name, (dtype, shape) in METADATA.items()] == [
        ("x", np.dtype("float32"), (-1, 2)),
        ("n", np.dtype("int64"), (3,)),
    ]


def test_metadata_takes_the_tensors_of_another():
    merged = TensorMetadata().add("x", "int8", (1,)).update(METADATA)
    assert list(merged) == ["x", "n"]
    assert merged["x"].dtype == np.float32
