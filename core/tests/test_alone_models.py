"""Models and plugins of a third party: `convert`, `inspect`, contributed commands, `plugins`, help texts."""

from __future__ import annotations

import ast
import json
import re
import zlib
from pathlib import Path

import pytest
from toymodels import residual, small

TOYBOX = Path(__file__).parent / "toydist" / "toybox"
GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-backend.md"
#: What a plugin may import. The first six are what `docs/writing-a-backend.md` imports; the others are what
#: `polycmp.spec` names for those who bring a view of their models as graphs.
PUBLIC = {"spec", "runner", "tensors", "loader", "errors", "verdicts", "graph"}


def imports_of(path):
    for item in ast.walk(ast.parse(path.read_text())):
        if isinstance(item, ast.ImportFrom):
            yield item.module or ""
        elif isinstance(item, ast.Import):
            yield from (alias.name for alias in item.names)


def test_the_toy_box_imports_public_modules_of_the_core_only():
    found = {name for path in TOYBOX.glob("*.py") for name in imports_of(path) if name.partition(".")[0] == "polycmp"}
    assert found
    assert {name.partition(".")[2] for name in found} <= PUBLIC


@pytest.mark.skipif(not GUIDE.exists(), reason="the guide is not part of the core's distribution")
def test_the_guide_names_what_is_public():
    named = set(re.findall(r"`?polycmp\.(\w+)", GUIDE.read_text()))
    assert PUBLIC - {"graph"} <= named


# --- convert, inspect


def test_a_model_becomes_another_kind_and_back(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    done = polycmp("convert", "m.toy", "-o", "m.packed")
    assert (done.status, done.out.startswith("wrote m.packed (")) == (0, True)
    assert json.loads(zlib.decompress((tmp_path / "m.packed").read_bytes()))["outputs"] == ["y"]
    assert polycmp("convert", "m.packed", "-o", "again.toy").status == 0
    assert json.loads((tmp_path / "again.toy").read_text())["outputs"] == ["y"]
    done = polycmp("run", "m.packed", "-b", "toy", "-b", "packs", "-b", "plain:model=again.toy")
    assert done.status == 0, done.out + done.err


def test_a_model_is_changed_by_its_loader_s_options(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    assert polycmp("convert", "m.toy", "-o", "all.toy", "--toy-mark-all").status == 0
    assert json.loads((tmp_path / "all.toy").read_text())["outputs"] == ["h", "r", "y"]
    assert polycmp("convert", "m.toy", "-o", "some.bin", "--convert-to", "toy", "--toy-outputs", "h", "y").status == 0
    assert json.loads((tmp_path / "some.bin").read_text())["outputs"] == ["h", "y"]


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("m.toy", "-o", "m.xyz"), 2, "nothing installed writes m.xyz"),
        (("m.toy", "-o", "m.toy2", "--convert-to", "tony"), 2, "nothing installed writes m.toy2 (tony)"),
        (("m.toy", "-o", "m.onnx"), 2, "pip install polycmp-onnx"),
        (("m.toy", "-o", "no/folder/m.toy"), 3, "cannot write no/folder/m.toy"),
        (("broken.toy", "-o", "m.packed"), 3, "broken.toy is no toy"),
        (("-o", "m.packed"), 2, "no model given"),
    ],
)
def test_what_cannot_be_converted(polycmp, tmp_path, words, status, says):
    small(tmp_path / "m.toy")
    (tmp_path / "broken.toy").write_text("{}")
    done = polycmp("convert", *words)
    assert done.status == status
    assert says in done.err


def test_what_is_in_a_model(polycmp, tmp_path):
    residual(tmp_path / "m.toy")
    done = polycmp("inspect", "model", "m.toy")
    assert done.out == "toy with 9 operators\ninputs: {x: float32[n,8]}\noutputs: y\n"
    done = polycmp("inspect", "model", "m.toy", "--show", "layers", "attrs", "weights")
    assert "Split n_left: a -> left, right" in done.out
    assert "Cast n_sf: s -> sf {'to': 'float32'}" in done.out
    assert "w: float32[8, 8]" in done.out
    done = polycmp("inspect", "model", "m.toy", "--display-as", "packed")
    assert (done.status, "nothing installed shows packed models" in done.err) == (3, True)


# --- commands, help texts


def test_a_command_of_a_plugin(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    assert polycmp("toy", "ops", "m.toy").out == "1 MatMul\n1 Relu\n1 Softmax\n"
    assert "Count the operators" in polycmp("toy", "--help").out
    assert polycmp("toy", "nobody").status == 2
    assert polycmp("tony").status == 2


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        (("--help",), ["run", "convert", "toy", "inspect", "plugins"]),
        (("run", "--help"), ["--toy-threads", "--toy-workers", "--toy-mark-all", "--ramp-count", "--atol"]),
        (("convert", "--help"), ["--convert-to", "--toy-outputs"]),
        (("inspect", "model", "--help"), ["--display-as"]),
    ],
)  # fmt: skip
def test_help_texts_show_what_is_installed(polycmp, words, holds):
    done = polycmp(*words)
    assert done.status == 0
    assert [text for text in holds if text not in done.out] == []


@pytest.mark.parametrize("command", ["locate", "invariants", "selftest"])
def test_a_command_whose_package_is_not_installed(polycmp, command):
    done = polycmp(command, "m.toy", "-b", "toy")
    assert done.status == 3
    assert f"pip install polycmp-{'locate' if command == 'locate' else 'checks'}" in done.err


def test_the_version(polycmp):
    import polycmp as package

    assert polycmp("--version").out == f"polycmp {package.__version__}\n"


# --- plugins


def test_the_list_of_plugins(polycmp):
    rows = {row["name"]: row for row in json.loads(polycmp("plugins", "list", "--json").out)["plugins"]}
    assert set(rows) == {"polycmp", "toybox"}
    assert (rows["toybox"]["package"], rows["toybox"]["version"], rows["toybox"]["state"]) == (
        "toybox", "1.0", "incomplete",
    )  # fmt: skip
    provided = {(item["kind"], item["name"]) for item in rows["toybox"]["provides"]}
    assert provided >= {("runner", "toy"), ("loader", "pack"), ("command", "toy ops"), ("compare_func", "signs")}
    assert "a_library_that_nobody_has" in polycmp("plugins", "list").out


def test_everything_that_a_plugin_names_is_imported(polycmp):
    done = polycmp("plugins", "check", "toybox")
    assert done.status == 3
    for target in ("runner:make_runner", "graph:open_graph", "loader:save_packed", "cli:ops", "compare:make_signs"):
        assert f"toybox.{target}" in done.out
    assert done.out.count("problem") == 1
    assert "backend 'needy' of toybox needs the Python module 'a_library_that_nobody_has'" in done.out
    assert polycmp("plugins", "check", "toybax").status == 3


def test_the_command_that_begins_a_plugin_names_its_package(polycmp):
    done = polycmp("plugins", "new", "mine")
    assert done.status == 3
    assert "pip install polycmp-testing" in done.err


def test_plugins_that_are_switched_off(polycmp, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYCMP_PLUGINS", "none")
    rows = json.loads(polycmp("plugins", "list", "--json").out)["plugins"]
    assert [row["state"] for row in rows if row["name"] == "toybox"] == ["disabled"]
