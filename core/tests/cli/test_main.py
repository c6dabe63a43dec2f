"""Models and plugins of a third party: contributed commands, `plugins`, help texts."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from fakes import FakeSite
from toymodels import small

TOYBOX = Path(__file__).parents[1] / "toydist" / "toybox"
GUIDE = Path(__file__).parents[3] / "docs" / "writing-a-backend.md"
#: What a plugin may import. The first six are what `docs/writing-a-backend.md` imports; the others are what
#: `polycmp.spec` names for those who bring a view of their models as graphs, or a type of files.
PUBLIC = {"spec", "runner", "tensors", "loader", "errors", "compare", "graph", "results"}


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
    assert {name.partition(".")[0] for name in PUBLIC} - {"graph"} <= named


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
        (("--help",), ["run", "toy", "plugins"]),
        (("run", "--help", "all"), ["--toy-threads", "--toy-workers", "--toy-mark-all", "--ramp-count", "--atol"]),
    ],
)  # fmt: skip
def test_help_texts_show_what_is_installed(polycmp, words, holds):
    done = polycmp(*words)
    assert done.status == 0
    assert [text for text in holds if text not in done.out] == []


def test_commands_stand_in_sections_by_what_they_are_for(polycmp):
    shown = polycmp("--help").out.partition("Compare:\n")[2]
    comparing, _, rest = shown.partition("Find the fault:\n")
    finding, _, others = rest.partition("Other commands:\n")
    assert [line.split()[0] for line in comparing.splitlines() if line] == ["compare", "run"]
    assert finding.split()[0] == "debug"
    assert {"plugins", "toy"} <= {line.split()[0] for line in others.splitlines() if line}


def test_a_command_for_an_unknown_purpose_is_a_fault_of_its_plugin(polycmp, tmp_path_factory, monkeypatch):
    site = FakeSite(tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(str(site.folder))
    light = (
        "from polycmp.spec import CommandSpec, hookimpl\n@hookimpl\ndef polycmp_commands():\n"
        "    yield CommandSpec(('odd',), 'Odd.', 'odd_heavy:odd', purpose='finds')\n"
    )
    site.install("fake-odd", {"odd": "odd_light"}, {"odd_light.py": light})
    assert "no purpose 'finds' of a command; did you mean 'find'" in polycmp("plugins", "list").words


@pytest.mark.parametrize(
    ("words", "package"),
    [
        ("locate m.toy -b toy", "locate"),
        ("invariants m.toy -b toy", "checks"),
        ("selftest m.toy -b toy", "checks"),
        ("convert m.toy -o m.packed", "onnx"),
        ("inspect model m.toy", "onnx"),
        ("surgeon sanitize m.toy -o m2.toy", "onnx"),
        ("check lint m.toy", "onnx"),
    ],
)
def test_a_command_whose_package_is_not_installed(polycmp, words, package):
    done = polycmp(*words.split())
    assert done.status == 3
    assert f"pip install polycmp-{package}" in done.err


def test_the_version(polycmp):
    import polycmp as package

    assert polycmp("--version").out == f"polycmp {package.__version__}\n"
