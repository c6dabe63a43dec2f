"""Shapes that users give for inputs."""

from __future__ import annotations

import pytest

from polycmp.data.shapes import apply_input_shapes
from polycmp.errors import UsageError
from polycmp.tensors import TensorMetadata

INPUTS = (
    TensorMetadata().add("image", "float32", ("n", 3, "h", "w")).add("shape", "int64", (2,)).add("mask", "bool", (4, 4))
)


def test_dynamic_dimensions_are_replaced_and_the_rest_is_kept():
    changed = apply_input_shapes(INPUTS, {"image": (2, 3, 8, 9)})
    assert changed["image"].shape == (2, 3, 8, 9)
    assert changed["mask"] == INPUTS["mask"]
    assert INPUTS["image"].shape == ("n", 3, "h", "w")


def test_patterns_match_names():
    inputs = TensorMetadata().add("ids.1", "int64", ("n", "s")).add("ids.2", "int64", ("n", "s"))
    changed = apply_input_shapes(inputs, {"ids.*": (1, 8)})
    assert [entry.shape for entry in changed.values()] == [(1, 8), (1, 8)]


def test_a_shape_for_a_shape_tensor_is_its_content():
    assert apply_input_shapes(INPUTS, {"shape": (3, -1)})["shape"].values == (3, -1)
    changed = apply_input_shapes(INPUTS, {"shape": (2,)})["shape"]
    assert (changed.values, changed.shape) == (None, (2,))


@pytest.mark.parametrize(
    ("shapes", "why", "hint"),
    [
        ({"imag": (1, 3, 8, 8)}, "'image'", "--input-shapes image:[1,3,8,8]"),
        ({"zzz*": (1,)}, "known", "--input-shapes"),
        ({"image": (1, 4, 8, 8)}, "dimension 1 is fixed at 3", "--input-shapes image:[1,3,8,8]"),
        ({"image": (3, 8, 8)}, "3 dimensions instead of 4", "--input-shapes image:[1,3,1,1]"),
        ({"image": (-1, 3, 8, 8)}, "negative", "--input-shapes image:[1,3,8,8]"),
        ({"mask": (4, 5)}, "dimension 1 is fixed at 4", "--input-shapes mask:[4,4]"),
    ],
)
def test_a_shape_that_cannot_be_is_wrong_usage_with_the_corrected_line(shapes, why, hint):
    with pytest.raises(UsageError) as caught:
        apply_input_shapes(INPUTS, shapes)
    assert why in caught.value.why
    assert hint in caught.value.hint
