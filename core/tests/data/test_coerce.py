"""Shapes for inputs, data from scripts, and fitting a feed to a model."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

from polycmp.data.coerce import coerce_feed
from polycmp.data.script import make_script_loader
from polycmp.data.shapes import apply_input_shapes
from polycmp.errors import DataError, UsageError
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


def write(folder, text, name="json.py"):
    path = folder / name
    path.write_text("import numpy as np\n" + text)
    return str(path)


@pytest.mark.parametrize(
    "text",
    [
        "def load_data():\n    for i in range(2):\n        yield {'x': np.full(3, i)}",
        "def load_data():\n    return [{'x': np.full(3, i)} for i in range(2)]",
        "load_data = [{'x': np.full(3, i)} for i in range(2)]",
        "class load_data:\n    def __iter__(self):\n        return iter({'x': np.full(3, i)} for i in range(2))",
    ],
)
def test_scripts_may_be_functions_generators_or_lists(tmp_path, text):
    load = make_script_loader(write(tmp_path, text))
    for _ in range(2):
        assert [feed["x"].tolist() for feed in load(INPUTS)] == [[0, 0, 0], [1, 1, 1]]


def test_a_script_is_told_the_inputs_if_it_wants_to_know(tmp_path):
    text = """
class load_data:
    input_metadata = None
    def __iter__(self):
        yield {name: np.ones(entry.static_shape(), entry.dtype) for name, entry in self.input_metadata.items()}
"""
    feed = next(iter(make_script_loader(write(tmp_path, text))(INPUTS)))
    assert feed["image"].shape == (1, 3, 1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def load_data():\n    return 5", "gives int instead of several feeds"),
        ("def load_data():\n    return {'x': np.ones(1)}", "gives dict"),
        ("def load_data(n):\n    yield {}", "fails when called without arguments"),
        ("def load_data():\n    yield [1]", "iteration 0 is list"),
        ("def load_data():\n    yield {'x': np.ones(1)}\n    yield {'x': 'text'}", "iteration 1 holds str"),
        ("def load_data():\n    yield {3: np.ones(1)}", "key 3"),
        ("def load_data():\n    yield {'x': np.ones(1)}\n    raise KeyError('gone')", "fails at iteration 1"),
        ("def load_dat(): pass", "no 'load_data'"),
        ("import nowhere_to_be_found", "fails to import"),
    ],
)
def test_scripts_that_are_wrong_say_how(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        list(make_script_loader(write(tmp_path, text, "data.py"))(INPUTS))


def test_a_feed_that_fits_is_handed_on_as_it_is():
    inputs = TensorMetadata().add("a", "float32", ("n",)).add("b", "int64", None)
    feed = {"b": np.arange(3), "a": np.ones(5, np.float32), "c": np.ones(1)}
    fitted = coerce_feed(feed, inputs, "mine")
    assert list(fitted) == ["a", "b"]
    assert all(fitted[name] is feed[name] for name in fitted)


def fit(value, dtype, owner="mine"):
    return coerce_feed({"x": value}, TensorMetadata().add("x", dtype, ("n",)), owner)["x"]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.array([1, 2**31 - 1]), "int32"),
        (np.array([0, 1]), "bool"),
        (np.array([True, False]), "int64"),
        (np.array([0.1, np.nan, np.inf]), "float32"),
        (np.array([1.5, 3e38]), "bfloat16"),
        (np.array([1.0, -7.0]), "int4"),
        (np.array([3, 100]), "float16"),
        (np.array(["a", "b"]), "string"),
    ],
)
def test_values_that_survive_are_converted_with_a_warning(value, dtype, caplog):
    with caplog.at_level(logging.WARNING, "polycmp.data"):
        fitted = fit(value, dtype, owner=f"{dtype}-{value.dtype}")
    assert fitted.dtype == TensorMetadata().add("x", dtype, ())["x"].dtype
    if value.dtype.kind != "U":
        assert "converted to the" in caplog.text
        np.testing.assert_allclose(fitted.astype(np.float64), value.astype(np.float64), rtol=1e-2)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.array([1, 2**31]), "int32"),
        (np.array([-1]), "uint64"),
        (np.array([0.5]), "int64"),
        (np.array([np.nan]), "int64"),
        (np.array([2]), "bool"),
        (np.array([1e39]), "float32"),
        (np.array([70000.0], np.float32), "float16"),
        (np.array([1000.0]), "float8e4m3fn"),
        (np.array([8]), "int4"),
        (np.array([1j]), "float32"),
        (np.array(["1"]), "float32"),
    ],
)
def test_values_that_do_not_survive_are_an_error(value, dtype):
    with pytest.raises(DataError, match="'x' holds"):
        fit(value, dtype)


def test_names_and_shapes_are_never_guessed():
    inputs = TensorMetadata().add("image", "float32", (2, 3))
    array = np.ones((2, 3), np.float32)
    for feed, message in [
        ({"Image": array}, "no data for input 'image'"),
        ({"image:0": array}, "no data for input 'image'"),
        ({}, "no data for input 'image'"),
        ({"image": array.T}, r"shape \[3,2\], the model wants \[2,3\]"),
    ]:
        with pytest.raises(DataError, match=message):
            coerce_feed(feed, inputs, "mine")


def test_arrays_of_other_libraries_are_taken_through_dlpack():
    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **more):
            return self.array.__dlpack__(**more)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert fit(Foreign(np.ones(3, np.float32)), "float32").tolist() == [1, 1, 1]


def test_the_light_module_imports_nothing_heavy():
    code = "import sys, polycmp.builtin.plugin as b; list(b.polycmp_compare_funcs()); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
