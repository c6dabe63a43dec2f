"""A map of a dump: what cannot be right in it is told with its line."""

from __future__ import annotations

import dumping_devices as devices
import pytest

HALF = devices.HALF


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


def test_neither_folder_nor_map(polycmp):
    devices.resnet()
    done = polycmp("run", "model.onnx", "-b", "dump", "-b", "onnxrt")
    assert done.status == 2
    assert "a folder or a map is missing: -b dump:folder=DIR,map=dump.toml" in done.err
    done = polycmp("run", "model.onnx", "-b", "onnxrt", "--dump")
    assert (done.status, "--dump needs a value" in done.err) == (2, True)
