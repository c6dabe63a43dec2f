"""Files that no runtime loads: what is to be typed next where an original is known, and where none is."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import graph_model

pytest.importorskip("polycmp_onnxrt")
pytest.importorskip("onnxruntime")


@pytest.fixture
def folder(tmp_path):
    """A folder with a model, and its file in float16 as a converter leaves it: its inputs stay float32."""
    values = [(name, TensorProto.FLOAT, [2, 4]) for name in ("x", "y")]
    model = graph_model(
        [helper.make_node("Mul", ["x", "w"], ["y"], "scale")], values[:1], values[1:], [("w", np.float32([1.5]))]
    )
    onnx.save(model, tmp_path / "m.onnx")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.float16([1.5]), "w"))
    onnx.save(model, tmp_path / "half.onnx")
    return tmp_path


def test_a_converters_file_that_no_runtime_loads_gets_the_command_that_makes_it_anew(polycmp, folder):
    done = polycmp("run", "half.onnx", "m.onnx", "-b", "onnxrt")
    assert done.status == 3
    following = " ".join(done.out.split("next: ")[1].split("\nERROR")[0].split())
    assert following.startswith("polycmp convert m.onnx --fp-to-fp16 -o half_fp16.onnx writes"), done.out
    made = polycmp(*following.partition(" writes")[0].split()[1:])
    assert made.status == 0, made.err
    again = polycmp("run", "half_fp16.onnx", "m.onnx", "-b", "onnxrt", "--atol", "1e-2")
    assert again.status == 0, again.out + again.err
    # A file that is there is not written over.
    assert "-o half_fp16_1.onnx writes" in " ".join(polycmp("run", "half.onnx", "m.onnx", "-b", "onnxrt").out.split())


def test_where_no_original_is_known_the_command_looks_for_the_fault(polycmp, folder):
    assert "polycmp convert" not in polycmp("run", "half.onnx", "-b", "onnxrt", "-b", "onnx").out
    done = polycmp("run", "half.onnx", "-b", "onnxrt")
    assert "polycmp convert" not in done.out
    assert "next: polycmp check lint half.onnx" in done.out


def test_a_model_that_no_runtime_loads_names_the_command_that_finds_why(polycmp, model):
    broken = onnx.load(model)
    broken.graph.node[-1].input[0] = "nothing"
    onnx.save(broken, "broken.onnx")
    done = polycmp("run", "broken.onnx", "-b", "onnxrt", "-b", "onnx")
    assert (done.status, done.out.count("next: polycmp check lint broken.onnx\n")) == (3, 1)
    assert "it reads 'nothing', which nothing makes" in polycmp("check", "lint", "broken.onnx").out
    done = polycmp("run", "broken.onnx", "-b", "onnxrt", "-b", f"onnxrt:model={model}")
    assert (done.status, done.out.count("next: polycmp check lint broken.onnx\n")) == (3, 1)
