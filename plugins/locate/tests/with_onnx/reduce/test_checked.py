"""`--check COMMAND …`, in `debug reduce` and `debug repeat`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import faulty_models
import numpy as np
import onnx
import pytest
from faulty_models import branches, layers, operators
from onnx import helper, numpy_helper
from step_checks import COUNT, operator_in_file, save_check

PYTHON = sys.executable
#: A program that ends with status 0 where reading a file changes the time of its last access.
KEEPS_ACCESS_TIMES = """\
import os, sys
open("probe", "wb").write(b"1")
os.utime("probe", (315532800, os.stat("probe").st_mtime))
open("probe", "rb").read()
sys.exit(os.stat("probe").st_atime == 315532800)
"""
#: Ways to search; one after the other takes the same steps, and more of them.
MODES = ["bisect", pytest.param("linear", marks=pytest.mark.corpus)]
VALIDATE = ("polycmp", "run", "polycmp_debug.onnx", "-b", "onnxrt", "--validate")


def spoilt(path, count, at):
    """A chain in which one convolution has a weight that is no number."""
    layers(path, count)
    model = onnx.load(path)
    weight = next(item for item in model.graph.initializer if item.name == f"w{at}")
    values = numpy_helper.to_array(weight).copy()
    values[0, 0] = np.nan
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    onnx.save(model, path)
    return path


def heavy(path):
    """Three products with matrices of 4 MB, the second of which holds a number that is none."""
    weights = {name: np.full((1024, 1024), 1e-3, np.float32) for name in ("w1", "w2", "w3")}
    weights["w2"][0, 0] = np.nan
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="n1"),
        helper.make_node("MatMul", ["a", "w2"], ["b"], name="n2"),
        helper.make_node("MatMul", ["b", "w3"], ["y"], name="n3"),
    ]
    return faulty_models.save(path, nodes, [2, 1024], weights)


def script(path, text):
    Path(path).write_text(text)
    return path


#: Says how many operators a check was shown.
TELLS = f"{COUNT}\necho looked at $names"


def fails_with(name, before=""):
    """Write a check that fails with status 7 on models that have an operator; return the command without the file."""
    return save_check("check.sh", operator_in_file(name), there=7, before=before)


class TestReduce:
    @pytest.mark.parametrize("mode", MODES)
    def test_a_polycmp_command(self, polycmp, tmp_path, mode):
        spoilt(tmp_path / "chain.onnx", 12, 7)
        words = ("--mode", mode, "--report", "found.json", "--min-good", "ok.onnx", "--save-repro", "case")
        done = polycmp("debug", "reduce", "chain.onnx", *words, "--check", *VALIDATE)
        assert done.status == 0, done.out + done.err
        assert operators("chain_reduced.onnx") == ["n7"]
        assert operators("ok.onnx") == ["n6"]
        assert "did not show the fault" not in done.out
        assert not Path("polycmp_debug.onnx").exists()

    def test_any_command(self, polycmp, tmp_path):
        branches(tmp_path / "model.onnx")
        done = polycmp("debug", "reduce", "model.onnx", "--check", *fails_with("right2", TELLS), "polycmp_debug.onnx")
        assert (done.status, operators("model_reduced.onnx")) == (0, ["right2"]), done.out + done.err
        assert "looked at 7" in done.err
        assert "looked at 1" in done.err

    def test_a_part_that_ends_otherwise_has_another_fault(self, polycmp, tmp_path):
        """The fault is a status of 7; small parts end with 3, which is another one."""
        layers(tmp_path / "chain.onnx", 8)
        small = f"{COUNT}\nif [ $names -lt 3 ]; then exit 3; fi"
        words = ("--check", *fails_with("n5", small), "polycmp_debug.onnx")
        polycmp("debug", "reduce", "chain.onnx", *words)
        assert len(operators("chain_reduced.onnx")) == 3
        polycmp("debug", "reduce", "chain.onnx", "--fail-code", "3", "7", *words)
        assert len(operators("chain_reduced.onnx")) == 1

    @pytest.mark.parametrize(
        ("words", "reduced"),
        [
            (("--fail-code", "7"), True),
            (("--fail-returncode", "1"), False),
            (("--ignore-fail-code", "7"), False),
            (("--fail-regex", "looked at [1-9]"), True),
            (("--fail-regex", "nothing like that"), False),
            (("--fail-regex", "looked", "--fail-code", "1"), False),
        ],
    )
    def test_what_counts_as_a_failure(self, polycmp, tmp_path, words, reduced):
        layers(tmp_path / "chain.onnx", 4)
        words = (*words, "--check", *fails_with("n3", TELLS), "polycmp_debug.onnx")
        done = polycmp("debug", "reduce", "chain.onnx", *words)
        assert done.status == 0
        assert ("FOUND" in done.out, Path("chain_reduced.onnx").exists()) == (reduced, reduced)

    @pytest.mark.parametrize("options", [("-v",), ("--log-format", "no-colors", "timestamp"), ("--log-file", "a.log")])
    def test_options_of_messages_before_the_command_are_not_the_checks(self, polycmp, tmp_path, options):
        layers(tmp_path / "chain.onnx", 3)
        check = (*fails_with("n3"), "polycmp_debug.onnx", "--words")
        done = polycmp("debug", *options, "reduce", "chain.onnx", "-o", "small.onnx", "--check", *check)
        assert done.status == 0, done.out + done.err
        assert operators("small.onnx") == ["n3"]

    @pytest.mark.parametrize("mode", MODES)
    def test_a_model_without_inputs(self, polycmp, tmp_path, mode):
        constant = numpy_helper.from_array(np.ones((2, 2), np.float32))
        nodes = [
            helper.make_node("Constant", [], ["c"], name="constant", value=constant),
            *(helper.make_node("Neg", [a], [b], name=f"n{b}") for a, b in ("c1", "12", "2y")),
        ]
        graph = helper.make_graph(nodes, "net", [], [helper.make_tensor_value_info("y", 1, [2, 2])])
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), "none.onnx")
        words = ("--mode", mode, "--no-shape-inference", "--minimal-good", "good.onnx", "-o", "small.onnx")
        done = polycmp("debug", "reduce", "none.onnx", *words, "--check", *fails_with("n2"), "polycmp_debug.onnx")
        assert done.status == 0, done.out + done.err
        assert operators("small.onnx") == ["n2"]
        assert "--no-shape-inference has no effect" in done.err

    def test_another_name_for_the_file_between_and_the_number_of_the_step(self, polycmp, tmp_path):
        layers(tmp_path / "chain.onnx", 4)
        words = ("--iter-artifact", "between.onnx", "--iter-info", "step.json", "--no-remove-intermediate")
        done = polycmp("debug", "reduce", "chain.onnx", *words, "--check", *fails_with("n3"), "between.onnx")
        assert done.status == 0
        assert Path("between.onnx").exists()
        assert json.loads(Path("step.json").read_text())["iteration"] >= 2

    @pytest.mark.parametrize("name", ["polygraphy_debug.onnx", "part.onnx"])
    def test_the_name_that_the_check_gives_the_file(self, polycmp, tmp_path, name):
        """Tutorials write `polygraphy_debug.onnx`; under another name each step would fail, for want of the file."""
        spoilt(tmp_path / "chain.onnx", 4, 3)
        layers(tmp_path / "sound.onnx", 4)
        check = ("--check", "polycmp", "run", name, "-b", "onnxrt", "--validate")
        assert "NO FAULT" in polycmp("debug", "reduce", "sound.onnx", *check).out
        polycmp("debug", "reduce", "chain.onnx", *check)
        assert operators("chain_reduced.onnx") == ["n3"]
        assert not Path(name).exists()

    @pytest.mark.parametrize("name", ["polygraphy_debug.onnx", "polycmp_debug.onnx"])
    def test_a_name_in_a_script_that_the_check_runs(self, polycmp, tmp_path, name):
        layers(tmp_path / "chain.onnx", 3)
        script("look.sh", f"#!/bin/sh\nset -e\n{' '.join(fails_with('n3'))} '{name}'\n")
        done = polycmp("debug", "reduce", "chain.onnx", "-o", "small.onnx", "--check", "sh", "./look.sh")
        assert done.status == 0, done.out + done.err
        assert operators("small.onnx") == ["n3"]

    def test_a_name_inside_a_word(self, polycmp, tmp_path):
        layers(tmp_path / "chain.onnx", 4)
        command = f"{' '.join(fails_with('n3'))} ./polygraphy_debug.onnx"
        polycmp("debug", "reduce", "chain.onnx", "--check", "sh", "-c", command)
        assert operators("chain_reduced.onnx") == ["n3"]

    @pytest.mark.parametrize("status", [0, 1])
    @pytest.mark.parametrize("words", [("chain.onnx",), ("one.onnx", "two.onnx")])
    def test_a_check_that_does_not_read_the_file_says_nothing_of_it(self, polycmp, tmp_path, status, words):
        layers(tmp_path / "chain.onnx", 4)
        script("check.sh", f"echo took $$\nexit {status}\n")
        done = polycmp("debug", "reduce", "chain.onnx", "--check", "sh", "check.sh", *words)
        assert done.status == 2
        assert "--check: the command does not read polycmp_debug.onnx" in done.err
        assert "--iter-artifact FILE" in done.err
        assert [path.name for path in Path().glob("*.onnx")] == ["chain.onnx"]

    def test_a_silent_check_that_fails_without_the_file_too(self, polycmp, tmp_path):
        """It reads the file; that it answers alike without it only says that it then fails, too."""
        layers(tmp_path / "chain.onnx", 4)
        script("check.sh", "cat $1 > /dev/null 2>&1\nexit 1\n")
        done = polycmp("debug", "reduce", "chain.onnx", "--check", "sh", "check.sh", "polycmp_debug.onnx")
        kept = subprocess.run([PYTHON, "-c", KEEPS_ACCESS_TIMES], cwd=tmp_path, check=False).returncode == 0
        assert done.status == (0 if kept else 2)

    def test_a_file_that_no_step_writes(self, polycmp, tmp_path):
        layers(tmp_path / "chain.onnx", 4)
        check = ("--check", "polycmp", "run", "polygraphy_debug.engine", "--trt")
        for command in ("reduce", "precision"):
            done = polycmp("debug", command, "chain.onnx", *check)
            assert done.status == 2
            assert "no step writes a .engine file" in done.err

    def test_a_file_of_the_user_is_not_overwritten(self, polycmp, tmp_path):
        layers(tmp_path / "chain.onnx", 4)
        Path("polycmp_debug.onnx").write_text("mine")
        done = polycmp("debug", "reduce", "chain.onnx", "--check", *VALIDATE)
        assert (done.status, Path("polycmp_debug.onnx").read_text()) == (2, "mine")

    def test_shapes_from_running_the_model(self, polycmp, tmp_path):
        branches(tmp_path / "model.onnx")
        words = ("--force-fallback-shape-inference", "--model-input-shapes", "x:[5,8]")
        polycmp("debug", "reduce", "model.onnx", *words, "--check", *fails_with("right2"), "polycmp_debug.onnx")
        model = onnx.load("model_reduced.onnx")
        assert [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim] == [5, 8]

    def test_a_check_that_is_killed(self, polycmp, tmp_path):
        layers(tmp_path / "chain.onnx", 6)
        fails_with("n3")
        script("killed.sh", "sh check.sh $1 || kill -9 $$\n")
        polycmp("debug", "reduce", "chain.onnx", "--check", "sh", "killed.sh", "polycmp_debug.onnx")
        assert operators("chain_reduced.onnx") == ["n3"]

    def test_a_polycmp_command_that_is_killed(self, polycmp, tmp_path):
        """Its process is gone with it, and the next step gets another one."""
        layers(tmp_path / "chain.onnx", 3)
        script(
            "killing.py",
            "import onnx, os\n"
            "def load_data():\n"
            "    nodes = onnx.load('polycmp_debug.onnx').graph.node\n"
            "    if 'n2' in [node.name for node in nodes]: os.kill(os.getpid(), 9)\n"
            "    return []\n",
        )
        words = ("run", "polycmp_debug.onnx", "-b", "onnxrt", "--data-loader-script", "killing.py")
        done = polycmp("debug", "reduce", "chain.onnx", "--fail-code=-9", "--check", "polycmp", *words)
        assert done.status == 0, done.out + done.err
        assert operators("chain_reduced.onnx") == ["n2"]

    @pytest.mark.parametrize("folder", [".", "elsewhere"])
    def test_large_weights_are_written_once_for_a_polycmp_command(self, polycmp, tmp_path, folder):
        Path(folder).mkdir(exist_ok=True)
        source = heavy(Path(folder, "chain.onnx"))
        done = polycmp("debug", "reduce", str(source), "--check", *VALIDATE)
        assert done.status == 0, done.out + done.err
        assert operators("chain_reduced.onnx") == ["n2"]
        assert not list(Path().glob("polycmp_debug*"))

    def test_any_other_command_gets_whole_files(self, polycmp, tmp_path):
        heavy(tmp_path / "chain.onnx")
        apart = 'if [ $(wc -c < "$1") -lt 4000000 ]; then exit 1; fi'
        words = ("--fail-code", "7", "1", "--check", *fails_with("n2", apart), "polycmp_debug.onnx")
        polycmp("debug", "reduce", "chain.onnx", *words)
        assert operators("chain_reduced.onnx") == ["n2"]

    def test_shapes_that_are_noted_behind_an_operator_that_nothing_knows(self, polycmp, tmp_path):
        nodes = [
            helper.make_node("Relu", ["x"], ["a"], name="n1"),
            helper.make_node("Fancy", ["a"], ["b"], name="n2", domain="of.nobody"),
            helper.make_node("Tanh", ["b"], ["c"], name="n3"),
            helper.make_node("Sigmoid", ["c"], ["y"], name="n4"),
        ]
        path = faulty_models.save(tmp_path / "chain.onnx", nodes, [2, 8], {})
        model = onnx.load(path)
        model.opset_import.append(helper.make_opsetid("of.nobody", 1))
        float32 = onnx.TensorProto.FLOAT
        model.graph.value_info.extend(helper.make_tensor_value_info(name, float32, [2, 8]) for name in "abc")
        onnx.save(model, path)
        polycmp("debug", "reduce", "chain.onnx", "--check", *fails_with("n3"), "polycmp_debug.onnx")
        assert operators("chain_reduced.onnx") == ["n3"]

    def test_weights_that_are_missing_end_it(self, tmp_path):
        """The process that waits for checks is ended, too, or the command would wait for it for ever."""
        source = heavy(tmp_path / "heavy.onnx")
        model = onnx.load(source)
        onnx.save(model, tmp_path / "apart.onnx", save_as_external_data=True, location="apart.data")
        (tmp_path / "apart.data").unlink()
        words = [PYTHON, "-m", "polycmp", "debug", "reduce", "apart.onnx", "--check", *VALIDATE]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, "cannot load the weights" in done.stderr) == (3, True), done.stderr
