"""Commands and scripts from tutorials on Polygraphy: word for word, with the program's name changed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import onnx
import pytest
from in_parts import a_few
from tutorial_folders import image_model, make_images, make_scene, script, tokens_model

from polycmp.json import load_json
from polycmp.results.files import open_inputs, open_runs

TEXT = (Path(__file__).parent / "data" / "tutorial_commands.txt").read_text()
GROUPS = [
    group for group in ([line for line in part.splitlines() if line[:1] != "#"] for part in TEXT.split("\n\n")) if group
]
IDS = [f"{number}-{group[0][12:60]}" for number, group in enumerate(GROUPS)]
#: Every fourth group; the others are the corpus's.
CHOSEN = [
    pytest.param(group, marks=() if number % 4 == 0 else pytest.mark.corpus, id=name)
    for number, (group, name) in enumerate(zip(GROUPS, IDS, strict=True))
]

without_tensorrt = pytest.mark.skipif(find_spec("tensorrt") is not None, reason="TensorRT is here, so nothing lacks it")
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


def needs_pictures():
    pytest.importorskip("cv2", reason="OpenCV is not installed")


def words_of(line: str) -> list[str]:
    program, *words = shlex.split(line)
    assert program == "polycmp"
    return words


@without_tensorrt
@pytest.mark.parametrize("group", CHOSEN)
def test_word_for_word_and_without_tensorrt_the_answer_is_which_package_is_missing(polycmp, tmp_path, group):
    if any("calibration_data.py" in line for line in group):
        needs_pictures()
    make_scene(tmp_path, "\n".join(group))
    for line in group:
        done = polycmp(*(word for word in words_of(line) if word not in {"-v", "-vv", "--verbose"}))
        text = done.out + done.err
        if "--trt" not in line:
            assert done.status == 0, text
        elif "backend-module torch" in line and find_spec("torch") is None:
            assert done.status == 3
            assert "pip install torch" in text
        elif "--gen-script" in line:
            assert done.status == 0
            assert "note: the script needs tensorrt" in text
        else:
            assert done.status == 3
            assert "'tensorrt'" in text
            assert "pip install 'polycmp-trt[" in text


#: Those that need TensorRT, but for reading what it left behind; on a GPU they are in plugins/trt/tests.
X28 = "--trt-min-shapes X:[1,2,28,28] --trt-opt-shapes X:[{0},2,28,28] --trt-max-shapes X:[{1},2,28,28]"
ENGINES = (
    "convert identity.onnx --int8 --data-loader-script ./data_loader.py --calibration-cache calib.cache -o i.engine",
    "convert identity.onnx --int8 --data-loader-script ./data_loader.py:load_data -o identity.engine",
    "convert identity.onnx --int8 --calibration-cache identity_calib.cache -o identity.engine",
    "convert identity.onnx --save-tactics replay.json -o 0.engine",
    "convert identity.onnx --load-tactics replay.json -o 1.engine",
    f"convert dynamic_identity.onnx -o dynamic_identity.engine {X28.format(1, 1)} {X28.format(4, 32)}",
    "inspect model dynamic_identity.engine",
    "debug build identity.onnx --fp16 --save-tactics replay.json --artifacts-dir replays --artifacts replay.json "
    "--until=10 --check polycmp run polycmp_debug.engine --trt --load-outputs golden.json",
)


@without_tensorrt
@pytest.mark.parametrize("line", ENGINES)
def test_tools_without_tensorrt_say_which_package_is_missing(polycmp, tmp_path, line):
    make_scene(tmp_path, "polycmp run identity.onnx dynamic_identity.onnx --data-loader-script data_loader.py")
    (tmp_path / "dynamic_identity.engine").write_bytes(b"ftrt")
    done = polycmp(*shlex.split(line))
    assert (done.status, done.err.count("pip install 'polycmp-trt[")) == (3, 1), done.out + done.err


def test_a_network_whose_function_fails_is_the_scripts_fault(polycmp, tmp_path):
    (tmp_path / "example.py").write_text("def create_network(builder, network):\n    pass\n")
    words = ("inspect", "model", "example.py", "--trt-network-func", "create_network", "--show", "layers", "attrs")
    done = polycmp(*words, "weights")
    assert (done.status, "missing 2 required positional arguments" in done.err) == (3, True), done.err
    assert "fault of polycmp" not in done.err


@pytest.mark.parametrize("line", ["inspect tactics replays/good/0.json", "inspect diff-tactics --dir replays"])
def test_replays_are_read_without_tensorrt(polycmp, tmp_path, line):
    layer = {"implementation": 1, "tactic": 2, "inputs": [], "outputs": [], "polygraphy_class": "Algorithm"}
    for folder in ("good", "bad"):
        (tmp_path / "replays" / folder).mkdir(parents=True)
    replay = {"replay": {"node_of_y": layer}, "polygraphy_class": "TacticReplayData"}
    (tmp_path / "replays" / "good" / "0.json").write_text(json.dumps(replay))
    done = polycmp(*shlex.split(line))
    assert done.status == 0, done.out + done.err
    assert "node_of_y" in done.out or "no tactic is used by bad engines only" in done.out


@pytest.mark.parametrize("words", [("debug", "-h"), ("debug", "build", "-h")])
def test_help_by_its_short_name(polycmp, words):
    assert (polycmp(*words).status, "Usage: polycmp debug" in polycmp(*words).out) == (0, True)


def test_a_script_that_imports_what_is_absent_is_told_so_and_polygraphy_is_answered(polycmp, tmp_path):
    make_scene(tmp_path, "polycmp run identity.onnx")
    (tmp_path / "load.py").write_text("from polygraphy_is_not_here import x\n")
    assert "next: python load.py" in polycmp("run", "identity.onnx", "--onnxrt", "--data-loader-script", "load.py").err
    if find_spec("polygraphy") is None:
        (tmp_path / "load.py").write_text("from polygraphy.backend.trt import CreateConfig\n")
        done = polycmp("run", "identity.onnx", "--onnxrt", "--data-loader-script", "load.py")
        assert (done.status, "has no 'load_data'" in done.err) == (3, True), done.err


@pytest.mark.parametrize("group", CHOSEN)
def test_everything_but_tensorrt_works(polycmp, tmp_path, group):
    """With the reference evaluator in TensorRT's place; TensorRT's own options then have nobody to use them."""
    if any("calibration_data.py" in line for line in group):
        needs_pictures()
    make_scene(tmp_path, "\n".join(group))
    for line in group:
        words = words_of(line)
        if ".engine" in words[1]:
            continue
        if "torch" in words and find_spec("torch") is None:
            pytest.skip("torch is not installed")
        there = "--onnx" in words
        words = ["--onnx" if word == "--trt" else word for word in words if not (there and word == "--trt")]
        done = polycmp(*("5" if word == "100" else word for word in words))
        assert done.status == 0, line + done.out + done.err
        check_files(line, words)


def check_files(line: str, words: list[str]) -> None:
    """Check what a command was to write."""
    for flag in ("--save-outputs", "--save-inputs"):
        if flag in words:
            path = words[words.index(flag) + 1]
            assert list(open_runs(path) if flag == "--save-outputs" else open_inputs([path])), line
    if "--gen-script" in words:
        compile(Path("debug_comparison.py").read_text(), "debug_comparison.py", "exec")
    if "--log-file" in words and "-v" in line:
        assert Path("debug.log").stat().st_size > 0
    if "--save-heatmaps" in words:
        assert sorted(item.name for item in Path().iterdir()).count("error_analysis") == 1
        assert list(Path("plots").iterdir())


def test_a_loop_over_precisions_in_a_shell(tmp_path):
    shell = shutil.which("bash") or pytest.skip("no bash")
    make_scene(tmp_path, "polycmp run model.onnx")
    loop = """
    for precision in fp32 fp16; do
        polycmp run model.onnx --onnxrt --onnx --$precision \\
          --save-outputs "results/model_${precision}.json" \\
          --rtol 1e-3 --atol 1e-3 || exit
    done
    polycmp run model.onnx \\
      --load-outputs results/model_fp32.json results/model_fp16.json \\
      --compare simple --rtol 1e-2
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [shell, "-c", loop], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED: 3 outputs" in done.stdout


def test_shapes_of_one_input_take_turns(polycmp, tmp_path):
    onnx.save(image_model(), tmp_path / "model.onnx")
    shapes = ["--input-shapes", "input:[2,3,224,224]", "input:[6,3,224,224]"]
    polycmp("run", "model.onnx", "--onnxrt", *shapes, "--iterations", 5, "--save-inputs", "five.json")
    polycmp("run", "model.onnx", "--onnxrt", *shapes, "--save-inputs", "two.json")
    assert [feed["input"].shape[0] for feed in load_json("five.json")] == [2, 6, 2, 6, 2]
    assert [feed["input"].shape[0] for feed in load_json("two.json")] == [2, 6]


@pytest.mark.parametrize(
    ("name", "iterations"),
    [
        ("data_loader.py", 10),
        ("real_data_loader.py", 2),
        pytest.param("multi_input_loader.py", 10, marks=needs_torch),
        ("calibration_data.py", 2),
        ("dynamic_shape_loader.py", 4),
    ],
)
def test_data_loader_scripts_run_unchanged(polycmp, tmp_path, name, iterations):
    if "cv2" in script(name):
        needs_pictures()
        make_images(tmp_path / "test_images")
        make_images(tmp_path / "calibration_images")
    onnx.save(tokens_model() if "input_ids" in script(name) else image_model(), tmp_path / "model.onnx")
    (tmp_path / name).write_text(script(name))
    done = polycmp(
        "run", "model.onnx", "--onnxrt", "--onnx", "--data-loader-script", name, "--save-inputs", "saved", "-v"
    )
    assert done.status == 0, done.out + done.err
    assert len(list(open_inputs(["saved"]))) == iterations


@pytest.mark.parametrize("line", a_few([group[0] for group in GROUPS if "--trt" in group[0]][4:8]))
def test_with_the_plugin_switched_off_the_answer_is_how_to_switch_it_on(tmp_path, line):
    make_scene(tmp_path, line)
    done = subprocess.run(
        [sys.executable, "-m", "polycmp", *words_of(line)],
        cwd=tmp_path,
        env={**os.environ, "POLYCMP_PLUGINS": "onnx,onnxrt"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "unset POLYCMP_PLUGINS, or add trt to it" in done.stderr
