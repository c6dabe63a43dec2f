"""`--gen-script`, `--config` and `--write-config`: a run in other words gives the same result."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from copied_processes import script_copied

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class TestScript:
    @pytest.mark.parametrize(
        "words",
        [
            ("-b", "onnxrt:threads=1,optimization=off", "-b", "onnxrt", "--iterations", 3, "--seed", 7),
            ("-b", "onnxrt", "-b", "onnx", "--postprocess", "y:top-3", "--compare", "indices", "--validate"),
            ("-b", "onnxrt", "-b", "onnxrt:model=other.onnx"),
            ("-b", "onnxrt", "-b", "onnxrt:op_libs=/nowhere.so"),
            ("-b", "onnxrt", "-b", "onnxrt:name=x\n__import__('os')._exit(9)\n#"),
            *(
                pytest.param(words, marks=pytest.mark.corpus)
                for words in (
                    ("-b", "onnxrt", "-b", "onnx"),
                    ("-b", "onnxrt", "-b", "onnx", "--onnx-outputs", "*", "--input-shapes", "x:[3,8]"),
                    ("-b", "onnxrt", "-b", "onnx", "--compare", "l2", "cosine_similarity", "--l2-threshold", "1e-4"),
                    ("-b", "onnxrt", "-b", "onnx", "--fp-to-fp16", "--atol", "0.01"),
                    ("-b", "onnxrt", "-b", "pluginref", "--sequential-runners", "--warm-up", 1),
                )
            ),
        ],
    )
    def test_has_the_same_exit_status_as_the_command(self, polycmp, model, other, tmp_path, words):
        command = polycmp("run", model, *words)
        written = polycmp("run", model, *words, "--gen-script", "compare.py")
        assert written.status == 0, written.err
        assert not written.out
        script = script_copied("compare.py", tmp_path)
        assert script.returncode == command.status, script.stderr
        assert "Traceback" not in script.stderr

    def test_is_made_of_the_loaders_people_know(self, polycmp, model):
        done = polycmp("run", model, "--onnxrt", "--onnx", "--onnx-outputs", "r", "--gen-script", "-")
        assert "SessionFromOnnx(ModifyOutputs(OnnxFromPath(" in done.out
        assert "from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx" in done.out
        assert done.out.startswith("#!/usr/bin/env python3\n")

    def test_is_executable_and_well_formed(self, polycmp, model, tmp_path):
        polycmp("run", model, "--onnxrt", "--onnx", "--gen-script", "compare.py")
        assert (tmp_path / "compare.py").stat().st_mode & 0o111
        check = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E9,F", "compare.py"]
        assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0

    def test_saves_what_the_command_saves(self, polycmp, model, tmp_path):
        words = ("run", model, "--onnxrt", "--onnx", "--iterations", 2)
        polycmp(*words, "--save-outputs", "command.json", "--save-inputs", "in.json")
        polycmp(*words, "--save-outputs", "script.json", "--save-inputs", "in2.json", "--gen-script", "compare.py")
        assert script_copied("compare.py", tmp_path).returncode == 0
        assert (tmp_path / "in.json").read_bytes() == (tmp_path / "in2.json").read_bytes()
        saved = json.loads((tmp_path / "command.json").read_text())["lst"]
        again = json.loads((tmp_path / "script.json").read_text())["lst"]
        assert [label for label, _ in again] == ["onnxrt", "onnx"]
        for (_, first), (_, second) in zip(saved, again, strict=True):
            assert [item["outputs"] for item in first] == [item["outputs"] for item in second]
            assert len(first) == 2

    @pytest.mark.parametrize(
        "words",
        [
            ("--data-loader", "stress"),
            ("--check-average", "--check-error-stat", "max"),
            ("--report", "r.json"),
            ("--save-input-blob",),
            ("--save-heatmaps", "maps"),
        ],
    )
    def test_refuses_what_a_script_cannot_say(self, polycmp, model, words):
        done = polycmp("run", model, "--onnxrt", "--gen-script", "-", *words)
        assert (done.status, done.out) == (2, "")
        assert "--gen-script" in done.err


class TestRunFile:
    def test_repeats_the_run(self, polycmp, model, other):
        words = ("-b", f"onnxrt:model={other}", "-b", "onnxrt:threads=1", "--input-shapes", "x:[2,8]", "--seed", 5)
        first = polycmp("run", model, *words, "--rtol", "1e-3", "--fail-fast", "--write-config", "run.toml")
        again = polycmp("run", "--config", "run.toml")
        assert first.status == again.status == 1
        assert "float32[2,8]" in again.out

    def test_says_the_same_as_the_command_line_and_the_command_line_wins(self, polycmp, model, tmp_path):
        (tmp_path / "run.toml").write_text(
            f'model = "{model}"\nbackend = ["onnxrt", "onnx"]\ninput-shapes = ["x:[2,8]"]\n'
            "onnxrt-threads = 1\nvalidate = true\nval-range = '[-1, 1]'\n[atol]\ny = 1e-3\n"
        )
        done = polycmp("run", "--config", "run.toml")
        assert (done.status, "float32[2,8]" in done.out) == (0, True)
        over = polycmp("run", "--config", "run.toml", "--input-shapes", "x:[7,8]", "-b", "onnx")
        assert (over.status, "float32[7,8]" in over.out, "there was no second run" in over.out) == (0, False, True)

    def test_holds_values_of_the_types_of_their_options(self, polycmp, model, tmp_path):
        words = ("-b", "onnxrt:threads=1,name='a, b'", "-b", "onnx", "--iterations", 3, "--atol", "y:1e-3", "--silent")
        first = polycmp("run", model, *words, "--input-shapes", "x:[2,8]", "x:[3,8]", "--write-config", "run.toml")
        content = tomllib.loads((tmp_path / "run.toml").read_text())
        assert content == {
            "model": str(model),
            "backend": [{"backend": "onnxrt", "name": "a, b", "options": {"threads": 1}}, "onnx"],
            "input-shapes": ["x:[2,8]", "x:[3,8]"],
            "iterations": 3,
            "atol": {"y": 1e-3},
            "silent": True,
        }
        again = polycmp("run", "--config", "run.toml", "--report", "again.json")
        assert (first.status, again.status) == (0, 0)
        assert list(again.report(tmp_path / "again.json")["inference_results"]) == ["a, b", "onnx"]

    def test_the_command_line_wins_over_options_of_the_file_s_backends(self, polycmp, model, tmp_path):
        polycmp("run", model, "-b", "onnxrt:threads=1", "--write-config", "run.toml")
        polycmp("run", "--config", "run.toml", "--onnxrt-threads", 2, "--write-config", "two.toml")
        [backend] = tomllib.loads((tmp_path / "two.toml").read_text())["backend"]
        assert backend["options"] == {"threads": 2}

    @pytest.mark.parametrize("name", ["a b'.onnx", 'x"[1,2].onnx', "ü\n.onnx", "back\\slash,=.onnx", "-m.onnx"])
    def test_repeats_models_of_any_name(self, polycmp, model, tmp_path, name):
        model.rename(tmp_path / name)
        assert polycmp("run", "-b", "onnxrt", "-b", "onnx", "--write-config", "run.toml", "--", name).status == 0
        assert polycmp("run", "--config", "run.toml").status == 0

    @pytest.mark.parametrize(
        ("text", "status", "words"),
        [
            ("backend = [{name = 'x'}]", 2, "is not a backend"),
            ("backend = [{backend = 'onnx', option = {}}]", 2, "did you mean 'options'"),
            ("backend = [{backend = 'onnx', options = {dtyp = 'x'}}]", 2, "did you mean 'dtype'"),
            ("backend = [{backend = 'onnxrt', options = {threads = 'x'}}]", 2, "whole number"),
            ("backend = [{backend = 'onnx', name = 3}]", 2, "are texts"),
            ("backend = ['onnx']\natol = {y = {z = 1}}", 2, "not a value of 'atol'"),
            ("backend = [", 3, "not valid TOML"),
            ("bakcend = ['onnx']", 2, "did you mean 'backend'"),
            ("backend = [1]", 2, "list of texts"),
            ("backend = ['onnx']\nseed = 'abc'", 2, "whole number"),
            ("backend = ['onnx']\nseed = [1, 2]", 2, "takes one value"),
        ],
    )
    def test_that_is_wrong_says_so(self, polycmp, model, tmp_path, text, status, words):
        (tmp_path / "run.toml").write_text(text)
        done = polycmp("run", model, "--config", "run.toml")
        assert done.status == status
        assert words in done.err
        assert "run.toml" in done.err or "seed" in done.err

    def test_that_is_missing_says_so(self, polycmp, model):
        done = polycmp("run", model, "--config", "nowhere.toml")
        assert (done.status, "nowhere.toml" in done.err) == (3, True)
