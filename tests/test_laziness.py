"""What each command imports, seen in real processes: nothing at level 0, light modules at level 1, heavy ones last."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fakes import FakeSite, runner
from in_parts import a_few

HEAVY = {"numpy", "ml_dtypes", "onnx", "onnxruntime", "tensorrt", "pycuda", "matplotlib", "safetensors", "torch"}
OURS = ("checks", "locate", "onnx", "onnxrt", "pluginref", "report", "testing", "trt")
PLUGINS = {f"polycmp_{name}" for name in OURS} | {"fake_light"}

#: Runs one command line and reports on what was stdout which modules it imported.
PROBE = """
import json, os, sys
pipe = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from polycmp.cli.main import run
status = run(sys.argv[1:])
pipe.write(json.dumps([status, sorted(sys.modules)]))
pipe.flush()
"""


@pytest.fixture
def site(tmp_path):
    site = FakeSite(tmp_path / "site")
    site.plugin("light", runner("light", factory="fake_heavy:make"))
    (site.folder / "fake_heavy.py").write_text("raise AssertionError('nobody asked for it')\n")
    return site


def modules_after(site, *args):
    """The exit status of one command, and every module it imported, also by its top-level name."""
    result = site.python("-c", PROBE, *args)
    assert result.stdout, result.stderr
    status, names = json.loads(result.stdout)
    return status, set(names) | {name.partition(".")[0] for name in names}


def test_the_version_imports_no_plugin_and_only_click(site):
    status, names = modules_after(site, "--version")
    assert status == 0
    assert not names & PLUGINS
    assert not names & HEAVY
    assert not names & {"rich", "packaging", "asyncio"}


@pytest.mark.parametrize(
    "flag", ["-b", *(pytest.param(flag, marks=pytest.mark.corpus) for flag in ("--backend", "--backend="))]
)
def test_a_comparison_imports_no_more_than_it_needs(site, flag, tmp_path, monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    model = tmp_path / "relu.onnx"
    text = '<ir_version: 8, opset_import: ["": 17]> relu (float[4] x) => (float[4] y) { y = Relu(x) }'
    onnx.save(onnx.parser.parse_model(text), model)
    backend = ["--backend=onnxrt"] if flag.endswith("=") else [flag, "onnxrt"]
    status, names = modules_after(site, "run", str(model), *backend, "-b", "onnxrt", "--quiet")
    assert status == 0
    needed = "import click, pluggy, numpy.random, onnxruntime, rich.text, sys; print(*sys.modules)"
    theirs = set(site.python("-c", needed).stdout.split())
    needless = {
        *("tomllib", "tomli", "difflib", "rich.console"),
        *("polycmp.results.files", "polycmp.results.formats", "polycmp.plugins.known", "polycmp.plan.schema"),
        *("polycmp.runs.lacking", "polycmp.session.plain_outputs", "polycmp.session.upstream"),
    }
    assert not names & (needless - theirs)


def test_the_reference_imports_the_operators_of_the_model(site, tmp_path):
    text = """<ir_version: 8, opset_import: ["": 17]>
              sums (float[4] x) => (float[4] y) <int64 axis = {0}> { y = CumSum(x, axis) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "sums.onnx")
    status, names = modules_after(site, "run", str(tmp_path / "sums.onnx"), "-b", "onnx", "--quiet")
    assert status == 0
    modules = {name.rpartition(".")[2] for name in names if name.startswith("polycmp_onnx.operators.")}
    assert "versions" in modules
    assert not modules & {"microsoft", "learning", "recurrent", "pooling"}


@pytest.mark.parametrize("args", [["--help"], ["inspect", "--help"], ["plugins", "--help"]])
def test_a_list_of_commands_imports_light_modules_only(site, args):
    status, names = modules_after(site, *args)
    assert status == 0
    assert "fake_light" in names
    assert not names & HEAVY
    assert not names & {
        "rich",
        "packaging",
        "asyncio",
        "pytest",
        "fake_heavy",
        "polycmp.cli.run",
        "polycmp.cli.plugins",
    }
    if args == ["--help"]:  # nothing that carries the commands out
        assert not names & {"polycmp.command", "polycmp.plan"}


@pytest.mark.parametrize("args", a_few([["plugins", "list"], ["plugins", "list", "--json"]]))
def test_listing_plugins_imports_none_of_them_here(site, args):
    status, names = modules_after(site, *args)
    assert status == 0
    assert not names & PLUGINS
    assert not names & HEAVY


def test_checking_plugins_imports_nothing_heavy_here(site):
    status, names = modules_after(site, "plugins", "check", "light")
    assert status == 3
    assert not names & (HEAVY | {"pytest", "fake_heavy"})


def test_help_of_run_imports_light_modules_and_nothing_heavy(site):
    status, names = modules_after(site, "run", "--help")
    assert status == 0
    assert "fake_light" in names
    assert not names & HEAVY
    assert not names & {"rich", "fake_heavy", "polycmp.plan.plan", "polycmp.plan.build"}


def test_run_that_cannot_begin_imports_no_heavy_part_of_any_backend(site):
    status, names = modules_after(site, "run", "model.onnx", "-b", "nothing_of_this_name")
    assert status == 3
    assert "fake_light" in names
    assert not names & (HEAVY - {"numpy", "ml_dtypes"})  # the core's own engine has those
    assert "fake_heavy" not in names


def test_plugins_switched_off_are_not_imported(site):
    result = site.python("-c", PROBE, "run", "--help", POLYCMP_PLUGINS="none")
    names = set(json.loads(result.stdout)[1])
    assert not names & PLUGINS


def test_heavy_code_is_imported_when_a_runner_is_asked_for(site, tmp_path):
    onnx = pytest.importorskip("onnx")
    value = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, [1])], [value("y", 1, [1])])
    onnx.save(onnx.helper.make_model(graph), tmp_path / "m.onnx")
    result = site.polycmp("run", tmp_path / "m.onnx", "-b", "light")
    assert result.returncode == 3
    assert "nobody asked for it" in result.stderr + result.stdout


def test_rooms_that_light_code_uses_import_without_numpy(site):
    rooms = "polycmp, polycmp.spec, polycmp.plugins, polycmp.options, polycmp.plan"
    result = site.python("-c", f"import sys, json, {rooms}; print(json.dumps(list(sys.modules)))")
    assert not set(json.loads(result.stdout)) & HEAVY


def test_importing_the_package_imports_nothing_else(site):
    code = (
        "import sys; import __future__; old = set(sys.modules); import polycmp; print(sorted(set(sys.modules) - old))"
    )
    assert site.python("-c", code).stdout.strip() == "['polycmp']"
