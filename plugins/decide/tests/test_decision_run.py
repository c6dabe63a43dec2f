"""Sides of a decision on all samples: those that fail, and with three what the file loses and what the device."""

from __future__ import annotations

import pytest

HOST, OLD = "onnxrt:model=damaged.onnx,name=host", "onnxrt:name=old"
DEVICE = "faulty:backend=onnxrt,fault=saturate,at=hidden,model={},name=device"


@pytest.fixture
def ask(digits, decide):
    """Return what asks about some backends, in the folder with the classifiers."""

    def call(*backends):
        words = " ".join(f"-b {backend}" for backend in backends)
        return decide(f"float.onnx {words} --data pictures --max-drop 1", digits)

    return call


def test_the_losses_of_file_and_device_add_up(ask):
    pytest.importorskip("polycmp_checks")
    said = ask(DEVICE.format("damaged.onnx"), HOST, OLD)
    assert said.status == 1, said.err
    found = said.document
    file, device = found["whose_loss"]["file"], found["whose_loss"]["device"]
    assert file["label"] == "host"
    assert device["label"] == "device"
    assert found["host"]["label"] == "host"
    assert file["drop"]["value"] + device["drop"]["value"] == pytest.approx(found["drop"]["value"])
    for part in (file, device):
        assert part["drop"]["value"] == pytest.approx((part["lost"] - part["won"]) / 797)
        assert part["drop"]["low"] <= part["drop"]["value"] <= part["drop"]["high"]
    words = " ".join(said.out.split())
    assert f"the new file loses {100 * file['drop']['value']:.3g} points (" in words
    assert "; device loses " in words or "; device gains " in words
    shares = found["error_shares"]["outputs"]["scores"]
    assert 0 < shares["device"] < 1
    assert shares["file"] + shares["device"] == pytest.approx(1)


def test_a_file_that_loses_on_a_device_that_does_not(ask):
    """The file alone, on the host, loses what `decide` finds with two sides; ONNX's reference adds nothing."""
    two = ask(HOST, OLD).document
    said = ask("onnx:model=damaged.onnx,name=device", HOST, OLD)
    assert said.status == 1
    found = said.document
    assert found["whose_loss"]["file"]["drop"] == two["drop"]
    assert found["whose_loss"]["device"]["drop"]["value"] == 0
    assert (found["lost"], found["won"]) == (two["lost"], two["won"])
    if pytest.importorskip("polycmp_locate"):
        assert "locate float.onnx -b onnxrt:model=damaged.onnx,name=host -b onnxrt:name=old" in " ".join(
            said.out.split()
        )


def test_a_device_that_loses_with_a_file_that_does_not(ask):
    pytest.importorskip("polycmp_checks")
    fault = DEVICE.format("int8.onnx").replace("saturate", "shuffle").replace("hidden", "scores")
    said = ask(HOST.replace("damaged", "int8"), fault, OLD)
    assert said.status == 1, said.err
    found = said.document["whose_loss"]
    assert found["device"]["drop"]["low"] > 0.5
    assert found["file"]["drop"]["high"] < 0.01
    assert said.document["new"]["label"] == "device"


@pytest.mark.parametrize(
    "backends",
    [
        ("onnxrt:name=a", "onnxrt:name=b", OLD),
        (HOST, "onnxrt:model=int8.onnx,name=other", OLD),
        (HOST, HOST.replace("host", "again"), OLD),
        (OLD,),
    ],
    ids=["one file", "three files", "which is the device", "one side"],
)
def test_other_sides_are_refused(ask, backends):
    said = ask(*backends)
    assert said.status == 2
    assert f"{len(backends)} sides" in said.err
    assert "-b DEVICE:model=NEW -b BACKEND:model=NEW -b BACKEND" in said.err


def test_sides_that_fail_are_named(digits, decide, tmp_path):
    (tmp_path / "load.py").write_text(
        "import numpy as np\n\n\ndef load_data():\n    yield {'picture': np.zeros((1, 1, 8, 9), np.float32)}\n"
    )
    (tmp_path / "labels.csv").write_text("label\n1\n")
    words = f"--data-loader-script {tmp_path / 'load.py'} --labels {tmp_path / 'labels.csv'}"
    said = decide(f"float.onnx -b onnxrt -b onnx {words}", digits)
    assert said.status == 3
    assert "ERROR: onnxrt, onnx failed" in said.out
    assert said.document["new"]["error"]


def test_samples_that_are_lost_are_no_failures_of_a_side_that_is_not_worse(digits, decide, tmp_path):
    pytest.importorskip("polycmp_report")
    words = f"damaged.onnx float.onnx -b onnxrt --data pictures --max-drop 20 --report {tmp_path / 'junit.xml'}"
    said = decide(words, digits)
    assert said.document["lost"] > 0
    assert 'failures="0"' in (tmp_path / "junit.xml").read_text("utf-8")
