"""What only our own contributions could once do, or what the core knew of them by name: each must stay away.

Facts about a plugin stand in its descriptors (`polycmp.spec`), and what objects offer in Protocols and base classes. So
nothing is found out by looking at signatures and attributes, and nothing outside the module that contributes a thing
knows its name. `plugins/known.toml` alone names packages that are not installed.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from type_checking import mypy

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "core" / "src" / "polycmp"
PLUGINS = ROOT / "plugins"

#: The modules of the kernel that name what it contributes itself: the choices where a user makes none.
DEFAULTS = {"plan/defaults.py"}
#: What is built in, and the conformance kit, are plugins like others and name their own.
PLUGINS_INSIDE = ("builtin/", "testing/")


@cache
def sources(*folders: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for folder in folders for path in folder.rglob("*.py")))


def all_sources() -> tuple[Path, ...]:
    return sources(CORE, *sorted(PLUGINS.glob("*/src")))


def tree(path: Path) -> ast.Module:
    """The syntax tree of a file; none is kept, for those of all files are millions of objects."""
    return ast.parse(path.read_text(encoding="utf-8"))


def texts(path: Path) -> list[tuple[int, str]]:
    """Every text that is a value, with its line."""
    nodes = list(ast.walk(tree(path)))
    documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in documentation]
    return [(node.lineno, node.value) for node in constants if isinstance(node.value, str)]


def calls(path: Path) -> list[ast.Call]:
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]


def code(path: Path) -> str:
    """The code without comments and documentation."""
    text = ast.unparse(tree(path))
    return re.sub(r'^\s*""".*?"""$', "", text, flags=re.MULTILINE | re.DOTALL)


def where(path: Path) -> str:
    return str(path.relative_to(ROOT))


def inside(path: Path) -> str:
    return str(path.relative_to(CORE))


def naming(words: tuple[str, ...], paths: tuple[Path, ...]) -> list[Path]:
    """The files in which any of these words stand: only their code has to be looked at."""
    return [path for path in paths if any(word in path.read_text(encoding="utf-8") for word in words)]


# --- 1, 10: signatures

#: Functions of users, who write no descriptor, and records of arguments.
LOOKS_AT_SIGNATURES = {
    "core/src/polycmp/loader.py": "defaults of a loader's own arguments, to show it as source code",
    "core/src/polycmp/builtin/api/func.py": "the parameters of a user's function that extends a loader",
    "core/src/polycmp/compare/scripted.py": "a user's compare script may take one output or all",
    "plugins/pluginref/src/polycmp_pluginref/operators.py": "attributes of its own references",
    "plugins/trt/src/polycmp_trt/build/calibrator.py": "a user's own iterables and functions in Python programs",
    "plugins/polygraphy/src/polycmp_polygraphy/mod/exporter.py": "arguments of a program's own loader",
    "plugins/torch/src/polycmp_torch/model.py": "a user's own module, whose arguments name its inputs",
    "plugins/jax/src/polycmp_jax/model.py": "a user's own function, whose arguments name its inputs",
}


def test_no_factory_is_asked_for_its_parameters():
    asking = naming(("signature",), all_sources())
    found = {where(path) for path in asking if re.search(r"\b(inspect\.)?signature\(", code(path))}
    assert found == set(LOOKS_AT_SIGNATURES)


# --- 2, 3: compare functions


def test_no_compare_function_is_probed_for_what_its_descriptor_says():
    told = ("judge_metrics", "at_most", "larger_is_better")
    probing = re.compile(rf"attr\(.*({'|'.join(told)})")
    found = {where(path) for path in naming(told, all_sources()) if probing.search(code(path))}
    # A class in a user's compare script has no descriptor.
    assert found <= {"core/src/polycmp/builtin/observers/averages.py"}


def test_detailed_verdicts_are_public_and_documented():
    from polycmp import compare

    page = (ROOT / "docs" / "writing-a-backend.md").read_text(encoding="utf-8")
    assert set(compare.__all__) >= {"DetailedVerdict", "ErrorStats", "Histogram", "Worst"}
    for name in ("polycmp.compare", "DetailedVerdict", "ErrorStats", "Histogram", "judge_metrics", "rejudges"):
        assert name in page


# --- 4, 5, 11, 12, 13: names


@pytest.mark.parametrize("name", ["simple", "random", "stress", "faulty", "trt", "engine", "trt-network"])
def test_the_core_knows_no_contribution_by_name(name):
    found = []
    for path in naming((f'"{name}"',), sources(CORE)):
        if inside(path) in DEFAULTS or inside(path).startswith(PLUGINS_INSIDE):
            continue
        found += [f"{where(path)}:{line}" for line, text in texts(path) if text == name]
    assert not found


def test_help_texts_name_no_backend():
    words = re.compile(r"\b(trt|tensorrt|onnxrt|onnxruntime|tensorflow)\b", re.IGNORECASE)
    found = [
        f"{where(path)}:{keyword.value.lineno}"
        for path in sources(CORE)
        if words.search(path.read_text(encoding="utf-8"))
        for call in calls(path)
        for keyword in call.keywords
        if keyword.arg == "help" and words.search(ast.unparse(keyword.value))
    ]
    assert not found


def test_a_hidden_backend_is_one_by_its_descriptor():
    from polycmp.plugins import Registry

    registry = Registry.discover({"POLYCMP_PLUGINS": "checks"})
    faulty = registry.find_runner("faulty")
    assert faulty.spec.hidden
    assert "faulty" not in registry.runners
    assert faulty not in registry.unique_contributions


# --- 8, 9: model handles and loaders


def test_the_protocol_has_all_that_a_model_offers_plugins():
    from polycmp.spec import ModelHandle

    promised = {name for name in vars(ModelHandle) if name[0] != "_"}
    assert promised == {"path", "source", "kind", "input_shapes", "data_loader", "structure", "load"}
    used = set()
    for path in naming(("ModelHandle",), sources(*sorted(PLUGINS.glob("*/src")))):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef) and any(
                argument.annotation is not None and "ModelHandle" in ast.unparse(argument.annotation)
                for argument in (*node.args.args, *node.args.kwonlyargs)
            ):
                used |= {
                    item.attr
                    for item in ast.walk(node)
                    if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id == "model"
                }
    assert {"load", "kind", "input_shapes", "data_loader"} <= used <= promised


# --- types


def test_what_a_registry_loads_is_typed_by_its_descriptor(tmp_path):
    file = tmp_path / "use.py"
    file.write_text(
        "from polycmp.plugins import Registry\n"
        "registry = Registry.discover()\n"
        "reveal_type(registry.load(registry.find_runner('x')))\n"
        "reveal_type(registry.load(registry.find_loader('x')))\n"
        "reveal_type(registry.load(registry.find_data_loader('x')))\n"
        "reveal_type(registry.load(registry.find_compare_func('x')))\n"
        "reveal_type(registry.load(registry.find_report('x')))\n"
    )
    told = mypy(file)
    revealed = re.findall(r'Revealed type is "polycmp\.spec\.interfaces\.(\w+)"', told)
    expected = ["RunnerFactory", "LoaderFactory", "DataLoaderFactory", "CompareFactory", "ReportFactory"]
    assert revealed == expected, told


@pytest.mark.parametrize("package", ["onnx", "onnxrt", "trt"])
def test_a_type_checker_sees_misspelt_names(package):
    top = PLUGINS / package / "src" / f"polycmp_{package}" / "__init__.py"
    guards = [node for node in tree(top).body if isinstance(node, ast.If)]
    hidden = [ast.unparse(node.test) for node in guards if "__getattr__" in ast.unparse(node)]
    assert hidden == ["not TYPE_CHECKING"]
