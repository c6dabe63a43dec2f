"""Files of a dump that do not fit: one clear line, with the right status; what is left is compared all the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import dumping_devices as devices
import numpy as np
import pytest

HALF = devices.HALF


def test_a_file_that_is_too_short_costs_its_tensor_alone(dump):
    path = Path("out/Result_0/_layer1_Add_output_0.raw")
    path.write_bytes(path.read_bytes()[:1000])
    done = dump(command="locate")
    assert done.status == 0, done.out
    assert (
        f"left out: {path} holds 250 numbers of float32, and '/layer1/Add_output_0' has 2048: [1,8,16,16]" in done.out
    )
    assert "NO FAULT: within rounding: 20 of 20 tensors" in done.out


@pytest.mark.parametrize("command", ["run", "locate"])
def test_an_output_that_is_too_short_ends_the_command(dump, command):
    path = Path("out/Result_1/logits.raw")
    path.write_bytes(path.read_bytes()[:7])
    done = dump(command=command)
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith(f"polycmp: {path} has 7 bytes, which is no whole number of float32, of 4 bytes each")


def test_two_files_of_one_tensor_are_not_chosen_from(dump):
    shutil.copy("out/Result_0/logits.raw", "out/Result_0/logits.bin")
    done = dump('folder = "out"\nlayout = "NHWC"\n')
    assert done.status == 2
    assert "two files hold 'logits': out/Result_0/logits.bin and out/Result_0/logits.raw" in done.err
    done = dump(
        'folder = "out"\nlayout = "NHWC"\nprecision = "float16"\n'
        '[tensors.logits]\nfile = "Result_{iteration}/logits.raw"\n'
    )
    assert done.status == 0, done.out + done.err
    assert "not known in the model" not in done.out


def test_an_iteration_without_a_tensor_leaves_it_out(dump):
    Path("out/Result_1/_layer1_Relu_output_0.raw").unlink()
    done = dump(command="locate")
    assert done.status == 0, done.out
    assert "not every iteration has them: '/layer1/Relu_output_0' (iteration 1 lacks /layer1/Relu_output_0)" in done.out


def test_a_dump_without_outputs_says_how_to_find_them(dump):
    for path in Path("out").rglob("logits.raw"):
        path.unlink()
    done = dump()
    assert done.status == 3
    assert "no file in out is known to hold an output of model.onnx: 'logits'" in done.err
    assert "next: polycmp template dump model.onnx out -b onnxrt -o dump.toml" in done.err


def test_without_inputs_those_that_the_program_was_fed_are_asked_for(dump):
    feeds = [np.fromfile(path, np.float32) for path in sorted(Path("out").rglob("image.raw"))]
    for path in Path("out").rglob("image.raw"):
        path.unlink()
    done = dump()
    assert done.status == 3
    assert "the dump holds no inputs, and numbers were drawn" in done.out + done.err
    Path("inputs").mkdir()
    for number, feed in enumerate(feeds):
        np.savez(f"inputs/{number:010}.npz", image=feed.reshape(1, 16, 16, 3).transpose(0, 3, 1, 2))
    for command in ("run", "locate"):
        done = dump(HALF, "--load-inputs", "inputs", command=command)
        assert done.status == 0, done.out + done.err


@pytest.mark.parametrize("command", ["run", "locate"])
def test_other_inputs_than_those_of_the_dump_are_refused(dump, polycmp, command):
    np.savez("other.npz", image=np.ones((1, 3, 16, 16), np.float32))
    done = dump(HALF, "--load-inputs", "other.npz", command=command)
    assert done.status == 3
    assert "phone failed: the program was fed other inputs than these: 'image'" in done.out
