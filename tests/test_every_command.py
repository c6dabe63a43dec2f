"""Models of every age through every command that takes one, and the file that each command was asked to write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import onnx
import pytest
from in_process import plugins_installed
from onnx import TensorProto, helper, numpy_helper

#: Words of every command that takes a model or writes the file of `-o`, by the command's path. The file that is to be
#: there after exit status 0 is OUT…; MODEL is the model, OTHER one with a fault.
COMMANDS = {
    "bisect": "bisect OTHER --over passes -b onnxrt:model=OTHER -b onnxrt:model=MODEL",
    "calibrate": "calibrate MODEL -b onnxrt -b onnx -o OUT.toml",
    "check lint": "check lint MODEL -o OUT.json",
    "convert": "convert MODEL --fp-to-fp16 -o OUT.onnx",
    "data concat": "data concat in.npz in.npz -o OUT.npz",
    "data from-images": "data from-images in.png --name x -o OUT.npz",
    "data from-numpy": "data from-numpy in.npy --name x -o OUT.npz",
    "data merge": "data merge in.npz other.npz -o OUT.npz",
    "debug bundle": "debug bundle case --keep-weights -o OUT.zip",
    "debug precision": "debug precision MODEL -b onnxrt -b onnx --atol 1 -o OUT.onnx",
    "debug reduce": "debug reduce MODEL -b onnxrt -b onnx -o OUT.onnx",
    "decide": "decide MODEL -b onnxrt -b onnx --load-inputs in.npz --labels labels.csv --max-drop 100",
    "flaky": "flaky MODEL -b onnxrt --runs 2",
    "inspect model": "inspect model MODEL --show layers weights",
    "inspect sparsity": "inspect sparsity MODEL",
    "invariants": "invariants MODEL -b onnxrt",
    "locate": "locate MODEL -b onnxrt -b onnx",
    "plugin list": "plugin list MODEL --plugin-dir plugins",
    "plugin match": "plugin match MODEL --plugin-dir plugins -o OUT.yaml",
    "plugin replace": "plugin replace MODEL --plugin-dir plugins --config chosen.yaml -o OUT.onnx",
    "record": "record -o OUT -- PYTHON program.py",
    "run": "run MODEL -b onnxrt -b onnx",
    "selftest": "selftest MODEL -b onnxrt --faults saturate",
    "surgeon extract": "surgeon extract MODEL --inputs a:auto:auto --outputs y:auto -o OUT.onnx",
    "surgeon insert": "surgeon insert MODEL --op Abs --inputs a --outputs a -o OUT.onnx",
    "surgeon prune": "surgeon prune MODEL -o OUT.onnx",
    "surgeon sanitize": "surgeon sanitize MODEL --cleanup -o OUT.onnx",
    "surgeon weight-reconstruct": "surgeon weight-reconstruct MODEL -o OUT.onnx",
    "surgeon weight-strip": "surgeon weight-strip MODEL -o OUT.onnx",
    "template onnx-gs": "template onnx-gs MODEL -o OUT.py",
    "template trt-config": "template trt-config MODEL -o OUT.py",
    "template trt-network": "template trt-network MODEL -o OUT.py",
    "tune": "tune MODEL --matrix onnxrt -b onnx --seconds 0.01",
}
#: Other ways through the same commands.
MORE = (
    "convert MODEL --fp-to-bf16 -o OUT.onnx",
    "convert MODEL --onnx-outputs a y -o OUT.onnx",
    "debug precision MODEL -o OUT.onnx --check PYTHON check.py polycmp_debug.onnx",
    "debug reduce MODEL -o OUT.onnx --check PYTHON check.py polycmp_debug.onnx",
    "debug reduce OTHER MODEL -b onnxrt -o OUT.onnx",
    "debug reduce OTHER MODEL -b onnxrt -o OUT.onnx --save-repro reduced",
    "locate OTHER MODEL -b onnxrt --save-repro case2",
    "run MODEL -b onnxrt -b onnx --mark-all",
    "run MODEL -b onnxrt -b onnx --tolerance auto",
    "run MODEL -b onnxrt -b onnx --fp-to-fp16 --save-onnx OUT.onnx --tolerance auto",
    "run MODEL -b onnxrt -b onnx --shape-inference",
    "surgeon sanitize MODEL --fold-constants -o OUT.onnx",
)
#: Commands that need TensorRT, whose argument is no model of ONNX, or that need a decoder and prompts.
ELSEWHERE = {"build", "debug build", "inspect capability", "generate", "template dump"}
WEIGHTS = {"W": (8, 16), "V": (16, 4), "b": (16,), "num_batches_tracked": ()}


def save_model(path: Path, version: int, *, fed: bool, fault: float = 1.0) -> None:
    """x [2,8] → MatMul W → Add b → a → Relu → MatMul V → y; `num_batches_tracked` is read by nobody.

    Args:
        path: The file.
        version: The version of ONNX's format.
        fed: Whether the weights are inputs, too.
        fault: Factor of a weight.
    """
    draws = np.random.default_rng(0)
    arrays = {name: draws.standard_normal(shape).astype(np.float32) for name, shape in WEIGHTS.items()}
    arrays["num_batches_tracked"] = np.array(7, np.int64)
    arrays["V"] *= np.float32(fault)
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    listed = [helper.make_tensor_value_info(item.name, item.data_type, item.dims) for item in weights] if fed else []
    nodes = [
        helper.make_node("MatMul", ["x", "W"], ["h"], name="first"),
        helper.make_node("Add", ["h", "b"], ["a"], name="bias"),
        helper.make_node("Relu", ["a"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "V"], ["y"], name="second"),
    ]
    x, y = (helper.make_tensor_value_info(*item) for item in (("x", TensorProto.FLOAT, [2, 8]), ("y", 1, [2, 4])))
    graph = helper.make_graph(nodes, "old", [x, *listed], [y], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8 if version < 4 else 13)])
    made.ir_version = version
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, path)


FORMS = {
    "weights are no inputs": {"version": 8, "fed": False},
    "keep_initializers_as_inputs": {"version": 6, "fed": True},
    "IR version 3": {"version": 3, "fed": True},
}


def files_of_the_commands(folder: Path) -> None:
    from PIL import Image

    np.save(folder / "in.npy", np.ones((2, 8), np.float32))
    np.savez(folder / "in.npz", x=np.ones((2, 8), np.float32))
    np.savez(folder / "other.npz", z=np.ones((2, 8), np.float32))
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(folder / "in.png")
    (folder / "plugins" / "pair").mkdir(parents=True)
    (folder / "plugins" / "pair" / "pattern.py").write_text(
        "def get_plugin_metadata():\n    return {'name': 'pair', 'op': 'Pair_TRT'}\n\n\n"
        "def get_matching_subgraphs(graph):\n    return []\n"
    )
    (folder / "chosen.yaml").write_text("{name: pair, op: Pair_TRT, instances: []}\n")
    (folder / "labels.csv").write_text("label\n0\n1\n")
    (folder / "check.py").write_text("import sys; open(sys.argv[1], 'rb').read()\n")
    (folder / "program.py").write_text(
        "import numpy as np, onnxruntime\n"
        "onnxruntime.InferenceSession('model.onnx').run(None, {'x': np.ones((2, 8), np.float32)})\n"
    )


#: Both that are fed their weights are read alike, and commands on the third are all over the tests: the corpus has
#: every command for each.
OLDEST = "IR version 3"


@pytest.fixture(params=[pytest.param(form, marks=() if form == OLDEST else pytest.mark.corpus) for form in FORMS])
def folder(request, tmp_path, polycmp):
    save_model(tmp_path / "model.onnx", **FORMS[request.param])
    save_model(tmp_path / "faulty.onnx", **FORMS[request.param], fault=1.3)
    files_of_the_commands(tmp_path)
    return tmp_path


def words_of(line: str) -> list[str]:
    return line.replace("MODEL", "model.onnx").replace("OTHER", "faulty.onnx").replace("PYTHON", sys.executable).split()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=() if at % 3 == 0 else pytest.mark.corpus)
        for at, line in enumerate([*COMMANDS.values(), *MORE])
    ],
)
def test_a_command_takes_models_whose_weights_are_inputs_too_and_leaves_the_file_it_was_asked_for(
    polycmp, folder, line
):
    if line.startswith("debug bundle"):
        assert polycmp(*words_of("locate OTHER MODEL -b onnxrt --save-repro case")).status == 1
    done = polycmp(*words_of(line))
    faulty = line.startswith(("locate OTHER", "bisect"))
    assert done.status == (1 if faulty else 0), done.out + done.err
    for word in line.split():
        if word.startswith("OUT"):
            assert (folder / word).exists(), done.out
            check_written(folder / word)


def check_written(path: Path) -> None:
    """Have ONNX's checker look at a model, which has no weight among its inputs that is not there."""
    made = onnx.load(path) if path.suffix == ".onnx" else None
    if made is None or not all(item.raw_data for item in made.graph.initializer):  # their values were taken out
        return
    onnx.checker.check_model(made, full_check=True)
    assert {value.name for value in made.graph.input} & WEIGHTS.keys() <= {item.name for item in made.graph.initializer}


def test_no_command_is_left_out():
    wanted = set()
    for path, contribution in plugins_installed().commands.items():
        command = plugins_installed().load(contribution, contribution.spec.target)
        named = {name for item in command.params if isinstance(item, click.Argument) for name in [item.name]}
        writes = {word for item in command.params for word in item.opts} & {"-o", "--output"}
        if "model" in named or writes:
            wanted.add(path)
    assert wanted == COMMANDS.keys() | ELSEWHERE


@pytest.mark.parametrize("form", FORMS)
def test_float16_and_cleaning_up_treat_such_weights_as_weights(polycmp, tmp_path, form):
    save_model(tmp_path / "model.onnx", **FORMS[form])
    done = polycmp("convert", "model.onnx", "--fp-to-fp16", "-o", "half.onnx")
    assert "float16: 3 of 3 weights, 840 bytes to 424 bytes" in done.out
    made = {item.name: item.data_type for item in onnx.load("half.onnx").graph.initializer}
    assert [made[name] for name in "WVb"] == [TensorProto.FLOAT16] * 3
    assert polycmp("surgeon", "sanitize", "model.onnx", "--cleanup", "-o", "clean.onnx").status == 0
    clean = onnx.load("clean.onnx").graph
    assert sorted(item.name for item in clean.initializer) == ["V", "W", "b"]
    assert [value.name for value in clean.input] == ["x"]


def test_float16_warns_where_it_gains_nothing_or_cuts_numbers_off(polycmp, tmp_path):
    save_model(tmp_path / "model.onnx", 8, fed=False)
    done = polycmp("convert", "model.onnx", "--fp-to-fp16", "-o", "kept.onnx", "--keep-float", "MatMul", "Add")
    assert done.status == 0
    assert "float16: 0 of 3 weights, 840 bytes to 840 bytes" in done.out
    assert "no weight was made smaller" in done.err
    save_model(tmp_path / "large.onnx", 8, fed=False, fault=1e6)
    done = polycmp("convert", "large.onnx", "--fp-to-fp16", "-o", "cut.onnx")
    assert done.status == 0
    assert "up to 65504 only" in done.err
    assert "V (" in done.err
    assert "W (" not in done.err
    done = polycmp("convert", "model.onnx", "--fp-to-fp16", "-o", "half.onnx")
    assert "65504" not in done.err
    assert "no weight was made smaller" not in done.err


@pytest.mark.parametrize("form", FORMS)
def test_the_script_of_a_template_writes_such_a_model(polycmp, tmp_path, form):
    pytest.importorskip("onnx_graphsurgeon")
    save_model(tmp_path / "model.onnx", **FORMS[form])
    assert polycmp("template", "onnx-gs", "model.onnx", "-o", "change.py").status == 0
    subprocess.run([sys.executable, "change.py"], cwd=tmp_path, check=True, capture_output=True)
    onnx.checker.check_model(str(tmp_path / "model_updated.onnx"), full_check=True)
