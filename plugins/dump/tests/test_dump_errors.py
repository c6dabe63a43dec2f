"""What does not fit is one clear line, with the right status; what is left is compared all the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import dumping_devices as devices
import numpy as np
import onnx
import pytest

HALF = devices.NHWC + 'precision = "float16"\n'


@pytest.fixture(scope="module")
def dumped(tmp_path_factory) -> Path:
    """A folder with a model and a dump of it, made once."""
    folder = tmp_path_factory.mktemp("dumped")
    model = onnx.load(devices.resnet(str(folder / "model.onnx")))
    iterations = [devices.run_on_device(model, feed, devices.half) for feed in devices.feeds_of(model, 2)]
    devices.write_raw(folder / "out", iterations)
    return folder


@pytest.fixture
def dump(polycmp, dumped):
    """Compare the dump under a map, after a change of its files."""
    shutil.copytree(dumped, ".", dirs_exist_ok=True)

    def run(text: str = HALF, *words: str, command: str = "run"):
        Path("dump.toml").write_text(text)
        done = polycmp(command, "model.onnx", "-b", "dump:map=dump.toml,name=phone", "-b", "onnxrt", *words)
        return done.__class__(done.status, " ".join(done.out.split()), " ".join(done.err.split()))

    return run


WRONG_MAPS = {
    "no TOML": ("folder =\n", 3, "dump.toml is not valid TOML why: Invalid value (at line 1"),
    "a key that is none": (
        HALF + "[tensors.logits]\nlayuot = 'NHWC'\n",
        2,
        "dump.toml, line 6: the table of 'logits' has no key 'layuot' why: did you mean 'layout'",
    ),
    "a key at the top": (
        "fodler = 'out'\n",
        2,
        "dump.toml, line 1: a map has no key 'fodler' why: did you mean 'folder'",
    ),
    "a tensor that is none": (
        HALF + "[tensors.logit]\ndtype = 'float16'\n",
        2,
        "line 5: no tensor of model.onnx is called 'logit' why: did you mean 'logits'",
    ),
    "a pattern of none": (
        HALF + "[tensors.'head*']\ndtype = 'float16'\n",
        2,
        "line 5: no tensor of model.onnx is called 'head*'",
    ),
    "two patterns": (
        HALF + "[tensors.'lo*']\ndtype = 'float32'\n[tensors.'*its']\ndtype = 'float32'\n",
        2,
        "match 'logits': 'lo*' in line 5 and '*its' in line 7",
    ),
    "a file that is not there": (
        HALF + "[tensors.logits]\nfile = 'Result_{iteration}/logit.raw'\n",
        3,
        "line 5: no file Result_{iteration}/logit.raw in out",
    ),
    "no folder": (HALF.replace('"out"', '"oot"'), 3, "no such folder: oot why: did you mean 'out'"),
    "no pattern": (HALF.replace("{tensor}", "{name}"), 2, "'Result_{iteration}/{name}.raw' is no pattern of files"),
    "one name twice": (HALF.replace("{tensor}", "*_{tensor}_{tensor}"), 2, "is no pattern of files"),
    "a layout that is none": (HALF.replace("NHWC", "NHW"), 2, "line 3: 'NHW' is no layout"),
    "a layout of others": (
        HALF + "[tensors.logits]\nlayout = 'NHWC'\n",
        2,
        "line 5: layout NHWC does not fit 'logits', which is [1,10]",
    ),
    "an order that is none": (HALF + "[tensors.logits]\nlayout = [1, 1]\n", 2, "line 6: [1, 1] is no order of axes"),
    "a precision that is none": (HALF.replace("float16", "half"), 2, "line 4: 'half' is no type to calculate in"),
    "a type that is none": (HALF + "[tensors.logits]\ndtype = 'real'\n", 2, "line 6: unknown element type 'real'"),
    "a type of another size": (
        HALF + "[tensors.logits]\ndtype = 'float16'\n",
        3,
        "holds 20 numbers of float16, and 'logits' has 10: [1,10] next: as float32 it would fit",
    ),
    "another type for the input": (
        HALF + "[tensors.image]\ndtype = 'float64'\n",
        3,
        "image.raw holds 384 numbers of float64, and 'image' has 768",
    ),
    "a scale of real numbers": (
        HALF + "[tensors.logits]\nscale = 0.5\n",
        2,
        "holds float32, and the map gives a scale, as for codes",
    ),
    "a scale below 0": (HALF + "[tensors.logits]\nscale = -0.5\n", 2, "line 6: a scale is above 0"),
    "too many scales": (
        HALF + "[tensors.logits]\ndtype = 'int32'\nscale = [1.0, 2.0, 3.0]\n",
        2,
        "scale has 3 numbers, and axis 1 of 'logits' has the shape [1,10] in the file",
    ),
    "no file of scales": (
        HALF + "[tensors.logits]\ndtype = 'int32'\nscale = 'scales.npy'\n",
        3,
        "no file scales.npy in out",
    ),
    "a byte order that is none": (
        HALF + "byte_order = 'middle'\n",
        2,
        "line 5: byte_order is little or big, not 'middle'",
    ),
}


@pytest.mark.parametrize("name", WRONG_MAPS)
def test_a_map_that_cannot_be_right_is_told_with_its_line(dump, name):
    text, status, sentence = WRONG_MAPS[name]
    done = dump(text)
    assert done.status == status, done.out + done.err
    assert sentence in done.out + done.err


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


def test_neither_folder_nor_map(polycmp):
    devices.resnet()
    done = polycmp("run", "model.onnx", "-b", "dump", "-b", "onnxrt")
    assert done.status == 2
    assert "a folder or a map is missing: -b dump:folder=DIR,map=dump.toml" in done.err
    done = polycmp("run", "model.onnx", "-b", "onnxrt", "--dump")
    assert (done.status, "--dump needs a value" in done.err) == (2, True)
