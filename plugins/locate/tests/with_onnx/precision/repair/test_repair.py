"""`locate --save-fixed`: a converted model is mended from its source, and only what was verified is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from conversion_faults import frozen_batch
from mending import FAULTS, SOURCE, WORDS
from packaging.version import Version

#: What ONNX Runtime takes out again, or what changes nothing there.
UNSEEN = {"Cast to float16 and back"}
#: Faults of which `test_changes.py` mends none.
FEW = {"axis of Concat", "channels in the opposite order", "height and width exchanged", "skip connection left out"}


def is_verified(polycmp):
    words = tuple(word.replace("faulty", "fixed") for word in WORDS)
    return polycmp("run", *words).status == 0


@pytest.mark.parametrize(
    "name",
    [name if name in FEW else pytest.param(name, marks=pytest.mark.corpus) for name in sorted(set(FAULTS) - UNSEEN)],
)
def test_a_fault_of_a_conversion_is_located_named_and_mended(polycmp, mend, name):
    fault = FAULTS[name]
    done, found = mend(fault.planted(SOURCE))
    assert done.status == 1, done.out + done.err
    assert "FOUND: " in done.out, done.out
    named = {operator for item in found["suspects"] for operator in item["operators"]}
    assert named & set(fault.where)
    assert len(found["suspects"]) <= 2
    assert (found["before"]["passed"], found["after"]["passed"]) == (False, True)
    assert is_verified(polycmp)
    onnx.checker.check_model("fixed.onnx", full_check=True)
    written = json.loads(Path("fixed.changes.json").read_text())
    assert written["changes"] == found["changes"] != []


def test_a_frozen_batch_is_opened(polycmp, mend):
    example = {"image": np.zeros((1, 3, 32, 32), np.float32)}
    done, found = mend(frozen_batch(SOURCE, example).planted(SOURCE))
    assert done.status == 1, done.out + done.err
    assert [item["text"] for item in found["changes"]] == ["shape [1, 3, 32, 32] -> ['n', 3, 32, 32]"]
    assert found["before"]["error"]
    assert is_verified(polycmp)


def test_two_faults_are_both_mended(polycmp, mend):
    faulty = FAULTS["epsilon"].planted(FAULTS["no pads"].planted(FAULTS["one element"].planted(SOURCE)))
    done, found = mend(faulty)
    assert "FOUND: " in done.out, done.out + done.err
    assert len(found["changes"]) == 3
    assert is_verified(polycmp)


def test_other_names_and_float16_are_no_fault_and_stay(polycmp, mend):
    """The mended model keeps what is right: all other layers stay as the conversion made them."""
    from polycmp_onnx import convert_to_fp16

    faulty = convert_to_fp16(FAULTS["one element"].planted(SOURCE))
    done, found = mend(faulty, "--atol", "2e-2")
    assert "FOUND: " in done.out, done.out + done.err
    assert {item["layer"] for item in found["suspects"]} == {"Conv 'down1.conv'"}
    types = [item.data_type for item in onnx.load("fixed.onnx").graph.initializer]
    assert types.count(onnx.TensorProto.FLOAT16) > types.count(onnx.TensorProto.FLOAT)


def test_nothing_to_mend_writes_nothing(mend):
    done, found = mend(SOURCE)
    assert (done.status, "PASSED: " in done.out) == (0, True), done.out + done.err
    assert found["changes"] == []
    assert not Path("fixed.onnx").exists()


@pytest.mark.skipif(Version(onnx.__version__) < Version("1.20"), reason="onnx 1.19 resizes element by element: minutes")
def test_a_tolerance_that_no_change_meets_writes_nothing(polycmp, mend):
    mend(SOURCE)
    words = ("source.onnx", "-b", "onnxrt:model=faulty.onnx", "-b", "onnx", "--load-inputs", "x.npz")
    words = (*words, "--atol", "1e-15", "--rtol", "1e-15", "--save-fixed", "fixed.onnx")
    done = polycmp("locate", *words)
    assert (done.status, "FAILED: " in done.out) == (1, True), done.out + done.err
    assert "nothing was written" in " ".join(done.out.split())
    assert not Path("fixed.onnx").exists()


def test_two_wishes_at_once_are_refused(mend):
    done, _ = mend(SOURCE, "--save-mixed", "mixed.onnx")
    assert (done.status, "one after the other" in " ".join(done.err.split())) == (2, True), done.out + done.err


def test_a_file_that_is_no_list_of_changes_is_not_overwritten(mend):
    Path("fixed.changes.json").write_text("mine")
    done, _ = mend(FAULTS["pads"].planted(SOURCE))
    assert (done.status, "would be overwritten" in " ".join(done.err.split())) == (2, True), done.out + done.err
    assert Path("fixed.changes.json").read_text() == "mine"


def test_an_older_list_of_changes_is_replaced(mend):
    mend(FAULTS["pads"].planted(SOURCE))
    done, found = mend(FAULTS["epsilon"].planted(SOURCE))
    assert "FOUND: " in done.out, done.out + done.err
    assert json.loads(Path("fixed.changes.json").read_text())["changes"] == found["changes"]
