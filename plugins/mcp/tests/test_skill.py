"""The page for agents: short, in the form that agents read, and every command on it works."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest

from polycmp.cli.main import run as run_command
from polycmp_mcp.skill import skill_text

TEXT = skill_text()
LINES = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
]
#: Commands that make environments, which takes a package index: their words are read, and nothing runs.
ONLY_READ = ("polycmp bisect ",)


def test_the_page_is_short_and_says_when_to_read_it():
    assert len(TEXT.splitlines()) <= 120
    head = TEXT.split("---\n")[1]
    assert re.search(r"^name: polycmp$", head, re.MULTILINE)
    assert 50 < len(re.search(r"^description: (.*)$", head, re.MULTILINE)[1]) <= 1024


def test_the_command_prints_it(capsys):
    assert run_command(["mcp", "--skill"]) == 0
    assert capsys.readouterr().out.strip() == TEXT.strip()


def test_every_command_in_a_table_is_one_that_works_on_the_page():
    shown = {" ".join(line.split()[1:3] if line.split()[1] in GROUPS else line.split()[1:2]) for line in LINES}
    named = {
        " ".join(words[1:3] if words[1] in GROUPS else words[1:2])
        for words in (text.split() for text in re.findall(r"`(polycmp [^`]*)`", TEXT))
        if len(words) > 1
    }
    assert named - shown == set()


GROUPS = {"check", "debug", "inspect", "plugins"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    onnx = pytest.importorskip("onnx")
    for package in ("onnxruntime", "polycmp_onnx", "polycmp_onnxrt", "polycmp_locate", "polycmp_checks"):
        pytest.importorskip(package)
    from small_models import small_model

    place = tmp_path_factory.mktemp("skill")
    for name, seed in (("model", 0), ("other", 1)):
        onnx.save(small_model(seed=seed), place / f"{name}.onnx")
    values = np.linspace(0, 1, 12, dtype=np.float32)
    np.savez(place / "new.npz", y=values)
    np.savez(place / "old.npz", y=values)
    graph = onnx.load(place / "model.onnx").graph
    shapes = {item.name: [size.dim_value or 2 for size in item.type.tensor_type.shape.dim] for item in graph.input}
    np.savez(place / "inputs.npz", **{name: np.ones(shape, np.float32) for name, shape in shapes.items()})
    (place / "nightly.toml").write_text('[[case]]\nmodel = "model.onnx"\nbackends = ["onnxrt", "onnx"]\n')
    return place


@pytest.mark.parametrize("line", LINES)
def test_every_command_works(line, folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    words = shlex.split(line)[1:]
    if line.startswith(ONLY_READ):
        pytest.importorskip("polycmp_bisect")
        read_only(words)
        return
    if words[0] in {"suite", "bisect"}:
        pytest.importorskip(f"polycmp_{words[0]}")
    status = run_command(words)
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err
    differs = "other.onnx" in line and words[0] != "debug"
    assert status == int(differs), said.out + said.err


def read_only(words):
    """Let the command read its words, without what it does with them."""
    from polycmp.command import Invocation
    from polycmp.plugins import Registry

    registry = Registry.discover()
    found = registry.find_command(words[0])
    command = registry.load(found, found.spec.target)
    with command.make_context(words[0], list(words[1:]), obj=registry) as context:
        call = Invocation(context, context.registry, context.table)
        assert call.options.backends
        assert call.plan().model == "model.onnx"
