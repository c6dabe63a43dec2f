"""That the core really is alone while its tests run, and that these tests reach all of it."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest
from absent import LIBRARIES
from toymodels import drawn, node, number, small, write

import polycmp
from polycmp.plugins import Registry

HERE = Path(__file__).parent
CORE = Path(polycmp.__file__).parent

#: Command lines that together come through every module that no test imports by itself.
TOUR = (
    "run m.toy -b toy:fault=add,at=y -b plain --save-inputs i.box --save-outputs o.box --save-input-blob blobs"
    " --report r.json --validate --compare simple gap",
    "run m.toy -b toy --report r.html",
    "run m.toy -b toy -b plain --load-inputs i.box --load-outputs o.box --write-config run.toml -v",
    "run --config run.toml --check-error-stat max",
    "run m.toy -b plain --save-outputs p.box",
    "run m.toy -b toy -b shut -b plain --compare-func-script c.py --data-loader-script d.py",
    "run m.toy --trt",
    "run m.toy -b toy:mark_all -b plain --toy-mark-all",
    "run m.toy -b toy -b plain --toy-mark-all --tolerance auto",
    "run m.toy -b toy -b plain:model=one.toy --toy-mark-all",
    "run pair.toy -b toy -b plain:model=renamed.toy",
    "run still.toy -b toy -b plain",
    "convert m.toy -o m.packed",
    "plugins list",
    "toy ops m.toy",
)
#: A model whose output no input moves, although by its graph one might.
STILL = {"zero": number(0.0), "w": drawn(8, 8)}
#: Modules for our own plugins alone, tested there.
SHARED = {"polycmp.plan.schema", "polycmp.report.along"}
#: Built-in plugins, and the modules by which programs reach them.
BUILT_IN = (
    "builtin", "comparator.py", "func.py", "json.py", "debug.py", "judging.py", "layerwise.py", "logger.py", "testing",
)  # fmt: skip
DRIVER = "import sys; from polycmp.cli.main import main; [main(line.split()) for line in sys.stdin.read().splitlines()]"


def modules_of_the_core():
    """Return the names of the kernel's modules, as their files say; built-in plugins have tests beside each."""
    for path in CORE.rglob("*.py"):
        if path.relative_to(CORE).parts[0] in BUILT_IN:
            continue
        parts = path.relative_to(CORE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_by_tests():
    """Return the modules that the tests of the core import in their own text."""
    for path in HERE.rglob("test_*.py"):
        for item in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(item, ast.ImportFrom) and (item.module or "").startswith("polycmp"):
                yield item.module
                names = [alias.name for alias in item.names]
                yield from (f"{item.module}.{name}" for name in names)
                found = [getattr(importlib.import_module(item.module), name, None) for name in names]
                yield from (str(getattr(value, "__module__", "")) for value in found)
            elif isinstance(item, ast.Import):
                yield from (alias.name for alias in item.names)


def test_every_module_of_the_core_is_imported_by_a_test_of_its_own(toybox, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    small(tmp_path / "m.toy")
    write(tmp_path / "one.toy", [node("Relu", "x", "y")])
    write(tmp_path / "still.toy", [node("Mul", "x zero", "t"), node("Add", "t w", "y")], STILL)
    for name, inputs in {"pair": ("a", "b"), "renamed": ("c", "d")}.items():
        nodes = [node("Relu", inputs[0], "r"), node("Add", f"r {inputs[1]}", "y")]
        write(tmp_path / f"{name}.toy", nodes, inputs={item: ["float32", [4]] for item in inputs})
    (tmp_path / "c.py").write_text("def compare_outputs(one, two):\n    return {name: True for name in one}\n")
    (tmp_path / "d.py").write_text(
        "import numpy as np\ndef load_data():\n    yield {'x': np.ones((2, 8), np.float32)}\n"
    )
    monkeypatch.setenv("POLYCMP_TEST_MODULES", str(tmp_path / "modules"))
    command = [sys.executable, "-c", DRIVER]
    done = subprocess.run(command, cwd=tmp_path, input="\n".join(TOUR), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "fault of polycmp itself" not in done.stderr
    subprocess.run([sys.executable, "-m", "polycmp", "--version"], cwd=tmp_path, capture_output=True, check=True)
    seen = {*(tmp_path / "modules").read_text().split(), *imported_by_tests()}
    assert sorted(set(modules_of_the_core()) - seen - SHARED) == []


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_what_the_core_must_do_without_cannot_be_imported(name):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.distribution(name)


def test_no_plugin_of_ours_is_found_here(toybox):
    assert {record.name for record in Registry.discover({}).records if not record.is_builtin} == {"toybox"}


def test_no_plugin_of_ours_is_found_in_a_process_that_is_started(toybox):
    command = [sys.executable, "-m", "polycmp", "plugins", "list", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {row["package"] for row in json.loads(done.stdout)["plugins"]} == {"polycmp", "toybox"}
    done = subprocess.run([sys.executable, "-c", "import onnx"], capture_output=True, text=True, check=False)
    assert "No module named 'onnx'" in done.stderr
