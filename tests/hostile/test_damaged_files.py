"""Damaged files and impossible paths: commands answer in words and never call it a fault of their own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from in_process import plugins_installed
from onnx import TensorProto, helper, numpy_helper

from polycmp.cli.main import run
from polycmp.messages import restored_logging

#: Damaged files of one kind, and those that `make test-all` tries; one seed for each kind, so that a failure can be had
#: again.
COUNT, MANY = 60, 600
DEEP = 200_000
WRONG = [None, True, 1, -1, 1e308, "x", "\ud800", [], {}, [[]], {"a": 1}, [1, 2], 2**70]
COMMANDS = {
    ".json": [("compare", "F", "good.json"), ("inspect", "data", "F"), ("check", "accuracy", "F")],
    ".npz": [("compare", "F", "good.npz"), ("inspect", "data", "F")],
    ".safetensors": [("compare", "F", "good.safetensors"), ("inspect", "data", "F")],
    ".toml": [("suite", "F", "--list"), ("run", "--config", "F")],
    ".onnx": [("inspect", "model", "F"), ("check", "lint", "F"), ("surgeon", "sanitize", "F", "-o", "out.onnx")],
}


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    """A folder with an undamaged file of each kind."""
    folder = tmp_path_factory.mktemp("good")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xy"]
    nodes = [helper.make_node("Mul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    weights = [numpy_helper.from_array(np.float32([1, 2, 3, 4]), "w")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "good.onnx")
    with _chdir(folder):
        for suffix in ("json", "npz", "safetensors"):
            assert call("run", "good.onnx", "-b", "onnxrt", "--save-outputs", f"good.{suffix}")[0] == 0
        options = ("--write-config", "good.toml", "--save-accuracy-results", "figures.json")
        assert call("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", *options)[0] == 0
    return folder


@contextlib.contextmanager
def _chdir(folder):

    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def call(*words: str) -> tuple[int, str]:
    """Return a command's exit status and all that it said."""
    said = io.StringIO()
    with restored_logging(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = run(list(words), plugins_installed())
    return status, said.getvalue()


def answers_in_words(*words: str) -> int:
    status, said = call(*words)
    assert "fault of polycmp" not in said, said[-500:]
    assert "Traceback" not in said, said[-500:]
    assert status in {0, 1, 2, 3}
    return status


def bytes_changed(content: bytes, chance: random.Random) -> bytes:
    found = bytearray(content)
    place = chance.randrange(max(len(found), 1))
    how = chance.randrange(5)
    if how == 0:
        for _ in range(chance.randrange(1, 8)):
            found[chance.randrange(len(found))] = chance.randrange(256)
    elif how == 1:
        del found[place:]
    elif how == 2:
        found[place:place] = chance.randbytes(chance.randrange(1, 20))
    elif how == 3:
        del found[place : place + chance.randrange(1, 40)]
    else:
        found[place : place + 8] = found[:8]
    return bytes(found)


def values_changed(text: str, chance: random.Random) -> str:
    """Return a JSON text in which one value is of another kind."""
    document = json.loads(text)
    places = list(_places(document))
    *path, last = chance.choice([place for place in places if place])
    inner = document
    for key in path:
        inner = inner[key]
    inner[last] = chance.choice(WRONG)
    return json.dumps(document)


def _places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:20]) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


def entries_changed(content: bytes, chance: random.Random) -> bytes:
    """Return an archive in which the list of contents is damaged, and some of what it lists."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(made, "w") as after:
        for name in before.namelist():
            inner = before.read(name)
            if name.endswith(".json"):
                inner = values_changed(inner.decode(), chance).encode()
            elif chance.random() < 0.2:
                inner = bytes_changed(inner, chance)
            after.writestr(name, inner)
    return made.getvalue()


@pytest.mark.parametrize(
    "count", [COUNT, pytest.param(MANY, marks=[pytest.mark.corpus, pytest.mark.timeout(1800)])], ids=str
)
@pytest.mark.parametrize("suffix", COMMANDS)
def test_a_damaged_file_is_answered_in_words(good, tmp_path, monkeypatch, suffix, count):
    for path in good.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    chance = random.Random(suffix if count == COUNT else f"{suffix} {count}")
    content = {path: path.read_bytes() for path in sorted(good.glob(f"*{suffix}"))}
    statuses = set()
    for _ in range(count):
        seed = chance.choice(list(content.values()))
        if suffix == ".json" and chance.random() < 0.7:
            damaged = values_changed(seed.decode(), chance).encode()
        elif suffix == ".npz" and chance.random() < 0.7:
            damaged = entries_changed(seed, chance)
        else:
            damaged = bytes_changed(seed, chance)
        (tmp_path / f"damaged{suffix}").write_bytes(damaged)
        words = [f"damaged{suffix}" if word == "F" else word for word in chance.choice(COMMANDS[suffix])]
        statuses.add(answers_in_words(*words))
    assert statuses & {2, 3}, "nothing was damaged"


@pytest.mark.parametrize("words", [*COMMANDS[".json"], *COMMANDS[".toml"]], ids=" ".join)
def test_a_bomb_of_brackets_is_answered_in_words(good, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.json").write_bytes((good / "good.json").read_bytes())
    path = tmp_path / ("bomb.toml" if words in COMMANDS[".toml"] else "bomb.json")
    path.write_text(("a = " if path.suffix == ".toml" else "") + "[" * DEEP)
    assert answers_in_words(*(path.name if word == "F" else word for word in words)) in {2, 3}


@pytest.mark.parametrize("name", ["a" * 5000, "\ud800", "a\udc80\ud800"], ids=["long", "half", "halves"])
@pytest.mark.parametrize(
    "words",
    [
        ("run", "NAME.onnx", "-b", "onnxrt"),
        ("run", "good.onnx", "-b", "onnxrt:model=NAME.onnx"),
        ("run", "good.onnx", "-b", "onnxrt", "--save-outputs", "NAME.npz"),
        ("compare", "NAME.npz", "NAME.npz"),
        ("suite", "NAME.toml"),
        ("inspect", "model", "NAME.onnx"),
    ],
    ids=" ".join,
)
def test_a_path_that_no_file_can_have_is_answered_in_words(good, tmp_path, monkeypatch, words, name):
    (tmp_path / "good.onnx").write_bytes((good / "good.onnx").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert answers_in_words(*(word.replace("NAME", name) for word in words)) in {2, 3}
