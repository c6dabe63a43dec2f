"""Command lines of people who come from Polygraphy: names of files, weights outside, options in other places."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from polycmp.errors import FileError
from polycmp.json import load_json, save_json
from polycmp.plugins.known import not_found
from polycmp.results.files import open_runs


@pytest.mark.parametrize("name", ["golden.out", "golden.v2", "golden.txt", "golden.JSON"])
def test_a_suffix_that_says_nothing_means_json(polycmp, workshop, name):
    assert polycmp("run", "model.onnx", "--onnxrt", "--save-outputs", name).status == 0
    assert json.loads((workshop / name).read_text())["polygraphy_class"] == "RunResults"
    done = polycmp("run", "model.onnx", "--onnxrt", "--load-outputs", name)
    assert done.status == 0, done.err
    assert "1 output within tolerance" in done.out


@pytest.mark.parametrize("name", ["in.txt", "inputs_without_suffix", "in.npz", "in.safetensors"])
def test_json_is_read_under_any_name(polycmp, workshop, name):
    (workshop / "inputs.json").rename(workshop / name)
    done = polycmp("run", "model.onnx", "--onnxrt", "--load-inputs", name)
    assert done.status == 0, done.out + done.err


@pytest.mark.parametrize("name", ["golden.onnx", "golden.nzp", "golden.safetensor"])
def test_the_suffix_of_something_else_is_no_name_for_json(polycmp, workshop, name):
    done = polycmp("run", "model.onnx", "--onnxrt", "--save-outputs", name)
    assert done.status == 2
    assert not (workshop / name).exists()


@pytest.mark.parametrize("name", ["golden.josn", "golden.jsn"])
def test_a_slip_for_json_is_json(polycmp, workshop, name):
    assert polycmp("run", "model.onnx", "--onnxrt", "--save-outputs", name).status == 0
    assert polycmp("run", "model.onnx", "--onnxrt", "--load-outputs", name).status == 0


def test_what_is_not_json_is_not_read_as_such(polycmp, workshop):
    (workshop / "golden.out").write_bytes(b"\x00\x01\x02")
    done = polycmp("run", "model.onnx", "--onnxrt", "--load-outputs", "golden.out")
    assert done.status == 3
    assert "unknown type of file '.out'" in done.err


def test_archives_are_still_told_by_their_suffix(polycmp, workshop):
    assert polycmp("run", "model.onnx", "--onnxrt", "--save-outputs", "golden.npz").status == 0
    assert [run.label for run in open_runs(workshop / "golden.npz")] == ["onnxrt"]


@pytest.mark.parametrize("target", ["out.onnx", "sub/out.onnx"])
def test_weights_outside_are_replaced_where_the_model_lies(polycmp, workshop, target):
    (workshop / "out.data").write_bytes(b"somebody else's")
    words = ["--save-onnx", target, "--save-external-data", "out.data", "--external-data-size-threshold", "0"]
    for _ in range(2):
        done = polycmp("run", "model.onnx", "--onnxrt", *words)
        assert done.status == 0, done.out + done.err
    weights = (workshop / target).parent / "out.data"
    assert weights.read_bytes() != b"somebody else's"
    if target.startswith("sub"):
        assert (workshop / "out.data").read_bytes() == b"somebody else's"
    assert polycmp("run", target, "--onnxrt", "--onnx").status == 0
    outside = onnx.load(workshop / target, load_external_data=False).graph.initializer
    places = {entry.value for item in outside for entry in item.external_data if entry.key == "location"}
    assert places == {"out.data"}


def test_convert_with_weights_outside_twice(polycmp, workshop):
    words = ["-o", "out.onnx", "--save-external-data", "out.data", "--external-data-size-threshold", "0"]
    for _ in range(2):
        done = polycmp("convert", "model.onnx", *words)
        assert done.status == 0, done.out + done.err
    assert (workshop / "out.data").stat().st_size > 0
    assert polycmp("run", "out.onnx", "--onnxrt", "--onnx").status == 0


def test_a_range_that_is_no_number_is_called_so(polycmp, workshop):
    done = polycmp("run", "model.onnx", "--onnxrt", "--val-range", "[nan,0]")
    assert done.status == 2
    assert "not a number (nan)" in done.err
    assert "lies above" not in done.err


def test_marking_all_of_nothing_leaves_the_outputs(polycmp, tmp_path):
    constant = helper.make_node("Constant", [], ["c"], value_float=1.0)
    graph = helper.make_graph([constant], "g", [], [helper.make_tensor_value_info("c", TensorProto.FLOAT, [])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "none.onnx")
    words = ("run", "none.onnx", "--onnxrt", "--onnx-outputs", "mark", "all")
    assert polycmp(*words).status == 0
    done = polycmp(*words, "--onnx-exclude-outputs", "c")
    assert (done.status, "no output is left" in done.out + done.err) == (2, True)


@pytest.mark.parametrize("flag", ["--fp16", "--int8", "--workspace", "--save-engine", "--tactic-sources"])
@pytest.mark.parametrize("command", ["run", "convert"])
def test_an_option_that_nobody_has_names_the_backends_that_are_not_there(polycmp, workshop, monkeypatch, flag, command):
    monkeypatch.setenv("POLYCMP_PLUGINS", "onnx,onnxrt")
    words = ["--onnxrt"] if command == "run" else ["-o", "out.onnx"]
    done = polycmp(command, "model.onnx", *words, flag)
    assert done.status == 2
    assert f"there is no option {flag}" in done.err
    named = done.err.partition("not available here: ")[2].splitlines()[0].split(", ")
    assert named == sorted(named)
    assert {"openvino", "pluginref", "tf", "torch", "trt"} <= set(named)
    assert not {"onnx", "onnxrt"} & set(named)
    assert "Did you mean" not in done.err


def test_a_backend_that_was_asked_for_explains_options_that_nobody_has(polycmp, workshop, monkeypatch):
    monkeypatch.setenv("POLYCMP_PLUGINS", "onnx,onnxrt")
    done = polycmp("run", "model.onnx", "--fp16", "-b", "trt")
    assert done.status == 3
    assert "the backend 'trt' is not available" in done.err


def test_a_slip_of_the_fingers_is_answered_with_the_option_that_is_meant(polycmp, workshop, monkeypatch):
    monkeypatch.setenv("POLYCMP_PLUGINS", "onnx,onnxrt")
    done = polycmp("run", "model.onnx", "--onnxrt", "--itertions", "2")
    assert done.status == 2
    assert "--iterations" in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run model.onnx --onnxrt --onnx --log-file sub/a.log", ("PASSED: 1 output", "within tolerance", "1.49e-08")),
        ("run missing.onnx --onnxrt --log-file sub/a.log", ("no such model file",)),
        ("inspect data golden.json --log-file sub/a.log", ("Outputs of",)),
        ("inspect --log-file sub/a.log --silent data golden.json", ("Outputs of",)),
        ("inspect model model.onnx --log-file sub/a.log --show layers", ("Name: small",)),
        ("data concat inputs.json inputs.json -o all.json --log-file sub/a.log", ("wrote all.json",)),
        ("surgeon --log-file sub/a.log sanitize model.onnx -o out.onnx", ("wrote out.onnx",)),
        ("check --log-file sub/a.log lint model.onnx", ("nothing found",)),
        ("plugins list --log-file sub/a.log", ("onnxrt",)),
        ("plugins check onnxrt --log-file sub/a.log", ("onnxrt", ": ok")),
    ],
)
def test_a_log_file_holds_what_is_printed_and_the_terminal_shows_the_same_as_without(polycmp, workshop, line, said):
    done = polycmp(*line.split())
    log = (workshop / "sub" / "a.log").read_text()
    for text in said:
        assert text in log
    for text in said[:1]:
        assert (done.out + done.err).count(text) == log.count(text)


def test_a_log_file_holds_every_row_and_the_verdict_of_a_failure(polycmp, workshop):
    done = polycmp("run", "model.onnx", "-b", "onnxrt", "-b", "onnxrt:model=other.onnx", "--log-file", "a.log")
    log = (workshop / "a.log").read_text()
    assert done.status == 1
    assert done.out.strip().splitlines()[-1] == log.strip().splitlines()[-1]
    assert "FAIL" in log
    assert "\x1b" not in log
    polycmp("inspect", "data", "golden.json")
    assert (workshop / "a.log").read_text() == log


ABOUT_MESSAGES = ["-v", "-vv", "-q", "--silent", "--verbosity INFO", "--log-format no-colors", "--log-file a.log"]
OF_GROUPS = [
    "inspect | model | model.onnx",
    "inspect | data | golden.json",
    "inspect | sparsity | model.onnx",
    "check | lint | model.onnx",
    "surgeon | sanitize | model.onnx -o out.onnx",
    "data | concat | inputs.json inputs.json -o all.json",
    "plugins | list |",
]
#: Each command with one of the options; the others are the corpus's.
CHOSEN = {*zip(OF_GROUPS, ABOUT_MESSAGES, strict=True)}


@pytest.mark.parametrize(
    ("line", "options"),
    [
        pytest.param(*pair, marks=() if pair in CHOSEN else pytest.mark.corpus)
        for pair in product(OF_GROUPS, ABOUT_MESSAGES)
    ],
)
def test_options_of_messages_stand_before_and_behind_the_last_word_of_a_command(polycmp, workshop, line, options):
    group, command, rest = (part.split() for part in line.split("|"))
    before = polycmp(*group, *options.split(), *command, *rest)
    behind = polycmp(*group, *command, *rest, *options.split())
    assert (before.status, behind.status) == (0, 0), before.err + behind.err
    assert before.out == behind.out


def test_an_unknown_option_before_the_command_is_still_wrong(polycmp):
    done = polycmp("inspect", "-x", "model", "model.onnx")
    assert done.status == 2
    assert "-x" in done.err


@pytest.mark.parametrize("options", ABOUT_MESSAGES)
def test_commands_on_tactics_take_options_of_messages(polycmp, tmp_path, options):
    (tmp_path / "replay.json").write_text('{"polygraphy_class": "TacticReplayData", "replay": {}}')
    done = polycmp("inspect", "tactics", "replay.json", *options.split())
    assert done.status == 0, done.err
    assert "0 layers in replay.json" in done.out


def test_reading_a_tactic_replay_as_other_json_names_what_reads_it(tmp_path):
    path = tmp_path / "replay.json"
    path.write_text('{"polygraphy_class": "TacticReplayData", "replay": {}}')
    with pytest.raises(FileError) as caught:
        load_json(path)
    assert "TacticReplayData.load" in caught.value.hint
    assert "polycmp inspect tactics" in caught.value.hint


def test_inputs_of_other_names_are_mapped_and_never_guessed(polycmp, workshop):
    save_json([{"X": np.ones((2, 8), np.float32)}], workshop / "other_names.json")
    words = ["run", "model.onnx", "--onnxrt", "--onnx", "--load-inputs", "other_names.json"]
    assert polycmp(*words).status == 3
    done = polycmp(*words, "--map-input", "X=x")
    assert done.status == 0, done.out + done.err
    assert "1 output within tolerance" in done.out
    wrong = polycmp(*words, "--map-input", "Y=x")
    assert wrong.status != 0
    assert "there is no input 'Y'" in wrong.out + wrong.err
    assert polycmp("run", "model.onnx", "--onnxrt", "--map-input", "X=x").status == 2
    assert polycmp(*words, "--map-input", "X").status == 2


@pytest.mark.parametrize("source", ["--load-inputs other_names.json", "--data-loader-script other.py"])
def test_the_names_of_inputs_are_kept_in_run_files_and_scripts(polycmp, workshop, source):
    save_json([{"X": np.ones((2, 8), np.float32)}], workshop / "other_names.json")
    (workshop / "other.py").write_text(
        "import numpy as np\n\n\ndef load_data():\n    return [{'X': np.ones((2, 8), np.float32)}]\n"
    )
    words = ["run", "model.onnx", "--onnxrt", "--onnx", *source.split(), "--map-input", "X=x"]
    assert polycmp(*words, "--write-config", "run.toml").status == 0
    assert polycmp("run", "--config", "run.toml").status == 0
    assert polycmp(*words, "--gen-script", "same.py").status == 0
    done = subprocess.run([sys.executable, "same.py"], capture_output=True, text=True, cwd=workshop, check=False)
    assert done.returncode == 0, done.stderr


def test_a_file_that_another_package_reads_names_that_package():
    error = not_found("format", "pt", {}, (), {})
    assert error.exit_code == 2
    assert error.parts()[0].startswith("unknown type of file '.pt'")
    assert error.hint == "pip install 'polycmp-torch[torch]'"
