"""What every package says about itself: licence, version, links, ranges, extras; and the files that list packages."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import package_lists
import pytest
from in_process import plugins_installed
from packaging.requirements import Requirement

import polycmp
from polycmp.plugins.known import known_names

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT / "core", *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
#: Packages that need a GPU, a framework or a web stack, and the one for programs of another tool: not in `full`.
NOT_FULL = {
    "polycmp-executorch",
    "polycmp-iree",
    "polycmp-jax",
    "polycmp-mcp",
    "polycmp-mnn",
    "polycmp-ncnn",
    "polycmp-openvino",
    "polycmp-polygraphy",
    "polycmp-tf",
    "polycmp-torch",
    "polycmp-tract",
    "polycmp-trt",
    "polycmp-trtexec",
    "polycmp-tvm",
    "polycmp-web",
}
#: Files besides the packages' own that write the range of versions that go together.
RANGES = (
    "core/src/polycmp/plugins/discovery.py",
    "core/tests/fakes/__init__.py",
    "docs/writing-a-backend.md",
    "core/src/polycmp/builtin/plugin_tools/scaffold.py",
)


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


NAMES = {project(folder)["project"]["name"]: folder for folder in FOLDERS}
EACH = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def requirements(folder: Path) -> list[Requirement]:
    table = project(folder)["project"]
    lines = [*table["dependencies"], *(line for extra in table["optional-dependencies"].values() for line in extra)]
    return [Requirement(line) for line in lines]


@EACH
def test_a_package_says_what_an_index_shows(folder):
    table = project(folder)["project"]
    assert table["license"] == "Apache-2.0"
    assert table["license-files"] == ["LICENSE"]
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert {"Homepage", "Source", "Documentation", "Changelog", "Issues"} <= set(table["urls"])
    assert table["urls"]["Source"].endswith("/" + folder.relative_to(ROOT).as_posix())
    assert table["authors"]
    assert table["keywords"]
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)} <= set(table["classifiers"])
    assert table["requires-python"] == ">=3.10"


@EACH
def test_all_packages_have_the_version_of_the_core(folder):
    everything = project(folder)
    assert everything["project"]["dynamic"] == ["version"]
    path = folder / everything["tool"]["hatch"]["version"]["path"]
    assert path.resolve() == Path(ROOT / "core/src/polycmp/__init__.py")


@EACH
def test_packages_that_go_together_are_asked_for_by_one_range(folder):
    """A new minor version has to change the range everywhere at once."""
    ours = [item for item in requirements(folder) if item.name in NAMES]
    (wanted,) = {str(item.specifier) for item in requirements(ROOT / "plugins/onnx") if item.name == "polycmp"}
    assert {str(item.specifier) for item in ours} <= {wanted}
    assert Requirement(f"polycmp{wanted}").specifier.contains(polycmp.__version__, prereleases=True)
    assert folder.name == "core" or "polycmp" in {item.name for item in ours}


@pytest.mark.parametrize("path", RANGES)
def test_the_range_is_the_same_elsewhere(path):
    (wanted,) = {item.specifier for item in requirements(ROOT / "plugins/onnx") if item.name == "polycmp"}
    found = re.findall(r">=[\w.]+,<[\w.]+", (ROOT / path).read_text(encoding="utf-8"))
    ours = {Requirement(f"polycmp{text}").specifier for text in found if "dev" in text or text.startswith(">=0.1")}
    assert ours == {wanted}


@EACH
def test_every_dependency_of_others_has_a_lower_bound(folder):
    bare = [str(item) for item in requirements(folder) if ">=" not in str(item.specifier)]
    assert not bare


def test_full_brings_all_that_needs_neither_gpu_nor_framework():
    full = project(ROOT / "core")["project"]["optional-dependencies"]["full"]
    ours = {Requirement(line).name for line in full} & set(NAMES)
    assert ours == set(NAMES) - NOT_FULL - {"polycmp"}


@EACH
def test_the_page_of_a_package_says_what_its_extras_bring(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    extras = set(project(folder)["project"]["optional-dependencies"]) - {"testing"}
    assert [extra for extra in extras if f"[{extra}]" not in page and f"`{extra}`" not in page] == []


@EACH
def test_links_of_a_package_work_on_an_index(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", page)
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    here = [target for target in targets if target.startswith("https://github.com/polycmp/polycmp/blob/main/")]
    paths = [target.partition("/blob/main/")[2].partition("#")[0] for target in here]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("folder", FOLDERS[1:], ids=lambda folder: folder.name)
def test_a_package_is_in_the_readme(folder):
    assert f"(plugins/{folder.name}/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_a_package_brings_is_named_to_those_who_lack_it():
    """The tables of core/src/polycmp/plugins/known.toml, which answer for what is not installed."""
    registry, known = plugins_installed(), known_names()
    assert set(registry.runners) - set(known.backends) == set()
    kinds = (
        *(registry.commands, registry.data_loaders, registry.reports, registry.formats),
        *(registry.tolerances, registry.pairings, registry.services),
    )
    brought = [item for contributions in kinds for item in contributions.values() if item.distribution != "polycmp"]
    assert {"command", "report", "service"} <= {item.kind for item in brought}
    lacking = {
        f"{item.plugin}: {item.kind} {item.name}"
        for item in brought
        if not {item.name, item.name.split()[0]} & set(known.brought[item.kind])
    }
    # Nobody asks for these by name: the one comes with `--steps`, the other with a variable of GitHub's.
    assert lacking == {"checks: data_loader steps", "report: report github"}
    groups = {name.split()[0] for name in registry.commands}
    assert set(known.brought["command"]) - set(registry.commands) - groups == set()


def test_lists_of_packages_are_as_they_are_written():
    """`make tables` writes them."""
    for path, text in package_lists.files().items():
        assert path.read_text(encoding="utf-8") == text, path


def test_every_folder_of_a_package_that_is_named_exists():
    """Some of the tools that take these names from files run once in a while only."""
    kinds = {"", ".md", ".py", ".yml"}
    folders = (".github", "benchmarks", "docs", "examples", "tests", "truth")
    files = [*ROOT.glob("*.*"), ROOT / "Makefile", *(path for name in folders for path in ROOT.glob(f"{name}/**/*.*"))]
    read = [path for path in files if path.suffix in kinds and path.name != "CHANGELOG.md" and path.is_file()]
    pattern = re.compile(r"(?<!/)plugins/([a-z]\w*)(?!\w*\.(?:py|toml))")  # modules of the core are named by files
    named = {(path.name, name) for path in read for name in pattern.findall(path.read_text("utf-8"))}
    assert {name for _, name in named} >= {folder.name for folder in FOLDERS[1:]}
    assert {(path, name) for path, name in named if not (ROOT / "plugins" / name).is_dir()} == set()


def test_the_reference_on_the_site_shows_public_modules_only():
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    listed = page[page.index("<!-- public modules -->") : page.index("<!-- end -->")]
    public = set(re.findall(r"`(polycmp[\w.]*)`", listed)) | {"polycmp_onnxrt"}
    pages = sorted((ROOT / "docs/reference").glob("*.md"))
    block = re.compile(r"^::: (\S+)$(?:\n    options:\n      members: \[([^]]*)\])?", re.MULTILINE)
    blocks = [found.groups() for path in pages for found in block.finditer(path.read_text("utf-8"))]
    exported = [name for name, members in blocks if members and {*members.split(", ")} <= {*polycmp.__all__}]
    shown = [name for name, _ in blocks if name not in exported]  # `polycmp` gives these names from where they are
    assert shown and exported
    backends = tuple(f"polycmp_{name}." for name in ("openvino", "torch", "tf", "trt", "pluginref"))  # for programs
    assert [name for name in shown if name not in public and not name.startswith(backends)] == []


def test_the_site_has_every_page():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]
    assert [page for page in pages if f": {page}\n" not in settings] == []
