"""The folders of this package: which may import which, and that every name imported from one exists."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "plugins" / "trt" / "src" / "polycmp_trt"
USERS = [
    *(ROOT / "plugins" / "trt").rglob("*.py"),
    *(ROOT / "examples" / "trt").glob("*.py"),
    *(ROOT / "benchmarks").glob("*.py"),
    *(ROOT / "tests").glob("*.py"),
]

#: Folder, or module beside the folders -> what it may import. Each line only names entries from the lines above it.
MAY_IMPORT: dict[str, set[str]] = {
    "types": set(),
    "features": set(),
    "options": set(),
    "checks": {"features", "options"},
    "run": {"types", "features"},
    "build": {"types", "features", "run"},
    "show": {"types", "features", "run", "build"},
    "from_options": {"types", "options", "build"},
    "factory": {"types", "options", "checks", "from_options", "run", "build", "show"},
    "building": {"options"},
    "build_command": {"building"},
    "debug_build": set(),
    "plugin": {"options"},
    "__init__": {"run", "build", "show"},
    "templates": {"options", "from_options", "factory", "__init__"},
    "tools": {"factory", "show"},
}


@cache
def imported(path: Path) -> frozenset[tuple[str, str]]:
    """Every (module, name) that a file imports from this package, wherever in it; the name is empty for `import x`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            found |= {(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
    return frozenset((module, name) for module, name in found if module.partition(".")[0] == "polycmp_trt")


def place(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_folder_imports_only_what_it_may(path):
    places = {(f"{module}.{name}").split(".")[1] or "__init__" for module, name in imported(path)}
    too_far = places - MAY_IMPORT[place(path)] - {place(path)}
    assert not too_far, f"{path.relative_to(SOURCE)} may not import {sorted(too_far)}"


def test_the_table_lists_what_exists_and_has_no_circle():
    assert set(MAY_IMPORT) == {place(path) for path in modules()}
    seen: set[str] = set()
    for name, allowed in MAY_IMPORT.items():
        assert allowed <= seen, f"{name} may import {sorted(allowed - seen)}, which come later"
        seen.add(name)


@pytest.mark.parametrize("path", USERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_imported_name_exists(path):
    """Also in files that run on a GPU only, and inside functions."""
    for module, name in imported(path):
        found = import_module(module)
        if name and not hasattr(found, name):
            import_module(f"{module}.{name}")
