"""Public modules are those that the docs name; the import contracts themselves stand in pyproject.toml."""

from __future__ import annotations

import ast
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "core" / "src" / "polycmp"

#: Plugins of ours, and where they lie.
BASES = {path.name: path.parent for path in ROOT.glob("plugins/*/src/polycmp_*")}


def imported_by(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    return {f"{node.module}.{alias.name}" for alias in node.names}


def public_modules() -> set[str]:
    """Modules that plugins may import, as the page on the architecture lists them."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- public modules -->")[2].partition("<!-- end -->")[0]
    packages = "|".join(("polycmp", *BASES))
    found = re.findall(rf"`((?:{packages})(?:\.\w+)*)`", listed)
    assert len(found) == len(set(found))
    return set(found)


def module_of(name: str) -> str:
    """Return the module of an imported name: the longest beginning that is a file."""
    parts = name.split(".")
    bases = {"polycmp": CORE.parent, **BASES}
    for length in range(len(parts), 1, -1):
        path = bases[parts[0]].joinpath(*parts[:length])
        if path.with_suffix(".py").exists() or (path / "__init__.py").exists():
            return ".".join(parts[:length])
    return parts[0]


def test_plugins_may_import_the_modules_that_the_docs_call_public():
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    allowed = {
        line.removeprefix("** -> ")
        for contract in contracts
        if "import public modules" in contract["name"]
        for line in contract["ignore_imports"]
        if line.startswith("** -> ")
    }
    assert allowed == public_modules() - {"polycmp"}  # which holds the version, and which all modules lie in


@pytest.mark.parametrize("page", ["writing-a-backend.md", "writing-a-command.md"])
def test_pages_for_authors_import_only_what_is_public(page):
    """Of the files that they show: what a third party writes from them needs no module that may change."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if re.match(r"\s*(from|import) polycmp", line)]
    nodes = [node for line in lines for node in ast.walk(ast.parse(line.strip()))]
    names = {name for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for name in imported_by(node)}
    ours = {name for name in names if name.partition(".")[0] in {"polycmp", *BASES}}
    assert ours
    assert {module_of(name) for name in ours} <= public_modules()


#: Types that observers of plugins are given: the frozen contract names them, and stands below all that makes them.
NAMED_BY_THE_CONTRACT = ("polycmp.results.outcome", "polycmp.runs.observers")


def test_there_are_no_circles_of_types_either():
    """Imports for type checkers count here, which the contract in `pyproject.toml` leaves out."""
    grimp = pytest.importorskip("grimp")
    with (ROOT / "pyproject.toml").open("rb") as file:
        packages = tomllib.load(file)["tool"]["importlinter"]["root_packages"]
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=False, cache_dir=None)
    for module in NAMED_BY_THE_CONTRACT:
        graph.remove_import(importer="polycmp.spec.interfaces", imported=module)
    circles = {module: graph.nominate_cycle_breakers(module) for module in graph.modules if graph.find_children(module)}
    assert {module: found for module, found in circles.items() if found} == {}


def test_every_module_that_is_listed_exists():
    listed = public_modules()
    assert listed
    assert {module_of(name) for name in listed} == listed


def test_every_public_module_says_which_of_its_names_are_public():
    for name in sorted(public_modules()):
        module = import_module(name)
        assert module.__all__, name
        if not hasattr(module, "__getattr__"):  # else a name may need a library that is not here
            assert [item for item in module.__all__ if not hasattr(module, item)] == [], name


def test_names_of_public_modules_are_public_private_or_the_kernels():
    """What nobody imports and no `__all__` names has an underscore; what is left serves other modules of the core."""
    imported = "\n".join(path.read_text(encoding="utf-8") for path in CORE.rglob("*.py"))
    for name in sorted(name for name in public_modules() if name.count(".") == 1 and name.startswith("polycmp.")):
        path = CORE / f"{name.partition('.')[2]}.py"
        body = ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else []
        named = {item.name for item in body if isinstance(item, (ast.FunctionDef, ast.ClassDef))}
        set_here = [
            item.targets[0] if isinstance(item, ast.Assign) else item.target
            for item in body
            if isinstance(item, (ast.Assign, ast.AnnAssign))
        ]
        named |= {item.id for item in set_here if isinstance(item, ast.Name)}
        exported = {*import_module(name).__all__}
        statements = re.findall(rf"from {re.escape(name)} import (?:\(([^)]*)\)|(.*))", imported)
        used = {word for statement in statements for word in re.findall(r"\w+", " ".join(statement))}
        assert {item for item in named - exported - used if not item.startswith("_")} == set(), name


def test_plugins_and_what_is_built_in_import_only_names_that_public_modules_export():
    exported = {name: {*import_module(name).__all__} for name in public_modules()}
    statement = re.compile(r"^ *from (polycmp[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
    wrong = []
    for path in sorted([*ROOT.glob("plugins/*/src/**/*.py"), *(CORE / "builtin").rglob("*.py")]):
        own = next(part for part in path.parts if part.startswith("polycmp_") or part == "builtin")
        for module, several, one in statement.findall(path.read_text(encoding="utf-8")):
            names = {item.split(" as ")[0].split("#")[0].strip() for item in (several or one).split(",")} - {""}
            within = {name for name in names if f"{module}.{name}" in exported}
            if module in exported and module.partition(".")[0] != own and names - within - exported[module]:
                wrong.append(f"{path.name}: {module}: {sorted(names - within - exported[module])}")
    assert wrong == []


def test_what_is_not_public_at_the_top_of_the_core_has_an_underscore():
    """But for the commands and what is built in, which are packages of their own with nothing for others."""
    top = {path.stem for path in CORE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    public = {name.split(".")[1] for name in public_modules() if name.startswith("polycmp.")}
    assert {name for name in top - public if not name.startswith("_")} == {"builtin", "cli"}


def test_the_page_on_the_architecture_names_every_room_of_the_core():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = page.partition("## The rooms of the core")[2].partition("\n## ")[0]
    named = [
        room for first in re.findall(r"^\| (`[^|]*) \|", rows, re.MULTILINE) for room in re.findall(r"`(\w+)`", first)
    ]
    rooms = {path.stem for path in CORE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert sorted(named) == sorted(rooms - {"__init__", "__main__"})


@pytest.mark.parametrize("path", sorted(ROOT.glob("plugins/*/src/*/plugin.py")), ids=lambda path: path.parent.name)
def test_light_modules_import_only_the_standard_library_and_the_spec(path):
    own = path.parent.name
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, (ast.Import, ast.ImportFrom))]
    for name in {name for node in nodes for name in imported_by(node)}:
        top = name.partition(".")[0]
        allowed = top in sys.stdlib_module_names or name.startswith("polycmp.spec.") or top == own
        assert allowed, f"{path} imports {name}"
