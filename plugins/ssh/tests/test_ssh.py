"""Backends on another machine: the system's own ssh, a server on loopback, and a folder that has to be empty then."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.cli.main import main
from polycmp.errors import UsageError, WorkerError
from polycmp.plan import Plan, plan_backends
from polycmp.plugins import Registry
from polycmp.runs import resolve
from polycmp_ssh.place import Place

THERE = f"ssh=board,python={sys.executable}"


@pytest.fixture
def model(tmp_path):
    return chain(tmp_path / "model.onnx")


def chain(path, changed=-1, **save):
    """Write four products with a Relu behind each, one weight of which may be another; return the path."""
    rng = np.random.default_rng(0)
    nodes, weights, source = [], [], "x"
    for number in range(4):
        weight = rng.standard_normal((32, 32)).astype(np.float32) / 6
        weight[:, 3] += number == changed
        weights.append(numpy_helper.from_array(weight, f"w{number}"))
        nodes.append(helper.make_node("MatMul", [source, f"w{number}"], [f"m{number}"], name=f"product{number}"))
        source = "y" if number == 3 else f"r{number}"
        nodes.append(helper.make_node("Relu", [f"m{number}"], [source]))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 32]) for name in "xy"]
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path, **save)
    return path


def polycmp(capsys, *words):
    """Return the exit status of a command, and all that it printed."""
    status = main([str(word) for word in words])
    printed = capsys.readouterr()
    return status, " ".join((printed.out + printed.err).split())


def until(holds):
    """Wait until something holds, and say whether it came to that."""
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def nothing_is_left(server):
    gc.collect()  # connections end with what could use them
    return until(lambda: not list(server.folder.glob("polycmp-*"))) or list(server.folder.rglob("*"))


def test_a_model_runs_there_and_leaves_nothing(server, model, tmp_path, capsys):
    report = tmp_path / "report.json"
    words = ("-b", f"onnxrt:{THERE},optimization=off", "-b", "onnxrt:name=here", "--report", report)
    status, text = polycmp(capsys, "run", model, *words)
    assert status == 0, text
    assert "runs on board" in text
    results = json.loads(report.read_text("utf-8"))["inference_results"]
    there, here = results.values() if isinstance(results, dict) else results
    assert there["version"] == here["version"] != "", there
    assert len(server.commands) == 1
    assert nothing_is_left(server) is True


def test_weights_beside_the_model_are_sent(server, tmp_path, capsys):
    model = chain(tmp_path / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    status, text = polycmp(capsys, "run", model, "-b", f"onnxrt:{THERE}", "-b", "onnxrt", "--iterations", 2)
    assert status == 0, text
    assert nothing_is_left(server) is True


def test_the_operator_is_found_over_one_connection(server, model, tmp_path, capsys):
    bad = chain(tmp_path / "bad.onnx", changed=2)
    status, text = polycmp(capsys, "locate", bad, model, "-b", f"onnxrt:{THERE}", "-b", "onnxrt")
    assert status == 1, text
    assert "FOUND: wrong: MatMul 'product2'" in text
    assert len(server.commands) <= 3  # some runners are active at the same time; parts take turns
    assert nothing_is_left(server) is True


def test_a_file_writes_the_machine_down(server, model, tmp_path, capsys):
    file = tmp_path / "run.toml"
    words = ("run", model, "-b", f"onnxrt:{THERE}", "-b", "onnxrt", "--write-config", file)
    status, text = polycmp(capsys, *words)
    assert status == 0, text
    assert "ssh" in file.read_text("utf-8")
    server.commands.clear()
    status, text = polycmp(capsys, "run", "--config", file)
    assert status == 0, text
    assert len(server.commands) == 1


def test_what_fails_there_says_where(server, tmp_path, capsys):
    node = helper.make_node("Reshape", ["x", "s"], ["y"], name="folded")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [6]) for name in "xy"]
    shape = numpy_helper.from_array(np.array([4]), "s")
    graph = helper.make_graph([node], "g", values[:1], values[1:], [shape])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    status, text = polycmp(capsys, "run", tmp_path / "m.onnx", "-b", f"onnxrt:{THERE}", "-b", "onnx")
    assert status == 3, text
    assert "folded" in text
    assert nothing_is_left(server) is True


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("ssh=board:1", "no connection to board"),
        ("ssh=stranger", "no connection to stranger (me@127.0.0.1: Permission denied (publickey)"),
        ("ssh=board,python=nothing", "board has no nothing"),
        ("ssh=-oProxyCommand=x", "names no machine"),
    ],
)
def test_what_cannot_be_reached_is_told(server, model, capsys, place, said):
    status, text = polycmp(capsys, "run", model, "-b", f"onnxrt:name=there,{place}", "-b", "onnxrt")
    assert status == 3, text
    assert said in text
    assert "next:" in text
    assert "Traceback" not in text


def test_what_is_missing_there_is_told_with_the_command_that_brings_it(server, model, tmp_path, capsys):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    python = tmp_path / "bare" / "bin" / "python"
    status, text = polycmp(capsys, "run", model, "-b", f"onnxrt:ssh=board,python={python}", "-b", "onnxrt")
    assert status == 3, text
    assert "board lacks" in text
    assert f"next: ssh board {python} -m pip install" in text
    assert "numpy" in text.partition("pip install")[2]
    assert nothing_is_left(server) is True


def test_an_old_python_there_is_told(server, model, tmp_path, capsys):
    old = tmp_path / "python"
    body = 'import platform\nplatform.python_version = lambda: "3.8.10"\n'
    (tmp_path / "sitecustomize.py").write_text(body, "utf-8")
    old.write_text(f'#!/bin/sh\nPYTHONSAFEPATH= PYTHONPATH={tmp_path} exec {sys.executable} "$@"\n', "utf-8")
    old.chmod(0o755)
    status, text = polycmp(capsys, "run", model, "-b", f"onnxrt:ssh=board,python={old}", "-b", "onnxrt")
    assert status == 3, text
    assert f"{old} on board is Python 3.8.10 (polycmp needs Python 3.10 or newer)" in text


def resolved_backend(model, timeout=0.0):
    """Return the backend on the other machine as a run resolves it."""
    registry = Registry.discover()
    backends = plan_backends([f"onnxrt:{THERE}"], {}, registry)
    return resolve(Plan(model=str(model), backends=backends, timeout=timeout), registry).backends[0]


def test_parts_take_the_place_of_each_other(server, model):
    """A search sends hundreds, which would fill a small machine."""
    backend = resolved_backend(model)
    graph, feed = backend.model.graph(), {"x": np.ones((2, 32), np.float32)}
    for tensor in ("m0", "r0", "m1"):
        with backend.make_runner(graph.cut(graph.inputs, [tensor])) as runner:
            assert list(runner.infer(feed)) == [tensor]
    assert len(server.commands) == 1
    assert len(list(server.folder.rglob("*.onnx"))) == 1


@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGKILL, "ended on board"), (signal.SIGSTOP, "hung: no answer from board for 3 s")],
    ids=["cut", "hung"],
)
def test_a_machine_that_goes_away_is_the_backends_failure(server, model, number, said):
    runner = resolved_backend(model, timeout=3.0).make_runner()
    with pytest.raises(WorkerError, match=said), runner:
        feed = {"x": np.ones((2, 32), np.float32)}
        runner.infer(feed)
        server.send(number)
        for _ in range(2):  # what was on its way may still arrive
            runner.infer(feed)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("ssh://board", Place("board")),
        ("ssh://me@board:2222", Place("me@board", 2222)),
        ("ssh://board/venv/bin/python", Place("board", 0, "venv/bin/python")),
        ("ssh://board//opt/bin/python", Place("board", 0, "/opt/bin/python")),
    ],
)
def test_places(url, place):
    assert Place.of(url, "") == place


@pytest.mark.parametrize("url", ["ssh://", "http://board", "ssh://a b", "ssh://board:port"])
def test_what_is_no_place(url):
    with pytest.raises(UsageError, match="names no machine"):
        Place.of(url, "")
