"""Data from scripts."""

from __future__ import annotations

import pytest

from polycmp.data.script import make_script_loader
from polycmp.errors import DataError
from polycmp.tensors import TensorMetadata

INPUTS = (
    TensorMetadata().add("image", "float32", ("n", 3, "h", "w")).add("shape", "int64", (2,)).add("mask", "bool", (4, 4))
)


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
