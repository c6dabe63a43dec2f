"""`polycmp debug precision`: how much of a model has to stay in float32."""

from __future__ import annotations

import json
from pathlib import Path

import low_precision_models as low_precision
import onnx
import pytest
from faulty_models import layers
from onnx import TensorProto
from step_checks import float32_in_file, save_check


@pytest.mark.parametrize(
    ("mode", "direction", "count"),
    [
        ("bisect", "forward", 5),
        ("linear", "reverse", 8),
        *(pytest.param(*way, marks=pytest.mark.corpus) for way in (("bisect", "reverse", 8), ("linear", "forward", 5))),
    ],
)
def test_as_many_as_are_needed_stay_in_float32(polycmp, tmp_path, mode, direction, count):
    layers(tmp_path / "chain.onnx", 12)
    words = ("--mode", mode, "--dir", direction, "-o", "mixed.onnx", "--report", "found.json")
    check = ("--check", *save_check("needs.sh", float32_in_file("w5"), gone=1), "polycmp_debug.onnx")
    done = polycmp("debug", "precision", "chain.onnx", *words, *check)
    assert done.status == 0, done.out + done.err
    found = done.report(tmp_path / "found.json")
    names = [f"n{number}" for number in range(1, 13)]
    assert found["in_float32"] == (names[:count] if direction == "forward" else names[-count:])
    types = {item.data_type for item in onnx.load("mixed.onnx").graph.initializer}
    assert types == {TensorProto.FLOAT, TensorProto.FLOAT16}
    near = ("--atol", "1e-1", "--allow-blind")  # what matters here is which layers are in float16
    assert polycmp("run", "mixed.onnx", "-b", "onnxrt", "-b", "onnxrt:model=chain.onnx", *near).status == 0


@pytest.mark.parametrize(("check", "status", "text"), [("true", 0, "NO FAULT"), ("false", 1, "FAILED")])
def test_nothing_to_find(polycmp, tmp_path, check, status, text):
    layers(tmp_path / "chain.onnx", 4)
    done = polycmp(
        "debug",
        "precision",
        "chain.onnx",
        "-o",
        "mixed.onnx",
        "--check",
        "sh",
        "-c",
        f"cat polycmp_debug.onnx; {check}",
    )
    assert (done.status, text in done.out) == (status, True), done.out + done.err
    assert Path("mixed.onnx").exists() == (status == 0)


REPORT = ("--report", "found.json", "--report", "found.html")


def found() -> dict:
    return json.loads(Path("found.json").read_text())


@pytest.mark.parametrize(
    ("mode", "most"),
    [
        ((), 3), (("--mode", "bisect"), 30),
        pytest.param(("--mode", "guided"), 3, marks=pytest.mark.corpus),
        pytest.param(("--mode", "linear", "--dir", "reverse"), 30, marks=pytest.mark.corpus),
    ],
)  # fmt: skip
def test_debug_precision_on_backends_writes_a_model_that_passes(polycmp, models, mode, most):
    models(low_precision.float16, 1e6, layers=10, outlier=5)
    words = ("--load-inputs", "x.npz", "--atol", "1e-2", "-o", "mixed.onnx", *mode, *REPORT)
    done = polycmp("debug", "precision", "float.onnx", "-b", "onnxrt", *words)
    assert done.status == 0, done.out + done.err
    assert 0 < len(found()["kept"]) <= most
    done = polycmp("run", "mixed.onnx", "-b", "onnxrt", "-b", "onnxrt:model=float.onnx", *words[:4])
    assert done.status == 0, done.out + done.err


def test_debug_precision_in_bfloat16_on_a_backend_that_has_it(polycmp, models):
    models(low_precision.float16, 1.0, layers=3, outlier=0)
    words = ("-b", "onnx", "--to", "bfloat16", "--load-inputs", "x.npz", "--atol", "5e-3", "-o", "mixed.onnx", *REPORT)
    done = polycmp("debug", "precision", "float.onnx", *words)
    assert done.status == 0, done.out + done.err
    assert found()["kept"]
    types = {item.data_type for item in onnx.load("mixed.onnx").graph.initializer}
    assert onnx.TensorProto.FLOAT in types


def test_debug_precision_takes_a_model_that_is_reduced_already(polycmp, models):
    words = models(low_precision.dynamic, 1e4, layers=8, outlier=4)
    done = polycmp("debug", "precision", *words, "--atol", "0.3", "--allow-blind", *REPORT)
    assert done.status == 0, done.out + done.err
    assert set(found()["kept"]) <= {"matmul4", "matmul5"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-b", "onnxrt", "--check", "true"), "both say what fails"),
        (("--mode", "guided", "--check", "true"), "there is none"),
    ],
)
def test_debug_precision_refuses_what_contradicts_itself(polycmp, models, words, text):
    models(low_precision.float16, 1.0, layers=2, outlier=0)
    done = polycmp("debug", "precision", "float.onnx", *words)
    assert (done.status, text in " ".join(done.err.split())) == (2, True), done.out + done.err


def test_a_check_decides_how_much_stays_in_float32_beside_bfloat16(polycmp, models, tmp_path):
    models(low_precision.float16, 1.0, layers=4, outlier=0)
    check = ("--check", *save_check("needs.sh", float32_in_file("w2"), gone=1), "polycmp_debug.onnx")
    words = ("--to", "bfloat16", "-o", "mixed.onnx", "--report", "found.json", *check)
    done = polycmp("debug", "precision", "float.onnx", *words)
    assert done.status == 0, done.out + done.err
    assert done.report(tmp_path / "found.json")["in_float32"][-1] == "matmul2"
    types = {item.data_type for item in onnx.load("mixed.onnx").graph.initializer}
    assert types == {TensorProto.FLOAT, TensorProto.BFLOAT16}
