"""Judges of whole models and of their parts: which side is right, on which inputs, and by which comparison."""

from __future__ import annotations

from pathlib import Path

import faulty_models
import numpy as np
import pytest
from faulty_models import operators
from onnx import helper

from polycmp.layerwise import PartitionedRun
from polycmp.plan import ComparePlan
from polycmp.results import BackendResult
from polycmp_locate.reduce.judging import FailingModel, needs_outputs


def faulty(at, fault="int32"):
    return f"faulty:backend=onnxrt,fault={fault},at={at}"


def side(label):
    return PartitionedRun(BackendResult(label=label, backend="x"), None, None, ())


@pytest.mark.parametrize(
    ("error", "outputs", "words"),
    [
        ("it died", {}, "new fails on the whole model: it died"),
        ("", {"y": "it is off"}, "new differs from old in 'y': it is off"),
        ("", {"y": "it is off", "z": "so is it", "a": "and it"}, "new differs from old in 'y', and 2 more: it is off"),
    ],
)
def test_how_a_model_fails_is_said_in_one_sentence(error, outputs, words):
    assert FailingModel(side("new"), side("old"), {}, 0, error, outputs).sentence == words


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({}, False),
        ({"script": "c.py"}, False),
        ({"postprocess": {"": "top-5"}}, True),
        ({"postprocess_script": "p.py"}, True),
    ],
)
def test_postprocessing_reads_the_outputs_of_the_whole_model(changes, needed):
    assert needs_outputs(ComparePlan(**changes)) is needed


def test_the_reference_may_be_named_by_its_backend(polycmp, tmp_path):
    faulty_models.chain(tmp_path / "chain.onnx", 6)
    words = ("-b", "onnxrt:name=sound", "-b", f"{faulty('c5')},name=bad", "--reference", "onnxrt")
    done = polycmp("debug", "reduce", "chain.onnx", *words, "--report", "found.json")
    assert done.status == 0, done.err
    assert "bad differs from sound" in done.report(tmp_path / "found.json")["fault"]


def test_parts_are_judged_like_the_whole_where_all_numbers_are_small(polycmp, tmp_path):
    weight = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    nodes = [
        helper.make_node("Mul", ["x", "s"], ["a"], name="scale"),
        helper.make_node("MatMul", ["a", "w"], ["h"], name="product"),
        helper.make_node("Relu", ["h"], ["y"], name="relu"),
    ]
    for name, factor in (("good", 1.0), ("bad", 1.3)):
        weights = {"s": np.float32(1e-8), "w": weight * np.float32(factor)}
        faulty_models.save(tmp_path / f"{name}.onnx", nodes, [4, 16], weights)
    words = ("debug", "reduce", "bad.onnx", "-b", "onnxrt", "-b", "onnxrt:name=ref,model=good.onnx")
    done = polycmp(*words)
    assert (done.status, operators("bad_reduced.onnx")) == (0, ["product"]), done.out + done.err
    done = polycmp(*words, "--atol", 1e-5)
    assert (done.status, "nothing could differ" in done.out) == (3, True), done.out  # a tolerance above all of them


def test_a_comparison_that_could_not_fail_is_no_model_that_passes(polycmp, tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "low"], ["l"]),
        helper.make_node("Relu", ["l"], ["y"]),
    ]  # fmt: skip
    for name, factor in (("good", 1.0), ("bad", 3.0)):
        weights = {"low": np.float32(-1000), "w": np.eye(16, dtype=np.float32) * np.float32(factor)}
        faulty_models.save(tmp_path / f"{name}.onnx", nodes, [4, 16], weights)
    words = ("bad.onnx", "-b", "onnxrt", "-b", "onnxrt:model=good.onnx")
    done = polycmp("debug", "reduce", *words)
    said = " ".join(done.out.split())
    assert (done.status, (tmp_path / "bad_reduced.onnx").exists()) == (3, False), said
    assert "nothing could have differed in the whole model" in said
    assert "next: polycmp run bad.onnx -b onnxrt -b onnxrt:model=good.onnx" in said


def test_only_a_later_input_shows_the_fault(polycmp, tmp_path):
    faulty_models.chain(tmp_path / "chain.onnx", 6)
    feeds = [np.zeros((1, 4, 16, 16), np.float32), np.full((1, 4, 16, 16), 0.3, np.float32)]
    for index, feed in enumerate(feeds):
        np.savez(tmp_path / f"{index}.npz", x=feed)
    words = ("-b", faulty("c5"), "-b", "onnxrt", "--load-inputs", "0.npz", "1.npz")
    done = polycmp("debug", "reduce", "chain.onnx", *words)
    assert "on input 1, counted from 0" in done.out
    assert operators("chain_reduced.onnx") == ["c5"]


def test_nothing_fails(polycmp, tmp_path):
    faulty_models.chain(tmp_path / "chain.onnx", 6)
    done = polycmp("debug", "reduce", "chain.onnx", "-b", "onnxrt:threads=1", "-b", "onnxrt")
    assert done.status == 0
    assert "NO FAULT: the whole model passes" in done.out
    assert not Path("chain_reduced.onnx").exists()


def test_the_reference_fails(polycmp, tmp_path):
    faulty_models.chain(tmp_path / "chain.onnx", length=2)
    words = ("-b", "onnxrt", "-b", faulty("c1", "crash"), "--use-subprocess")
    done = polycmp("debug", "reduce", "chain.onnx", *words)
    assert done.status == 3
    assert "ERROR: " in done.out
