"""The same seed gives the same inputs as Polygraphy gives, number for number, over several iterations.

`data/polygraphy-0.53.6/seeded.json` was saved by Polygraphy with the words in `WORDS`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from live_polygraphy import POLYGRAPHY_PYTHON, live
from onnx import TensorProto, helper

from polycmp.json import load_json

SAMPLE = Path(__file__).parent / "data" / "polygraphy-0.53.6" / "seeded.json"
TYPES = {"f": "FLOAT", "h": "FLOAT16", "d": "DOUBLE", "i": "INT32", "l": "INT64", "u": "UINT8", "b": "BOOL"}
WORDS = [
    "seeded.onnx",
    "--onnxrt",
    "--seed",
    "7",
    "--iterations",
    "3",
    "--input-shapes",
    "f:[2,3]",
    "l:[4,3]",
    "--val-range",
    "[0,1]",
    "f:[-2,5]",
    "i:[-9,9]",
    "u:[3,200]",
    "--save-inputs",
    "seeded.json",
]


def seeded_model() -> onnx.ModelProto:
    """One input of each type, with an unknown first dimension, each handed through."""
    kinds = {name: getattr(TensorProto, kind) for name, kind in TYPES.items()}
    graph = helper.make_graph(
        [helper.make_node("Identity", [name], [f"{name}_out"]) for name in kinds],
        "seeded",
        [helper.make_tensor_value_info(name, kind, [f"batch_{name}", 3]) for name, kind in kinds.items()],
        [helper.make_tensor_value_info(f"{name}_out", kind, [f"batch_{name}", 3]) for name, kind in kinds.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check_equal(ours, theirs):
    assert len(ours) == len(theirs) == 3
    for mine, other in zip(ours, theirs, strict=True):
        assert list(mine) == list(other) == list(TYPES)
        for name, array in mine.items():
            assert array.dtype == other[name].dtype, name
            assert np.array_equal(array, other[name]), name
    assert not np.array_equal(ours[0]["f"], ours[1]["f"])


@pytest.fixture
def ours(polycmp, tmp_path):
    onnx.save(seeded_model(), tmp_path / "seeded.onnx")
    assert polycmp("run", *WORDS).status == 0
    return load_json("seeded.json")


def test_the_recorded_inputs_are_made_again(ours):
    check_equal(ours, load_json(SAMPLE))


@live
def test_live_polygraphy_makes_the_same_inputs(ours, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    onnx.save(seeded_model(), there / "seeded.onnx")
    program = "import sys; from polygraphy.tools._main import main; sys.exit(main())"
    done = subprocess.run(
        [POLYGRAPHY_PYTHON, "-c", program, "run", *WORDS], cwd=there, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check_equal(ours, load_json(there / "seeded.json"))
