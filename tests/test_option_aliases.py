"""Words that people type for others: beginnings of options, one hyphen for two, and words that Polygraphy dropped."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from polycmp.comparator import Comparator, DataLoader
from polycmp.runner import Runner
from polycmp_onnx import modify_outputs
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A sum of two constants and the input."""
    monkeypatch.chdir(tmp_path)
    nodes = [
        helper.make_node("Constant", [], ["c"], name="c", value_floats=[1.0, 2.0]),
        helper.make_node("Neg", ["c"], ["d"], name="neg"),
        helper.make_node("Add", ["x", "d"], ["y"], name="add"),
    ]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "m.onnx")
    return "m.onnx"


@pytest.mark.parametrize(
    ("typed", "taken"),
    [
        (("surgeon", "sanitize", "m.onnx", "--fold-constant", "-o", "out.onnx"), "--fold-constants"),
        (("run", "m.onnx", "--onnxrt", "--iter", "2"), "--iterations"),
        (("run", "m.onnx", "--onnxrt", "--input-shape=x:[2]"), "--input-shapes"),
        (("run", "m.onnx", "--onnxr"), "--onnxrt"),
        (("template", "onnx-gs", "m.onnx", "--outpu", "gs.py"), "--output"),
    ],
)
def test_a_beginning_of_one_option(polycmp, model, typed, taken):
    done = polycmp(*typed)
    assert done.status == 0, done.out + done.err
    assert f"is taken for {taken}\n" in done.err


def test_what_was_asked_for_is_done(polycmp, model):
    polycmp("surgeon", "sanitize", "m.onnx", "--fold-constant", "-o", "out.onnx")
    assert [node.op_type for node in onnx.load("out.onnx").graph.node] == ["Add"]


@pytest.mark.parametrize(
    ("typed", "candidates"),
    [
        (("surgeon", "sanitize", "m.onnx", "--fold", "-o", "out.onnx"), ("--fold-constants", "--fold-size-threshold")),
        (("run", "m.onnx", "--onnxrt", "--save-in", "x.json"), ("--save-inputs", "--save-input-blob")),
    ],
)
def test_a_beginning_of_several_options(polycmp, model, typed, candidates):
    done = polycmp(*typed)
    assert done.status == 2
    assert all(candidate in done.err for candidate in candidates), done.err
    assert sorted(path.name for path in Path().iterdir()) == ["m.onnx"]


@pytest.mark.parametrize("word", ["-log-file", "-onnx-outputs", "-onnxrt"])
def test_one_hyphen_for_two(polycmp, model, word):
    done = polycmp("run", "m.onnx", "--onnxrt", word, "x.log")
    assert done.status == 2
    assert f"did you mean -{word}?" in done.err


def test_the_beginning_of_an_option_that_is_not_there_is_no_other(polycmp, model):
    """`--mod` fits `--model-type` alone; `--modo` fits nothing."""
    assert "--modo" in polycmp("run", "m.onnx", "--onnxrt", "--modo", "x").err


@pytest.mark.parametrize(
    ("mode", "shown", "hidden"),
    [("basic", "[Op: Add]", "value_floats"), ("attrs", "value_floats", "no such text"), ("none", "x", "[Op: Add]")],
)
def test_modes_of_inspect_model(polycmp, model, mode, shown, hidden):
    for words in ((f"--mode={mode}",), ("--mode", mode)):
        done = polycmp("inspect", "model", "m.onnx", *words)
        assert done.status == 0, done.err
        assert shown in done.out
        assert hidden not in done.out
        assert f"--mode {mode} of earlier versions" in done.err


def test_inputs_out_of_outputs(polycmp, model):
    polycmp("run", "m.onnx", "--onnxrt", "--save-inputs", "in.json", "--save-outputs", "out.json")
    done = polycmp("data", "to-input", "in.json", "out.json", "-o", "all.json")
    assert done.status == 0, done.err
    assert "to-input of earlier versions: data merge" in done.err
    shown = polycmp("inspect", "data", "all.json").out
    assert ("x [float32[2]]" in shown, "y [float32[2]]" in shown) == (True, True)


def test_options_of_earlier_builders(polycmp, model):
    """They are read where TensorRT is not there, too: what fails is the backend, not the command line."""
    words = ("run", "m.onnx", "--onnxrt", "--trt", "--fp16", "--explicit-precision")
    assert polycmp(*words).status in {0, 3}
    for option, settings in (
        ("--obey-precision-constraints", "CreateConfig(precision_constraints='obey', profiling"),
        ("--strict-types", "CreateConfig(precision_constraints='prefer', direct_io=True, profiling"),
    ):
        done = polycmp(*words, option, "--gen-script", "script.py")
        assert (done.status, settings in Path("script.py").read_text()) == (0, True), done.err


@pytest.mark.parametrize("words", [("-p", "float32"), ("--precision", "fp32"), ("--precision=float32",)])
def test_the_precision_of_debug_precision(polycmp, model, words):
    check = ("--check", "sh", "-c", "cat polygraphy_debug.onnx")
    done = polycmp("debug", "precision", "m.onnx", *words, *check)
    assert (done.status, "NO FAULT" in done.out) == (0, True), done.err


def test_names_of_outputs_from_a_file(polycmp, model):
    Path("names.txt").write_text("d\n\n y \n")
    for words in (("--onnx-outputs", "@names.txt"), ("--onnx-outputs=@names.txt",)):
        done = polycmp("run", "m.onnx", "--onnxrt", "--save-outputs", "out.json", *words)
        assert done.status == 0, done.err
        shown = polycmp("inspect", "data", "out.json").out
        assert ("d [float32[2]]" in shown, "y [float32[2]]" in shown) == (True, True)
    done = polycmp("run", "m.onnx", "--onnxrt", "--onnx-outputs", "@gone.txt")
    assert (done.status, "no tensor '@gone.txt'" in done.err) == (2, True)


def test_an_input_is_no_output_to_leave_out(polycmp, model):
    assert polycmp("run", "m.onnx", "--onnxrt", "--onnx-exclude-outputs", "x").status == 0
    assert polycmp("run", "m.onnx", "--onnxrt", "--onnx-exclude-outputs", "nothing").status == 2


@pytest.mark.parametrize("suffix", ["pkl", "gz", "bin", "csv"])
def test_results_under_the_suffix_of_something_else_are_json(polycmp, model, suffix):
    done = polycmp("run", "m.onnx", "--onnxrt", f"--save-results=r.{suffix}", f"--save-inputs=i.{suffix}")
    assert done.status == 0, done.err
    assert f"r.{suffix} holds JSON, not what its suffix says" in done.err
    assert json.loads(Path(f"r.{suffix}").read_text())
    done = polycmp("run", "m.onnx", "--onnxrt", f"--load-results=r.{suffix}", f"--load-inputs=i.{suffix}")
    assert "PASSED: 1 output within tolerance" in done.out


def test_a_folder_of_weights_without_a_file_to_save(polycmp, model):
    done = polycmp("run", "m.onnx", "--onnxrt", "--save-external-data", "weights")
    assert (done.status, "--save-external-data has no effect without --save-onnx" in done.err) == (0, True)


@pytest.mark.skipif(find_spec("tensorrt") is not None, reason="TensorRT is here")
def test_a_script_for_a_backend_whose_library_is_not_here(polycmp, model):
    done = polycmp("run", "m.onnx", "--trt", "--int8", "--onnxrt", "--gen-script", "script.py")
    assert (done.status, "note: the script needs tensorrt" in done.err) == (0, True)
    source = Path("script.py").read_text()
    assert source.index("data_loader = DataLoader(") < source.index("CalibratorFromData(data_loader")
    compile(source, "script.py", "exec")


def test_a_data_loader_knows_the_inputs_after_a_run(model):
    loader = DataLoader(seed=3)
    results = Comparator.run([OnnxrtRunner(SessionFromOnnx("m.onnx"), "one")], data_loader=loader)
    feed = next(iter(loader))
    np.testing.assert_allclose(results["one"][0]["y"], feed["x"] - [1.0, 2.0])


def test_a_prefix_in_place_of_a_name():
    assert [Runner(prefix="mine").name, Runner("own", prefix="mine").name, Runner(None).name] == [
        "mine",
        "own",
        "Runner",
    ]


def test_leaving_out_an_input_in_a_program(model):
    made = modify_outputs(onnx.load("m.onnx"), outputs=["d", "y"], exclude_outputs=["x", "d"])
    assert [value.name for value in made.graph.output] == ["y"]
