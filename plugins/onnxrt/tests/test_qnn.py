"""Qualcomm's execution provider, a package of its own, on the emulator of its NPU: `make test-extras`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from engine_models import FindsAnotherWeight, model, network, polycmp, printed  # noqa: F401 - model is a fixture

from polycmp.errors import PluginError
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is an extra: make test-extras")

HTP = "qnn[backend_type=htp;soc_model=60]"
BACKEND = f"onnxrt:providers=[{HTP}]"
FLOAT16 = "onnxrt:providers=[qnn[backend_type=htp;enable_htp_fp16_precision=1;soc_model=60]]"
BFLOAT16 = "onnxrt:providers=[qnn[backend_type=htp;htp_bf16_enable=1;soc_model=88]]"


class TestFindsAnotherWeight(FindsAnotherWeight):
    backend = BACKEND


def in_its_own_process(*words):
    """Run a command where no other session has told Qualcomm's libraries which chip to emulate: they go on with it."""
    done = subprocess.run([sys.executable, "-m", "polycmp", *words], capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def worst_error(report):
    (row,) = json.loads(Path(report).read_text("utf-8"))["comparison_results"][0]["outputs"].values()
    return row["max_error"]


def quantize(path):
    """Write a file in 8 bits with QuantizeLinear and DequantizeLinear."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Images(CalibrationDataReader):
        def __init__(self):
            rng = np.random.default_rng(0)
            self.feeds = iter([{"x": rng.random((2, 3, 16, 16), np.float32)} for _ in range(4)])

        def get_next(self):
            return next(self.feeds, None)

    kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    quantize_static(path, "int8.onnx", Images(), quant_format=QuantFormat.QDQ, **kinds)


@pytest.mark.parametrize(("backend", "kind"), [(FLOAT16, "float16"), (BFLOAT16, "bfloat16")])
def test_what_a_type_rounds_is_no_fault_and_another_weight_is(backend, kind, model):  # noqa: F811
    status, text = in_its_own_process("run", model, "-b", backend, "-b", "onnxrt", "--report", "r.json")
    assert (status, f"{kind} measured with onnxrt" in text) == (0, True), text
    assert 1e-6 < worst_error("r.json") < 0.05
    status, text = in_its_own_process("locate", model, "-b", backend, "-b", "onnxrt")
    assert (status, f"rounding to {kind}" in text) == (0, True), text
    onnx.save(network(scale=1.2), "other.onnx")
    assert in_its_own_process("run", model, "-b", backend, "-b", "onnxrt:model=other.onnx")[0] == 1


@pytest.mark.parametrize("seed", range(1, 5))
def test_codes_are_a_step_off_on_the_npu_and_no_fault(seed, model):  # noqa: F811
    """On the chip that is emulated where none is named, codes part more often."""
    quantize(model)
    sides = ("-b", "onnxrt:providers=[qnn[backend_type=htp]]", "-b", "onnxrt", "--seed", str(seed))
    status, text = in_its_own_process("run", "int8.onnx", *sides, "--report", "r.json")
    assert status == 0, text
    assert "operators that each execution provider runs: QNNExecutionProvider" in text
    assert worst_error("r.json") > 1e-3  # else this shows nothing
    status, text = in_its_own_process("locate", "int8.onnx", *sides)
    assert status == 0, text


def test_a_provider_that_leaves_everything_to_the_cpu_is_an_error(model):  # noqa: F811
    """ONNX Runtime lists a provider among those of a session all the same: the package has no backend for the CPU."""
    status, text = in_its_own_process("run", model, "-b", "onnxrt:providers=[qnn[backend_type=cpu]]", "-b", "onnxrt")
    assert status == 3
    assert "QNNExecutionProvider runs none of the operators" in text
    assert "ONNX Runtime gives all of them to CPUExecutionProvider" in text


def test_sizes_that_are_left_open_are_to_be_fixed(model):  # noqa: F811
    proto = network()
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(proto, "open.onnx")
    status, text = in_its_own_process("run", "open.onnx", "-b", BACKEND, "-b", "onnxrt", "--input-shapes", "n=2")
    assert status == 3
    assert "polycmp surgeon sanitize MODEL --override-input-shapes x:[N,3,16,16] -o fixed.onnx" in text, text


def test_sessions_follow_each_other_in_one_process():
    x = np.random.default_rng(0).random((2, 3, 16, 16), np.float32)
    results = []
    for name in (HTP, "QNNExecutionProvider[backend_type=htp;soc_model=60]", "cpu", HTP):
        with OnnxrtRunner(SessionFromOnnx(network(), providers=[name])) as runner:
            results.append(runner.infer({"x": x})["y"].copy())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[3])
    np.testing.assert_allclose(results[2], results[0], rtol=1e-2)


def test_the_cpu_may_stand_behind_it():
    with OnnxrtRunner(SessionFromOnnx(network(), providers=[HTP, "cpu"])) as runner:
        assert runner.infer({"x": np.zeros((2, 3, 16, 16), np.float32)})["y"].shape == (2, 8, 1, 1)


def test_a_library_that_cannot_be_loaded_is_told():
    import onnxruntime

    from polycmp_onnxrt.provider_packages import devices_of

    with pytest.raises(PluginError, match="NoneOfOursExecutionProvider cannot be loaded"):
        devices_of(onnxruntime, "NoneOfOursExecutionProvider", "/nowhere.so")
