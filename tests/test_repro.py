"""Commands and scripts that repeat a failure, run as they stand, in a shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import faulty_models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model, small_model

ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
BACKENDS = ("-b", "onnxrt:name=mine,threads=1", "-b", "onnxrt:name=ref,model=good.onnx")
OTHER = ("-b", "onnxrt", "-b", "onnxrt:model=other.onnx")
LIBRARY = (
    "from onnx.reference.op_run import OpRun\n\nclass Other(OpRun):\n    op_domain = 'x'\n    def _run(self, x):\n"
)
LIBRARY += "        return (x,)\n\nnew_ops = [Other]\n"


def real_shell(command, folder):
    """Run a command line in a shell, with the `polycmp` of this environment as a process."""
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


def quoted(text):
    """Return text in quotes, as an instance takes it."""
    return "'" + text.replace("'", "''") + "'"


@pytest.fixture
def chains(tmp_path):
    """A good chain of operators, and one whose ninth has another weight."""
    for name, changed in (("good", None), ("bad", 8)):
        faulty_models.chain(tmp_path / f"{name}.onnx", length=9, changed=changed)
    return tmp_path


class TestScript:
    @pytest.mark.parametrize(
        ("words", "kept"),
        [
            ((), "name=mine"),
            (
                ("--compare", "l2", "--l2-threshold", "1e-4"),
                "--compare l2 --load-outputs expected.npz --l2-threshold 0.0001",
            ),
            (("--atol", "y:1e-3", "conv8:1e-4", "--rtol", "1e-7", "conv*:1e-6"), "conv8:0.0001"),
            *(
                pytest.param(*item, marks=pytest.mark.corpus)
                for item in (
                    (("--check-error-stat", "max", "mean"), "max mean"),
                    (("--abs-tol", "2e-5", "--rel-tol=3e-5", "--scale-atol"), "--scale-atol"),
                    (("--nan=equal", "--infinities-compare-equal"), "--infinities-compare-equal"),
                    (("--use-subprocess", "--timeout", "100"), "--use-subprocess"),
                )
            ),
        ],
    )
    def test_repeats_the_fault_with_the_options_of_the_search(self, polycmp, shell, chains, words, kept):
        done = polycmp("locate", "bad.onnx", *BACKENDS, *words, "--save-repro", "case")
        assert (done.status, "saved: case: 1 operator" in done.out) == (1, True), done.out + done.err
        again = shell("bash run.sh", chains / "case")
        assert again.status == 1, again.err
        assert "FAILED: 1 of 1 output differs" in again.out
        script = (chains / "case" / "run.sh").read_text()
        assert "name=mine" in script
        assert kept in script

    def test_repeats_the_fault_in_a_process_of_its_own(self, polycmp, chains):
        assert polycmp("locate", "bad.onnx", *BACKENDS, "--save-repro", "case").status == 1
        again = real_shell("bash run.sh", chains / "case")
        assert again.returncode == 1, again.stderr
        assert "FAILED: 1 of 1 output differs" in again.stdout

    def test_shows_nothing_where_the_options_let_it_pass(self, polycmp, shell, chains):
        """The tolerance is for the tensor at fault alone, and stands behind another's."""
        polycmp("locate", "bad.onnx", *BACKENDS, "--atol", "y:1e-6", "conv8:1e-5", "--save-repro", "case")
        script = chains / "case" / "run.sh"
        assert "conv8:1e-05" in script.read_text()
        script.write_text(script.read_text().replace("conv8:1e-05", "conv8:1e9 --allow-blind"))
        assert shell("sh case/run.sh", chains).status == 0

    @pytest.mark.parametrize(
        "label",
        ["-b ünï☃ $HOME `ls`", *(pytest.param(label, marks=pytest.mark.corpus) for label in ("a, b\n[x", "it's"))],
    )
    def test_labels_a_shell_could_trip_over(self, polycmp, shell, chains, label):
        mine = f"onnxrt:name={quoted(label)}"
        assert polycmp("locate", "bad.onnx", "-b", mine, *BACKENDS[2:], "--save-repro", "case").status == 1
        again = shell("bash run.sh", chains / "case")
        assert (again.status, "FAILED: 1 of 1 output differs" in again.out) == (1, True), again.err

    @pytest.mark.parametrize("name", ["a, b=1:c.onnx", pytest.param("a[1,2].onnx", marks=pytest.mark.corpus)])
    def test_a_model_of_its_own_with_brackets_commas_and_blanks(self, polycmp, shell, chains, name):
        (chains / "bad.onnx").rename(chains / name)
        words = ("-b", f"onnxrt:model={quoted(name)}", "-b", "onnxrt:name=ref,threads=1", "--save-repro", "my case")
        assert polycmp("locate", "good.onnx", *words).status == 1
        again = shell("bash run.sh", chains / "my case")
        assert (again.status, "FAILED: 1 of 1 output differs" in again.out) == (1, True), again.err

    def test_options_of_all_instances_and_files_beside_the_model(self, polycmp, shell, chains):
        (chains / "ops.py").write_text(LIBRARY)
        words = ("-b", "onnx:ops=ops.py:new_ops", "-b", "onnxrt:model=good.onnx", "--onnxrt-threads", "1")
        assert polycmp("locate", "bad.onnx", *words, "--save-repro", "case").status == 1
        assert f"{chains}/ops.py:new_ops" in (chains / "case" / "run.sh").read_text()
        assert shell("bash run.sh", chains / "case").status == 1
        words = ("-b", "onnxrt", "-b", "onnx:model=good.onnx", "--onnxrt-threads", "1")
        assert polycmp("locate", "bad.onnx", *words, "--save-repro", "case").status == 1
        assert "onnxrt:threads=1,name=onnxrt" in (chains / "case" / "run.sh").read_text()
        assert shell("bash run.sh", chains / "case").status == 1


class TestCommand:
    STRESS = ("--data-loader", "stress", "--stress-kinds", "signed", "large", "--stress-seeds", "2")

    @pytest.fixture
    def polycmp(self, polycmp, monkeypatch):
        """Run `polycmp` as if it had been typed."""

        def run(*words):
            monkeypatch.setattr("sys.argv", ["polycmp", *words])
            return polycmp(*words)

        return run

    def repeats(self, polycmp, folder, *words):
        assert polycmp("run", *words, *self.STRESS, "--report", "r.json").status == 1
        return json.loads((folder / "r.json").read_text())["repeats"]

    def check(self, shell, folder, repeats):
        assert repeats
        for item in repeats[:2]:
            again = shell(f"{item['command']} --report again.json", folder)
            assert again.status == 1, again.err
            [only] = json.loads((folder / "again.json").read_text())["repeats"]
            assert item["failed"] == only["failed"]
            assert item["inputs"].startswith(only["inputs"].partition(",")[0])

    @pytest.mark.parametrize(
        "words",
        [
            ("-b", "onnxrt:name='a, b'", "-b", "onnxrt:model=other.onnx"),
            ("-b", "onnxrt:name=mine,threads=1", "-b", "onnxrt:model='b[1,2] c.onnx',name=ref", "--reference", "ref"),
            *(
                pytest.param(words, marks=pytest.mark.corpus)
                for words in (
                    (*OTHER, "--compare", "l2", "ulp", "--l2-tolerance", "y:1e-3"),
                    (*OTHER, "--atol", "y:1e-3", "*:1e-4", "--nan", "differ"),
                    ("--onnxrt", *OTHER[2:], "--onnxrt-threads=1", "--check-error-stat", "max", "mean"),
                    (*OTHER, "--no-scale-atol", "--use-subprocess"),
                )
            ),
        ],
    )
    def test_sees_the_same(self, polycmp, shell, model, other, tmp_path, words):
        onnx.save(small_model(seed=1), tmp_path / "b[1,2] c.onnx")
        self.check(shell, tmp_path, self.repeats(polycmp, tmp_path, "model.onnx", *words))

    def test_options_from_a_run_file_are_in_it(self, polycmp, shell, model, other, tmp_path):
        (tmp_path / "run.toml").write_text(
            "model = 'model.onnx'\nbackend = ['onnxrt', 'onnxrt:model=other.onnx,name=ref']\ncompare = 'l2'\n"
        )
        repeats = self.repeats(polycmp, tmp_path, "--config", "run.toml")
        assert "--compare l2" in repeats[0]["command"]
        self.check(shell, tmp_path, repeats)

    def test_a_shape_that_was_asked_for_stays_beside_one_that_is_found(self, polycmp, shell, tmp_path):
        for name, weight in (("a", 1.0), ("b", 2.0)):
            nodes = [helper.make_node("Mul", ["x", "w"], ["xw"]), helper.make_node("Neg", ["z"], ["nz"])]
            inputs = [("x", TensorProto.FLOAT, ["n"]), ("z", TensorProto.FLOAT, ["m"])]
            outputs = [("xw", TensorProto.FLOAT, ["n"]), ("nz", TensorProto.FLOAT, ["m"])]
            made = graph_model(nodes, inputs, outputs, [("w", np.array([weight], np.float32))])
            onnx.save(made, tmp_path / f"{name}.onnx")
        words = ("a.onnx", "-b", "onnxrt", "-b", "onnxrt:model=b.onnx", "--input-shapes", "x:[5]")
        repeats = self.repeats(polycmp, tmp_path, *words)
        shapes = [[word for word in shlex.split(item["command"]) if word[1:3] == ":["] for item in repeats]
        assert all(found[0] == "x:[5]" and len(found) == 2 for found in shapes), shapes
        self.check(shell, tmp_path, repeats)

    def test_writes_none_of_the_files_of_the_run(self, polycmp, shell, model, other, tmp_path):
        words = ("model.onnx", "-b", "onnxrt:save_optimized=opt.onnx", "-b", "onnxrt:model=other.onnx")
        words += ("--save-onnx", "seen.onnx", "--save-inputs", "in.npz", "--save-outputs", "out.npz")
        [first, *_] = self.repeats(polycmp, tmp_path, *words, "--save-input-blob", "--log-file", "log.txt")
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
        assert {"opt.onnx", "seen.onnx", "in.npz", "out.npz", "log.txt"} <= {path.name for path in before}
        assert shell(first["command"], tmp_path).status == 1
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before
