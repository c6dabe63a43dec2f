"""Dumps of other programs are compared and located like a local backend."""

from __future__ import annotations

from pathlib import Path

import dumping_devices as devices
import numpy as np
import onnx
import pytest
from in_process import run_cases_here
from onnx import numpy_helper

import polycmp as polycmp_package


def change(model: onnx.ModelProto, name: str, factor: float) -> onnx.ModelProto:
    """Return a model with one weight multiplied."""
    for weight in model.graph.initializer:
        if weight.name == name:
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(factor), name))
    return model


def dump(model: onnx.ModelProto, count: int = 2, rounding=devices.half, **settings) -> None:
    devices.write_raw(
        "out", [devices.run_on_device(model, feed, rounding) for feed in devices.feeds_of(model, count)], **settings
    )


def test_a_dump_in_float16_with_channels_last_agrees(polycmp):
    model = onnx.load(devices.resnet())
    dump(model)
    Path("dump.toml").write_text(devices.NHWC + 'precision = "float16"\n')
    done = polycmp("run", "model.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt")
    assert (done.status, done.out.count("2 iterations") + done.out.count("PASSED: 1 output")) == (0, 1), done.out
    assert "paired by the spelling of their names" in done.out
    done = polycmp("locate", "model.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt")
    assert done.status == 0, done.out
    assert "NO FAULT: within rounding" in done.out


def test_the_operator_that_is_wrong_on_the_device_is_named(polycmp):
    model = onnx.load(devices.resnet())
    dump(change(model, "layer2/conv2.weight", 1.1))
    Path("dump.toml").write_text(devices.NHWC + 'precision = "float16"\n')
    assert polycmp("run", "model.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt").status == 1
    done = polycmp("locate", "model.onnx", "-b", "dump:map=dump.toml,name=phone", "-b", "onnxrt")
    assert done.status == 1
    assert "FOUND: wrong: Conv '/layer2/conv2/Conv' computes '/layer2/conv2/Conv_output_0'" in done.out
    assert "from what phone read there, onnxrt computes something else" in " ".join(done.out.split())


def test_without_the_layout_in_the_map_the_first_convolution_is_blamed(polycmp):
    """Nothing in a raw file tells how its axes lie."""
    dump(onnx.load(devices.resnet()))
    Path("dump.toml").write_text(devices.NHWC.replace('layout = "NHWC"\n', ""))
    done = polycmp("run", "model.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt")
    assert done.status == 1


@pytest.mark.parametrize("lacking", ["Conv", "Relu"])
def test_a_dump_without_some_tensors_names_the_part_between(polycmp, lacking):
    model = onnx.load(devices.resnet())
    dump(change(model, "layer2/conv2.weight", 1.1))
    for file in Path("out").rglob(f"*_{lacking}_output_0.raw"):
        file.unlink()
    Path("dump.toml").write_text(devices.NHWC + 'precision = "float16"\n')
    done = polycmp("locate", "model.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt")
    assert done.status == 1, done.out
    assert "FOUND: wrong" in done.out
    assert ("with Conv, Add" if lacking == "Conv" else "Conv '/layer2/conv2/Conv'") in done.out


def test_suites_and_programs_take_a_dump_like_any_backend(polycmp, monkeypatch):
    pytest.importorskip("polycmp_suite")
    run_cases_here(monkeypatch)
    model = onnx.load(devices.resnet())
    dump(model, 1)
    Path("dump.toml").write_text(devices.NHWC + 'precision = "float16"\n')
    Path("suite.toml").write_text(
        '[[case]]\nname = "phone"\nmodel = "model.onnx"\nbackends = ["dump:map=dump.toml", "onnxrt"]\n'
    )
    done = polycmp("suite", "suite.toml")
    assert (done.status, "PASSED: 1 case" in done.out) == (0, True), done.out + done.err
    answer = polycmp_package.run("model.onnx", "dump:map=dump.toml", "onnxrt")
    assert answer.passed
    assert answer["logits"].max_abs > 0


def test_backends_in_processes_of_their_own_are_fed_with_the_dump(polycmp):
    dump(onnx.load(devices.resnet()))
    Path("dump.toml").write_text(devices.NHWC + 'precision = "float16"\n')
    done = polycmp("run", "model.onnx", "-b", "dump:map=dump.toml", "-b", "onnxrt", "--use-subprocess")
    assert (done.status, "PASSED: 1 output" in done.out) == (0, True), done.out + done.err
