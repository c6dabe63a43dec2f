"""Files that are open: a process may have 1,024 at once on many systems, and a model has any number of weights."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from small_models import graph_model

pytest.importorskip("polycmp_onnxrt")

FILES, WEIGHTS = 64, 200
DESCRIPTORS = Path("/proc/self/fd")
EVERY = ["--mark-all", "--input-shapes", "x:[300,64]"]
ONE, TWO = ["-b", "onnxrt"], ["-b", "onnxrt", "-b", "onnx"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a model of many weights, in its file and beside it, and all of its tensors as saved twice."""
    folder = tmp_path_factory.mktemp("many").resolve()  # the system lists open files by such names
    rng = np.random.default_rng(0)
    # Permutations, so that every processor computes the same numbers: nothing is rounded.
    weights = [(f"w{i}", np.eye(64, dtype=np.float32)[rng.permutation(64)]) for i in range(WEIGHTS)]
    names = ["x", *(f"y{i}" for i in range(WEIGHTS))]
    nodes = [onnx.helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(WEIGHTS)]
    values = [(name, onnx.TensorProto.FLOAT, ["n", 64]) for name in (names[0], names[-1])]
    model = graph_model(nodes, values[:1], values[1:], weights)
    onnx.save(model, folder / "inside.onnx")
    onnx.save(model, folder / "beside.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    for name in ("saved.npz", "saved.safetensors"):
        done = few_files(folder, "run", "inside.onnx", *ONE, *EVERY, "--save-inputs", "in.npz", "--save-outputs", name)
        assert done.returncode == 0, done.stderr
    return folder


def few_files(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that may have few files open at once."""
    command = ["sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", sys.executable, "-m", "polycmp", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.skipif(os.name == "nt", reason="the limit is a Unix shell's")
@pytest.mark.parametrize(
    "words",
    [
        ["run", "inside.onnx", *TWO, *EVERY],
        ["locate", "beside.onnx", *TWO],
        ["run", "--load-outputs", "saved.npz", "saved.safetensors"],
        ["data", "concat", "saved.npz", "saved.safetensors", "-o", "both.npz"],
        *(
            pytest.param(words, marks=pytest.mark.corpus)
            for words in (
                ["run", "inside.onnx", *TWO],
                ["run", "beside.onnx", *TWO],
                ["locate", "inside.onnx", *TWO],
                ["inspect", "model", "beside.onnx", "--show", "weights"],
                ["run", "inside.onnx", *ONE, *EVERY, "--load-inputs", "in.npz", "--load-outputs", "saved.npz"],
                ["locate", "inside.onnx", *ONE, "--load-inputs", "in.npz", "--load-outputs", "saved.safetensors"],
                ["inspect", "data", "saved.safetensors", "--all", "--show-values"],
            )
        ),
    ],
    ids=" ".join,
)
def test_weights_and_saved_tensors_take_no_open_file_each(folder, words):
    done = few_files(folder, *words)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="open files are listed by Linux only")
def test_a_process_of_several_commands_does_not_keep_their_files_open(folder, polycmp, monkeypatch):
    monkeypatch.chdir(folder)
    for _ in range(2):
        assert polycmp("run", "beside.onnx", *TWO).status == 0
    gc.collect()
    opened = [os.readlink(entry) for entry in DESCRIPTORS.iterdir() if entry.is_symlink()]
    assert [name for name in opened if name.startswith(str(folder))] == []
