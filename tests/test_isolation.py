"""Backends in processes of their own: whatever becomes of one, the others are compared and nothing is left behind."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from fakes import FakeSite, runner
from onnx import TensorProto, helper
from small_models import save_graph

#: A version that has wheels for every Python we support, and is the newest for none of them.
OLDER = "1.22.1"

TROUBLE = """
    import ctypes, os, signal, sys, time
    import numpy as np
    from polycmp.errors import BackendError
    from polycmp.runner import Runner
    from polycmp.tensors import TensorMetadata

    class Trouble(Runner):
        def __init__(self, options, name):
            super().__init__(name)
            self.options, self.calls = options, -1
        def get_input_metadata_impl(self):
            return TensorMetadata().add("x", "float32", ["n", 8])
        def infer_impl(self, feed_dict):
            self.calls += 1
            print("chatter that must not look like a result")
            if self.calls == self.options.at:
                getattr(self, self.options.how)()
            return {"y": feed_dict["x"] * 2}
        def fine(self): pass
        def segfault(self): ctypes.string_at(0)
        def hang(self): time.sleep(600)
        def kill(self): os.kill(os.getpid(), signal.SIGKILL)
        def leave(self): os._exit(7)
        def complain(self): raise BackendError("no more", hint="type something")

    def make(model, options, *, name):
        return Trouble(options, name)
"""


@pytest.fixture
def site(tmp_path) -> FakeSite:
    """An installed backend `trouble` that gets into trouble in the iteration asked for."""
    site = FakeSite(tmp_path / "site")
    options = 'O: how: str = opt("fine", help="What to do.")\nat: int = opt(0, help="When.")'
    options = options.replace("\n", "\n    ").replace("O: ", "O:\n    ", 1)
    site.plugin("trouble", runner("trouble", options=options, factory="trouble_impl:make"))
    (site.folder / "trouble_impl.py").write_text(__import__("textwrap").dedent(TROUBLE))
    return site


def descendants(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    children = [int(item) for item in found.stdout.split()]
    return [*children, *(item for child in children for item in descendants(child))]


def save_products(path: Path, factors: list[float]) -> None:
    """Write a chain of products, each with a factor of its own."""
    names = ["x", *(f"t{index}" for index in range(len(factors)))]
    weights = [(f"w{index}", np.float32([factor])) for index, factor in enumerate(factors)]
    nodes = [helper.make_node("Mul", [names[i], f"w{i}"], [names[i + 1]], name=f"n{i}") for i in range(len(factors))]
    save_graph(path, nodes, [("x", 1, [4])], [(names[-1], 1, [4])], weights)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("segfault", "died with signal 11 (SIGSEGV) in iteration 2"),
        pytest.param("kill", "died with signal 9 (SIGKILL) in iteration 2", marks=pytest.mark.corpus),
        pytest.param("leave", "ended with exit status 7 in iteration 2", marks=pytest.mark.corpus),
        ("hang", "hung: no answer for 6 s"),
        pytest.param("complain", "no more (in iteration 2)", marks=pytest.mark.corpus),  # as of the toy box
    ],
)
def test_trouble_is_that_backends_result(site, model, tmp_path, monkeypatch, how, text):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    words = ("-b", f"trouble:how={how},at=2", "-b", "trouble:name=good", "-b", "trouble:name=truth")
    seconds = 6 if how == "hang" else 60  # long enough for a busy machine to start a worker
    flags = ("--use-subprocess", "--timeout", seconds, "--iterations", 4, "--report", "r.json")
    done = site.polycmp("run", model, *words, *flags, cwd=tmp_path, TMPDIR=str(temporary))
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not [line for line in done.stdout.splitlines() if line.startswith("chatter")]
    report = json.loads((tmp_path / "r.json").read_text())
    failed = report["inference_results"][f"trouble:how={how},at=2"]
    assert text in failed["error"]
    assert failed["iterations"] == 2
    good = next(pair for pair in report["comparison_results"] if pair["candidate"] == "good")
    assert (good["passed"], good["iterations"]) == (True, 4)
    assert not list(temporary.iterdir()), "a process that died left files"


def test_a_worker_gives_what_the_backend_gives_here(polycmp, model, tmp_path):
    words = ("-b", "onnxrt", "-b", f"onnxrt:name=there,python={sys.executable}", "--atol", 0, "--rtol", 0)
    done = polycmp("run", model, *words, "--iterations", 3, "--input-shapes", "x:[5,8]", "--report", "r.json")
    assert done.status == 0, done.err + done.out
    there = json.loads((tmp_path / "r.json").read_text())["inference_results"]["there"]
    assert there["version"]
    assert there["outputs"] == {"y": {"dtype": "float32", "shape": [5, 8]}}


def test_locate_starts_no_process_for_each_part(polycmp, tmp_path):
    started = {}
    for count in (3, 7):
        bad, good = tmp_path / f"bad{count}.onnx", tmp_path / f"good{count}.onnx"
        save_products(bad, [1.1] * count)
        save_products(good, [1.0] * count)
        python = tmp_path / f"python{count}"
        python.write_text(f'#!/bin/sh\necho $$ >> "$0.started"\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        done = polycmp("locate", bad, "-b", f"onnxrt:python={python}", "-b", f"onnxrt:model={good}")
        assert done.status == 1, done.err + done.out
        assert "FOUND" in done.out
        started[count] = [int(pid) for pid in (tmp_path / f"python{count}.started").read_text().split()]
    assert len(started[7]) == len(started[3])
    gc.collect()  # the search is gone, but for circles among its objects
    assert not [pid for pids in started.values() for pid in pids if _runs(pid)]


def test_an_environment_without_polycmp_says_what_to_install(polycmp, model, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    done = polycmp("run", model, "-b", f"onnxrt:python={bare}", "-b", "onnx")
    assert done.status == 3
    assert "cannot run polycmp" in done.out
    assert "pip install polycmp" in " ".join(done.out.split())


def test_an_interpreter_that_is_not_there(polycmp, model):
    done = polycmp("run", model, "-b", "onnxrt:python=/nowhere/python", "-b", "onnx")
    assert done.status == 3
    assert "cannot start /nowhere/python" in done.out


def test_interrupting_leaves_no_process(site, model, tmp_path):
    command = [sys.executable, "-m", "polycmp", "run", str(model), "-b", "trouble:how=hang", "--use-subprocess"]
    process = subprocess.Popen(
        command,
        env=site.environ(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    workers = _wait_for_workers(process)
    time.sleep(1.0)  # let the worker reach its call
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]


def test_killing_the_command_ends_its_workers(site, model, tmp_path):
    command = [sys.executable, "-m", "polycmp", "run", str(model), "-b", "trouble:how=hang", "--use-subprocess"]
    process = subprocess.Popen(
        command, env=site.environ(), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    workers = _wait_for_workers(process)
    time.sleep(1.0)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while any(_runs(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [worker for worker in workers if _runs(worker)]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_for_workers(process: subprocess.Popen[str]) -> list[int]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        workers = descendants(process.pid)
        if workers:
            return workers
        assert process.poll() is None
        time.sleep(0.1)
    raise AssertionError("no worker was started")


@pytest.fixture(scope="module")
def older(tmp_path_factory) -> Path:
    """An environment of its own with another version of ONNX Runtime; everything else is borrowed from this one."""
    folder = Path(os.environ.get("POLYCMP_TEST_ENVS", Path(__file__).parent.parent / ".cache" / "envs"))
    root = folder / f"onnxruntime-{OLDER}-py{sys.version_info.major}{sys.version_info.minor}"
    python = root / "bin" / "python"
    if not (root / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(root)], check=True)
        site = next((root / "lib").glob("python*/site-packages"))
        borrowed = [item for item in sys.path if item.endswith(("site-packages", "/src"))]
        (site / "zz_borrowed.pth").write_text("".join(f"import site; site.addsitedir({item!r})\n" for item in borrowed))
        install = [
            str(python),
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--ignore-installed",
            f"onnxruntime=={OLDER}",
        ]
        if subprocess.run(install, check=False, capture_output=True).returncode:
            pytest.skip(f"onnxruntime {OLDER} cannot be installed here (no network, or no wheel for this Python)")
        (root / "ready").touch()
    return python


@pytest.mark.corpus  # it installs one of them
def test_two_versions_of_onnx_runtime_in_one_command(polycmp, model, tmp_path, older):
    import onnxruntime

    done = polycmp("run", model, "-b", f"onnxrt:python={older},name=older", "-b", "onnxrt", "--report", "r.json")
    assert done.status == 0, done.out + done.err
    results = json.loads((tmp_path / "r.json").read_text())["inference_results"]
    assert results["older"]["version"] == OLDER
    assert results["onnxrt"]["version"] == onnxruntime.__version__ != OLDER


@pytest.fixture
def model_and_bare_python(tmp_path):
    """A model of one operator, and an interpreter that finds ONNX Runtime's plugin alone."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "relu",
        [value("x", TensorProto.FLOAT, [2, 3])],
        [value("y", TensorProto.FLOAT, [2, 3])],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPOLYCMP_PLUGINS=onnx,onnxrt,workers exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return path, python


@pytest.mark.parametrize("how", ["stress", "file"])
def test_a_worker_without_the_plugin_that_makes_the_inputs(model_and_bare_python, how, tmp_path):
    """What makes the inputs stays with the session: an old environment need not have the plugins that do."""
    from polycmp.cli.main import main

    path, python = model_and_bare_python
    np.savez(tmp_path / "x.npz", x=np.full((2, 3), -1, np.float32))
    inputs = {
        "stress": ["--data-loader", "stress", "--stress-seeds", "1"],
        "file": ["--load-inputs", str(tmp_path / "x.npz")],
    }[how]
    report = tmp_path / "report.json"
    backends = ["-b", f"onnxrt:name=old,python={python}", "-b", "onnxrt"]
    status = main(["run", str(path), *backends, *inputs, "--report", str(report)])
    found = json.loads(report.read_text())["inference_results"]["old"]
    assert status == 0, found
    assert found["iterations"] >= 1
