"""Who may import whom: the table of rooms, read from the source of every module."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "core" / "src" / "polycmp"

# Rooms that only hold words and values; anybody may use them.
GROUND = {
    "cores",
    "errors",
    "terminal",
    "values",
    "files",
    "script",
    "options",
    "messages",
    "spec",
    "precision",
    "verdicts",
}
MODELS = {"tensors", "arrays", "calls", "loader", "graph", "runner", "builtin_options", "builtin"}

#: Room -> the rooms it may import. Each line only names rooms from the lines above it.
MAY_IMPORT: dict[str, set[str]] = {
    "records": set(),  # makes classes quickly; whatever room has some may import it
    "errors": set(),
    "cores": set(),
    "toml": set(),
    "deprecation": set(),
    "terminal": {"errors"},
    "messages": {"errors", "terminal"},
    "values": {"errors"},
    "precision": set(),
    "files": {"errors"},
    "activity": set(),
    "ending": {"files"},
    "supervisor": {"activity", "ending", "errors", "terminal"},
    "process": {"ending"},
    "script": {"errors", "files"},
    "spec": {"errors", "values"},
    "options": {"errors", "values", "spec"},
    "verdicts": {"spec"},
    "tensors": {"errors"},
    "arrays": {"errors", "tensors"},
    "loader": {"errors", "files", "script"},
    "graph": {"errors", "tensors", "loader"},
    "runner": {"errors", "files", "arrays", "tensors", "loader"},  # both remember their arguments, for export
    "calls": {"errors", "files", "arrays", "runner", "tensors"},
    "builtin_options": {"spec", "values"},
    "builtin": {"spec", "values", "builtin_options"},
    "plugins": {"errors", "values", "spec", "process", "toml"},
    "model": {*GROUND, "loader", "tensors", "graph", "plugins"},
    "data": {*GROUND, "tensors", "loader", "builtin_options"},
    "compare": {*GROUND, "tensors", "builtin_options"},
    "results": {*GROUND, "tensors", "compare", "plugins"},  # of compare only its verdicts: tested below
    "plan": {"errors", "values", "spec", "options", "builtin", "plugins"},
    "report": {*GROUND, "tensors", "plugins", "compare", "results"},
    "inputs": {*GROUND, "tensors", "plugins", "data", "results", "plan"},
    "runs": {"activity", *GROUND, *MODELS, "plugins", "model", "data", "compare", "results", "plan", "inputs"},
    "session": {*GROUND, *MODELS, "plugins", "compare", "results", "plan", "ending", "runs"},
    # Other names for modules of packages that may not be there.
    "alias": set(),
    "comparator": {"alias"},
    "func": {"alias"},
    "json": {"alias"},
    "logger": {"alias"},
    "testing": {"alias"},
    "command": {*GROUND, "toml", "plugins", "model", "plan", "inputs", "report", "session"},
    "cli": {
        *GROUND,
        *MODELS,
        "plugins",
        "model",
        "plan",
        "inputs",
        "session",
        "report",
        "command",
        "ending",
    },
    "__main__": {"terminal", "cli", "ending", "supervisor"},
    "__init__": set(),
}

#: Room -> what its annotations may name besides: imported by type checkers only, so that the room stays light.
MAY_NAME = {"__main__": {"plugins"}, "report": {"plan"}, "spec": {"compare", "loader", "results", "runner", "tensors"}}

#: What the core knows nothing about: every backend, and the libraries that backends drive. Torch is not among them,
#: since its tensors are also a form in which people hold data.
FOREIGN = {"onnx", "onnxruntime", "openvino", "tensorrt", "pycuda", "tensorflow", "keras", "ai_edge_litert"}


@cache
def modules() -> tuple[Path, ...]:
    return tuple(sorted(CORE.rglob("*.py")))


def room_of(path: Path) -> str:
    first = path.relative_to(CORE).parts[0]
    return first.removesuffix(".py")


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Full names of everything a module imports, wherever in it: at the top, in a function, or for annotations."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= imported_by(node, path)
    return frozenset(names)


def imported_by(node: ast.Import | ast.ImportFrom, path: Path) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    assert node.level == 0, f"{path}:{node.lineno} imports relatively"
    return {f"{node.module}.{alias.name}" for alias in node.names}


@cache
def named_by_annotations(path: Path) -> frozenset[str]:
    """Full names of what only a type checker imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    lines = [node for block in blocks for node in block.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return frozenset(name for node in lines for name in imported_by(node, path))


def rooms_imported(path: Path) -> set[str]:
    names = {name for name in imports_of(path) if name.split(".")[0] == "polycmp"}
    free = {f"polycmp.{room}." for room in MAY_NAME.get(room_of(path), ())}
    names -= {name for name in named_by_annotations(path) if name.startswith(tuple(free))} if free else set()
    parts = [name.split(".") for name in names]
    rooms = {part[1] for part in parts if len(part) > 1 and part[1] in MAY_IMPORT}
    return rooms - {room_of(path), "__init__"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(CORE)))
def test_imports_only_rooms_it_may(path):
    room = room_of(path)
    assert room in MAY_IMPORT, f"the room {room!r} has no line in the table"
    too_far = rooms_imported(path) - MAY_IMPORT[room] - {"records"}
    assert not too_far, f"{room} may not import {sorted(too_far)}"


def test_table_itself_has_no_circle():
    seen: set[str] = set()
    for room, allowed in MAY_IMPORT.items():
        assert allowed <= seen, f"{room} may import {sorted(allowed - seen)}, which come later"
        seen.add(room)


def test_table_lists_only_rooms_that_exist():
    assert set(MAY_IMPORT) == {room_of(path) for path in modules()}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(CORE)))
def test_core_knows_no_backend(path):
    tops = {name.partition(".")[0] for name in imports_of(path)}
    foreign = {name for name in tops if name in FOREIGN or name.startswith("polycmp_")}
    assert not foreign


def test_results_hold_verdicts_and_compare_nothing():
    for path in (CORE / "results").glob("*.py"):
        used = {name for name in imports_of(path) if name.startswith("polycmp.compare")}
        assert all(name.startswith("polycmp.compare.verdicts.") for name in used), f"{path}: {used}"


def test_only_the_command_line_imports_click():
    users = {room_of(path) for path in modules() if any(name.split(".")[0] == "click" for name in imports_of(path))}
    assert users == {"command", "cli"}


#: Packages of ours with public modules, and where they lie.
BASES = {
    "polycmp_api": ROOT / "plugins" / "api" / "src",
    "polycmp_checks": ROOT / "plugins" / "checks" / "src",
    "polycmp_formats": ROOT / "plugins" / "formats" / "src",
    "polycmp_report": ROOT / "plugins" / "report" / "src",
    "polycmp_layerwise": ROOT / "plugins" / "layerwise" / "src",
    "polycmp_onnx": ROOT / "plugins" / "onnx" / "src",
    "polycmp_testing": ROOT / "plugins" / "testing" / "src",
    "polycmp_workers": ROOT / "plugins" / "workers" / "src",
}


def public_modules() -> set[str]:
    """Modules that plugins may import, as the page on the architecture lists them for everybody."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- public modules -->")[2].partition("<!-- end -->")[0]
    packages = "|".join(("polycmp", *BASES))
    return set(re.findall(rf"`((?:{packages})(?:\.\w+)*)`", listed))


def module_of(name: str) -> str:
    """Return the module of an imported name: the longest beginning that is a file."""
    parts = name.split(".")
    bases = {"polycmp": CORE.parent, **BASES}
    for length in range(len(parts), 1, -1):
        path = bases[parts[0]].joinpath(*parts[:length])
        if path.with_suffix(".py").exists() or (path / "__init__.py").exists():
            return ".".join(parts[:length])
    return parts[0]


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("plugins/*/src/**/*.py")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_plugins_import_only_what_is_public(path):
    own = path.relative_to(ROOT / "plugins").parts[2]
    public = public_modules()
    for name in imports_of(path):
        top, _, rest = name.partition(".")
        if top == own or not f"{top}_".startswith("polycmp_"):
            continue
        assert module_of(name) in public, f"{path} imports {name}"
        assert not any(part.startswith("_") and not part.startswith("__") for part in rest.split(".")), name


@pytest.mark.parametrize("page", ["writing-a-backend.md", "writing-a-command.md"])
def test_pages_for_authors_import_only_what_is_public(page):
    """Of the files that they show: what a third party writes from them needs no module that may change."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if re.match(r"\s*(from|import) polycmp", line)]
    nodes = [node for line in lines for node in ast.walk(ast.parse(line.strip()))]
    names = {
        name
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in imported_by(node, Path(page))
    }
    ours = {name for name in names if name.partition(".")[0] in {"polycmp", *BASES}}
    assert ours
    assert {module_of(name) for name in ours} <= public_modules()


def test_every_public_module_exists():
    assert public_modules()
    assert {module_of(name) for name in public_modules()} == public_modules()


@pytest.mark.parametrize("path", sorted(ROOT.glob("plugins/*/src/*/plugin.py")), ids=lambda path: path.parent.name)
def test_light_modules_import_only_the_standard_library_and_the_spec(path):
    own = path.parent.name
    for name in imports_of(path):
        top = name.partition(".")[0]
        allowed = top in sys.stdlib_module_names or name.startswith("polycmp.spec.") or top == own
        assert allowed, f"{path} imports {name}"
