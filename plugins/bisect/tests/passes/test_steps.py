"""`--over passes -- COMMAND`: the passes of a command that writes the model."""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from releases import write_model

TOOL = """
import sys
source, target, *passes = sys.argv[1:]
passes = [f"p{number}" for number in range(30)] if passes == ["--all"] else passes
if "--skip" in passes:
    passes = [f"p{number}" for number in range(30) if f"p{number}" not in passes]
if "crash" in passes:
    sys.exit("crash: no such operator")
import struct
data = open(source, "rb").read()
if {"p3", "p17"} <= set(passes):
    data = data.replace(struct.pack("<f", 2), struct.pack("<f", 3))
open(target, "wb").write(data)
"""
NAMES = [f"p{number}" for number in range(30)]


@pytest.fixture
def bisect(polycmp, tmp_path):
    """Bisect over the passes of a command; returns what was said and the JSON report."""
    write_model(tmp_path / "m.onnx")
    (tmp_path / "tool.py").write_text(TOOL)

    def run(*step, words=()):
        backends = ("-b", "onnxrt", "-b", "onnxrt:model=m.onnx")
        done = polycmp(
            "bisect", "out.onnx", *backends, "--over", "passes", *words, "--report", "r.json",
            "--", sys.executable, "tool.py", *step,
        )  # fmt: skip
        report = tmp_path / "r.json"
        return done, json.loads(report.read_text()) if report.exists() else {}

    return run


def test_two_passes_that_are_wrong_together_are_named_with_the_command_that_leaves_one_out(bisect):
    done, report = bisect("m.onnx", "out.onnx", "nop", "{passes}", words=("--passes", *NAMES))
    assert done.status == 1, done.err
    [guilty] = report["switch"]["value"]
    [other] = report["switch"]["others"]
    assert {guilty, other} == {"p3", "p17"}
    assert f"without {other} it is right as well, and no run shows which of the two is wrong" in report["sentence"]
    kept = [name for name in NAMES if name != guilty]
    assert report["switch"]["words"].endswith(f"m.onnx out.onnx nop {' '.join(kept)}")
    assert f"without {guilty} {report['backend']} is right" in report["sentence"]
    assert len(report["judged"]) <= 26


def test_a_command_may_be_told_what_to_leave_out_instead(bisect):
    done, report = bisect("m.onnx", "out.onnx", "--skip", "{skipped}", words=("--passes", *NAMES))
    # with nothing left out the option is not there, and the tool runs no pass at all
    assert (done.status, "NO FAULT" in done.out) == (0, True), done.err
    done, report = bisect("m.onnx", "out.onnx", "--skip", "none", "{skipped}", words=("--passes", *NAMES))
    assert done.status == 1, done.err
    assert report["switch"]["words"].endswith(f"--skip none {report['switch']['value'][0]}")


def test_a_pass_that_ends_the_command_is_named(bisect):
    done, report = bisect("m.onnx", "out.onnx", "{passes}", words=("--passes", "p1", "crash", "p2"))
    assert (done.status, report["switch"]["value"]) == (1, ["crash"]), done.err
    assert "crash: no such operator" in report["judged"][0]["reason"]


JOINS = """
import sys
import onnx
source, target, *passes = sys.argv[1:]
model = onnx.load(source)
if "join" in passes:  # leaves out the first of two
    del model.graph.node[0]
    model.graph.node[0].input[0] = "x"
onnx.save(model, target)
"""


def test_the_operators_that_a_pass_replaces_are_named(bisect, tmp_path):
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])] for name in "xy"]
    nodes = [helper.make_node("Relu", ["x"], ["r"], "relu"), helper.make_node("Sigmoid", ["r"], ["y"], "sigmoid")]
    graph = helper.make_graph(nodes, "g", *ends)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    (tmp_path / "tool.py").write_text(JOINS)
    np.savez(tmp_path / "x.npz", x=np.float32([-2, -1, 1, 2]))
    words = ("--load-inputs", "x.npz", "--passes", "other", "join", "last")
    done, report = bisect("m.onnx", "out.onnx", "{passes}", words=words)
    assert (done.status, report["switch"]["value"]) == (1, ["join"]), done.err
    [replaced] = report["replaced"]
    assert [item["name"] for item in replaced["operators"]] == ["relu", "sigmoid"]
    assert replaced["by"] == ["Sigmoid"]
    assert "there it computes Sigmoid in place of Relu 'relu' and Sigmoid 'sigmoid'" in report["sentence"]


@pytest.mark.parametrize(
    ("step", "words", "said"),
    [
        (("m.onnx", "out.onnx"), (), "the command has neither {passes} nor {skipped} in it"),
        (("m.onnx", "other.onnx", "{passes}"), (), "no word of the command is out.onnx"),
        (("m.onnx", "out.onnx", "{passes}"), (), "no passes named"),
    ],
)
def test_a_command_that_does_not_say_enough_is_wrong_usage(bisect, step, words, said):
    done, _ = bisect(*step, words=words)
    assert (done.status, said in done.err) == (2, True), done.err
