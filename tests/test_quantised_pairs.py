"""A quantised file beside the float model: noise of rounding is no fault, and what is more than that is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pairs
import pytest

from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.step_noise import StepNoise
from polycmp_locate.quantised import step_error


@pytest.fixture
def against(polycmp, tmp_path):
    """Run a command with a quantised file and the float one, and return its result and its document."""
    rng = np.random.default_rng(5)
    np.savez(tmp_path / "wide.npz", x=rng.standard_normal((2, 5, pairs.WIDTH)).astype(np.float32))
    np.savez(tmp_path / "calibrated.npz", x=rng.random((2, 5, pairs.WIDTH), np.float32))

    def run(command: str, made: Path, good: Path, *words: str, inputs: str = "wide.npz"):
        done = polycmp(
            command, made, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}",
            "--load-inputs", inputs, "--report", "found.json", *words,
        )  # fmt: skip
        return done, json.loads((tmp_path / "found.json").read_text())

    return run


def outputs_of(document: dict) -> dict:
    return document["comparison_results"][0]["outputs"]


def test_noise_that_adds_up_in_good_layers_does_not_fail_a_tensor(against, tmp_path):
    good = pairs.peaked(tmp_path / "good.onnx")
    done, found = against("run", pairs.dynamic_int8(good, tmp_path / "int8.onnx"), good, "--mark-all")
    assert done.status == 0, done.out
    reasons = [item["reason"] for item in outputs_of(found).values()]
    assert any("times the signal, which the parts before bring and round to" in reason for reason in reasons)


def test_a_scale_twice_too_large_fails_where_noise_would_pass(against, tmp_path):
    good = pairs.peaked(tmp_path / "good.onnx")
    made = pairs.dynamic_int8(good, tmp_path / "int8.onnx")
    pairs.edited(made, made, pairs.scaled("2.up.weight_scale", 2.0))
    done, found = against("run", made, good, "--mark-all")
    assert done.status == 1, done.out
    assert next(name for name, item in outputs_of(found).items() if not item["passed"]) == "up2"


def test_an_output_without_any_signal_left_fails_and_leads_to_the_ranking():
    rng = np.random.default_rng(1)
    exact = rng.standard_normal(1000).astype(np.float32)
    noisy = {"inside": exact + np.float32(0.4) * exact[::-1], "y": exact + np.float32(0.7) * exact[::-1]}
    parts = [
        PartNode("MatMul", "one", inputs=("x",), outputs=("inside",), quantised=True),
        PartNode("MatMul", "two", inputs=("inside",), outputs=("y",), quantised=True),
        PartNode("Relu", "three", inputs=("inside",), outputs=("z",)),
    ]
    noise = StepNoise(parts)
    noise.see(noisy | {"z": noisy["inside"]}, dict.fromkeys((*noisy, "z"), exact))
    assert noise.explains("z", set())
    assert not noise.explains("z", {"inside"})
    assert not noise.explains("y", set())
    assert "0.7 times the signal, which all parts together bring: polycmp locate --rank" in noise.too_much("y")
    assert not noise.too_much("inside")


def test_an_operator_that_amplifies_the_noise_of_steps_is_no_ill_conditioned_model(against, tmp_path):
    good = pairs.sharp(tmp_path / "good.onnx")
    done, found = against("locate", pairs.dynamic_int8(good, tmp_path / "int8.onnx"), good)
    assert (done.status, found["words"]) == (0, "within rounding"), found["sentence"]
    assert "together they take the outputs off by" in found["sentence"]
    assert "which of them to leave in float: --rank" in found["sentence"]


def test_a_range_that_has_to_hold_a_mask_is_named(against, tmp_path):
    good = pairs.masked(tmp_path / "good.onnx")
    made = pairs.static_qdq(good, tmp_path / "int8.onnx")
    done, found = against("locate", made, good, inputs="calibrated.npz")
    assert (done.status, found["words"]) == (1, "wrong"), found["sentence"]
    assert found["first_bad"] == "masked_DequantizeLinear_Output"
    assert "which only masks, and leaves nothing of the numbers beside it" in found["sentence"]


def test_a_mask_that_stays_in_float_is_no_fault(against, tmp_path):
    good = pairs.masked(tmp_path / "good.onnx")
    made = pairs.dynamic_int8(good, tmp_path / "int8.onnx")
    assert any(node.op_type == "MatMulInteger" for node in onnx.load(made).graph.node)
    done, found = against("locate", made, good)
    assert (done.status, found["words"]) == (0, "within rounding"), found["sentence"]


def test_elements_that_are_off_in_the_middle_of_a_range_were_not_clipped():
    exact = np.linspace(-1, 1, 401, dtype=np.float32)
    off = exact.copy()
    off[100:140] += 0.3
    assert step_error(np.clip(exact, -0.5, 0.5), exact, 2.0**-6).at_ends > 0.9
    assert step_error(off, exact, 2.0**-6).at_ends == 0.0
