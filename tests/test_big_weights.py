"""Weights of more than 2 GB, which no protobuf message can hold: here they lie in files with holes for content."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from in_parts import a_few
from onnx import TensorProto, helper

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="needs files with holes and the peak of a child's memory"
)

ROWS, WIDTH = 610_352, 1024
#: What a process takes here is that of Python and the backends; the weight alone would be 2.5 GB.
MOST_BYTES = 600_000_000


@pytest.fixture
def big(tmp_path) -> Path:
    """Return a model that looks rows up in a table of 2.5 GB."""
    path = tmp_path / "big.onnx"
    size = ROWS * WIDTH * 4
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[ROWS, WIDTH])
    table.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "big.data"), ("offset", 0), ("length", size)):
        table.external_data.add(key=key, value=str(value))
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"], name="lookup"),
        helper.make_node("Cos", ["rows"], ["c"], name="cos"),
        helper.make_node("Add", ["c", "c"], ["y"], name="sum"),
    ]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3, WIDTH])
    graph = helper.make_graph(nodes, "big", [ids], [y], [table])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    with (tmp_path / "big.data").open("wb") as file:
        file.truncate(size)
        file.seek(-4 * WIDTH, os.SEEK_END)
        file.write(np.linspace(0, 1, WIDTH, dtype=np.float32).tobytes())
    np.savez(tmp_path / "ids.npz", ids=np.array([[0, 1, 2], [5, ROWS - 1, 7]]))
    return path


#: Runs a command and writes its peak memory: what the system tells of a child counts the memory of its parent, too.
MEASURED = """
import re, sys
from pathlib import Path
from polycmp.cli.main import main
status = main(sys.argv[2:])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
Path(sys.argv[1]).write_text(peak[1])
sys.exit(status)
"""


def measured(*words: str | Path) -> tuple[int, str, int]:
    """Return the exit status, the output, and the most memory in bytes that the process took."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux tells the peak memory of one process")
    with tempfile.TemporaryDirectory() as folder:
        peak = Path(folder) / "peak"
        command = [sys.executable, "-c", MEASURED, str(peak), *map(str, words)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout, int(peak.read_text()) * 1024 if peak.exists() else 0


LOOKING = ["locate -b onnxrt -b onnx", "locate --bisect -b onnxrt -b onnx", "run --mark-all -b onnxrt -b onnx"]


@pytest.mark.parametrize("words", LOOKING)
def test_looking_inside_takes_no_memory_for_the_weight(big, tmp_path, words):
    if "onnxrt" in words and tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 21):
        pytest.skip("ONNX Runtime before 1.21 reads no weights from where they lie")
    command, *options = words.split()
    status, text, peak = measured(command, big, *options, "--load-inputs", tmp_path / "ids.npz", "--atol", "1e-3")
    assert status == 0, text
    assert peak < MOST_BYTES


@pytest.mark.parametrize("show", a_few([("--show", "weights"), ()]), ids=["weights", ""])
def test_inspect_does_not_read_the_weight(big, show):
    status, text, peak = measured("inspect", "model", big, *show)
    assert status == 0, text
    assert ("table: float32[610352,1024] = [0.0, 0.0" in text) == bool(show)
    assert peak < MOST_BYTES


@pytest.mark.parametrize(
    ("way", "backend"),
    [
        ("link", "onnxrt"),
        ("absolute", "onnx"),
        pytest.param("link", "onnx", marks=pytest.mark.corpus),
        pytest.param("absolute", "onnxrt", marks=pytest.mark.corpus),
    ],
)
def test_weights_outside_the_models_folder_are_refused(big, polycmp, tmp_path, way, backend):
    inner = tmp_path / "inner"
    inner.mkdir()
    model = onnx.load(big, load_external_data=False)
    if way == "link":
        (inner / "big.data").symlink_to(tmp_path / "big.data")
    else:
        model.graph.initializer[0].external_data[0].value = str(tmp_path / "big.data")
    onnx.save(model, inner / "big.onnx")
    words = ("-b", backend, "-b", f"{backend}:name=again", "--load-inputs", tmp_path / "ids.npz")
    for command in ("run", "locate"):
        done = polycmp(command, inner / "big.onnx", *words)
        assert done.status == 3, done.out + done.err
        assert "Traceback" not in done.out + done.err
