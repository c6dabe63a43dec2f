"""Builds every distribution as a wheel and uses the wheels where nothing is installed but what they declare to need."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import polycmp

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PROJECTS = {
    "polycmp": "core",
    **{f"polycmp-{path.parent.name}": f"plugins/{path.parent.name}" for path in ROOT.glob("plugins/*/pyproject.toml")},
}
#: Does what `python -m build` does with each folder, by the hooks of the build backend (PEP 517): a wheel of the sdist.
BUILD = """
import os, sys, tarfile
from pathlib import Path
from hatchling.build import build_sdist, build_wheel

target = Path(sys.argv[1])
for name, place in zip(sys.argv[2::2], sys.argv[3::2]):
    built = target / name
    os.chdir(target / "source" / place)
    sdist = build_sdist(str(built))
    with tarfile.open(built / sdist) as archive:
        archive.extractall(target / "unpacked")
    os.chdir(target / "unpacked" / sdist.removesuffix(".tar.gz"))
    build_wheel(str(built))
"""
LEFTOVERS = shutil.ignore_patterns("__pycache__", "*.egg-info", "dist", ".*")


def declared(requirements: list[Requirement]) -> set[str]:
    """Return the names of the installed distributions that requirements lead to, this project's left out."""
    found: set[tuple[str, str]] = set()
    waiting = [(item, extra) for item in requirements for extra in ("", *item.extras)]
    while waiting:
        requirement, extra = waiting.pop()
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        for line in importlib.metadata.requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(needed, wanted) for wanted in ("", *needed.extras)]
    return {name for name, _ in found} - set(PROJECTS)


def link_distributions(names: set[str], folder: Path) -> None:
    """Make distributions of this environment importable from a folder."""
    for name in names:
        distribution = importlib.metadata.distribution(name)
        tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in {"..", "__pycache__"}}
        for top in tops:
            if not (folder / top).exists():
                (folder / top).symlink_to(distribution.locate_file(top))


class Environment:
    """A virtual environment with some of the wheels and, beside them, only what these declare to need."""

    def __init__(self, folder: Path, wheels: list[Path], requirements: list[str]) -> None:
        self.folder = folder
        venv.create(folder / "venv", symlinks=True)
        self.bin = folder / "venv" / "bin"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.bin / "python"]
        options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
        subprocess.run([*pip, "install", *options, *wheels], check=True, capture_output=True)
        site = next((folder / "venv" / "lib").glob("python*/site-packages"))
        link_distributions(declared([Requirement(line) for line in requirements]), site)

    def __call__(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "POLYCMP_PLUGINS"}}
        kept.update(environment)
        command = [self.bin / words[0], *words[1:]]
        return subprocess.run(
            command, cwd=self.folder, env=kept, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """Every distribution's wheel, built from its sdist, and that from a copy with only what git would hand out."""
    target = tmp_path_factory.mktemp("dist")
    (target / "source").mkdir()
    (target / "source" / ".gitignore").write_text("build/\ndist/\n")  # as in most repositories that take a copy in
    for name, place in PROJECTS.items():
        source = target / "source" / place
        shutil.copytree(ROOT / place, source, ignore=LEFTOVERS)
        (target / name).mkdir()
    command = [sys.executable, "-c", BUILD, target, *chain.from_iterable(PROJECTS.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: next((target / name).glob("*.whl")) for name in PROJECTS}


@pytest.fixture(scope="module")
def everything(wheels, tmp_path_factory) -> Environment:
    """All wheels, with ONNX Runtime as the extra `cpu` brings it."""
    requirements = ["polycmp-onnxrt[cpu]" if name == "polycmp-onnxrt" else name for name in PROJECTS]
    environment = Environment(tmp_path_factory.mktemp("everything"), list(wheels.values()), requirements)
    model = environment.folder / "model.onnx"
    subprocess.run([sys.executable, ROOT / "examples" / "make_demo_model.py", model], check=True, capture_output=True)
    return environment


@pytest.fixture(scope="module")
def core_alone(wheels, tmp_path_factory) -> Environment:
    """The core's wheel only."""
    environment = Environment(tmp_path_factory.mktemp("core"), [wheels["polycmp"]], ["polycmp"])
    (environment.folder / "model.onnx").write_bytes(b"\x08\x08")
    return environment


@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_holds_its_package_typed_and_nothing_else(wheels, name):
    package = name.replace("-", "_")
    files = zipfile.ZipFile(wheels[name]).namelist()
    tops = {file.partition("/")[0] for file in files}
    assert {top for top in tops if not top.endswith(".dist-info")} == {package}
    assert f"{package}/py.typed" in files
    assert not [file for file in files if "/tests/" in file or "__pycache__" in file]
    source = wheels[name].parents[1] / "source" / PROJECTS[name] / "src"
    assert {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()} <= set(files)


@pytest.mark.parametrize("name", PROJECTS)
def test_wheel_and_sdist_carry_the_licence_and_the_one_version(wheels, name):
    licence = (ROOT / "LICENSE").read_bytes()
    wheel = zipfile.ZipFile(wheels[name])
    (inside,) = (file for file in wheel.namelist() if file.endswith(".dist-info/licenses/LICENSE"))
    assert wheel.read(inside) == licence
    metadata = next(wheel.read(file).decode() for file in wheel.namelist() if file.endswith(".dist-info/METADATA"))
    assert {f"Version: {polycmp.__version__}", "License-Expression: Apache-2.0"} <= set(metadata.splitlines())
    (sdist,) = wheels[name].parent.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        (inside,) = (member for member in archive.getnames() if member.endswith("/LICENSE"))
        assert archive.extractfile(inside).read() == licence


def test_a_comparison_runs_from_the_wheels(everything):
    where = everything(
        "python", "-c", "import polycmp, polycmp_onnxrt; print(polycmp.__file__, polycmp_onnxrt.__file__)"
    )
    assert where.stdout.count(str(everything.folder)) == 2, where.stdout + where.stderr
    reports = [word for suffix in ("json", "html", "xml", "md") for word in ("--report", f"report.{suffix}")]
    done = everything("polycmp", "run", "model.onnx", "-b", "onnxrt", "-b", "onnx", *reports)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all((everything.folder / name).stat().st_size for name in reports[1::2])
    report = json.loads((everything.folder / "report.json").read_text())
    assert report["verdict"] == "passed"
    assert list(report["inference_results"]) == ["onnxrt", "onnx"]


def test_the_plugins_are_found_from_the_wheels(everything):
    done = everything("polycmp", "plugins", "list", "--json")
    assert done.returncode == 0, done.stderr
    states = {plugin["name"]: plugin["state"] for plugin in json.loads(done.stdout)["plugins"]}
    names = ("polycmp", "onnx", "onnxrt", "pluginref", "report", "locate", "checks")
    assert {name: states.get(name) for name in names} == dict.fromkeys(names, "ok")
    assert states["trt"] in {"ok", "incomplete"}


def test_the_page_for_agents_is_in_the_wheel(everything):
    done = everything("polycmp", "mcp", "--skill")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("---\nname: polycmp\n")


def test_a_new_plugin_is_written_from_the_wheel(everything):
    done = everything("polycmp", "plugins", "new", "mine")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mine" in (everything.folder / "polycmp-mine" / "pyproject.toml").read_text()


def test_the_core_works_alone(core_alone):
    shown = core_alone("polycmp", "--help")
    assert shown.returncode == 0
    assert "polycmp run" in shown.stdout
    listed = core_alone("polycmp", "plugins", "list", "--json")
    assert {plugin["package"] for plugin in json.loads(listed.stdout)["plugins"]} == {"polycmp"}
    assert core_alone("polycmp", "run", "--help").returncode == 0


@pytest.mark.parametrize(
    "backend", ["onnxrt", *(pytest.param(name, marks=pytest.mark.corpus) for name in ("onnx", "trt", "pluginref"))]
)
def test_the_core_alone_names_the_package_that_brings_a_backend(core_alone, backend):
    done = core_alone("polycmp", "run", "model.onnx", "-b", backend)
    assert done.returncode == 3
    assert f"pip install polycmp-{backend}" in done.stderr.replace("'", "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("locate", "polycmp-locate"),
        ("check lint", "polycmp-onnx"),
        ("suite", "polycmp-suite"),
        *(
            pytest.param(command, package, marks=pytest.mark.corpus)
            for command, package in (
                ("invariants", "polycmp-checks"),
                ("selftest", "polycmp-checks"),
                ("mcp", "polycmp-mcp"),
                ("record", "polycmp-record"),
                ("decide", "polycmp-decide"),
                ("template dump", "polycmp-dump"),
                ("tune", "polycmp-tune"),
                ("pipeline", "polycmp-pipeline"),
                ("generate", "polycmp-generate"),
                ("check receipt", "polycmp-receipt"),
            )
        ),
    ],
)
def test_the_core_alone_names_the_package_that_brings_a_command(core_alone, command, package):
    done = core_alone("polycmp", *command.split(), "model.onnx")
    assert done.returncode == 3
    assert f"pip install {package}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--load-outputs", "saved.json", "--report", "r.html"),
        *(
            pytest.param(("run", "--load-outputs", "saved.json", "--report", f"r.{suffix}"), marks=pytest.mark.corpus)
            for suffix in ("xml", "md", "sarif")
        ),
        ("run", "model.onnx", "--save-heatmaps", "maps"),
    ],
    ids=lambda words: words[-1],
)
def test_the_core_alone_names_the_package_that_writes_a_report(core_alone, words):
    done = core_alone("polycmp", *words)
    assert done.returncode == 3
    assert "pip install polycmp-report" in done.stderr.replace("'", "")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.fixture(scope="module")
def tensorrt_alone(wheels, tmp_path_factory) -> Environment:
    """What `polycmp-trt[cu12]` brings where NVIDIA's own libraries are not to be had: wheels, and no compiler."""
    names = ("polycmp", "polycmp-locate", "polycmp-onnx", "polycmp-samples", "polycmp-trt")
    environment = Environment(tmp_path_factory.mktemp("trt"), [wheels[name] for name in names], list(names))
    site = next((environment.folder / "venv" / "lib").glob("python*/site-packages"))
    link_distributions({"cuda-bindings", "cuda-pathfinder"}, site)
    model = environment.folder / "model.onnx"
    subprocess.run([sys.executable, ROOT / "examples" / "make_demo_model.py", model], check=True, capture_output=True)
    return environment


@pytest.mark.skipif(sys.platform != "linux", reason="cuda-bindings are looked for on Linux")
def test_tensorrt_s_package_needs_no_compiler_and_says_what_is_missing(tensorrt_alone):
    nothing = str(tensorrt_alone.folder)  # neither nvcc nor a C compiler on the path
    ask = (
        "import shutil, polycmp_trt; assert not shutil.which('nvcc') and not shutil.which('cc')\n"
        "from polycmp.errors import PolycmpError\n"
        "from polycmp_trt.run.cuda import driver\n"
        "try:\n    print('devices', driver().Device.count())\n"
        "except PolycmpError as error:\n    print(error.what, error.why, error.hint)"
    )
    done = tensorrt_alone("python", "-c", ask, PATH=nothing)
    assert done.returncode == 0, done.stderr
    assert "devices" in done.stdout or ("CUDA cannot start" in done.stdout and "nvidia-smi" in done.stdout)
    done = tensorrt_alone("polycmp", "run", "model.onnx", "-b", "trt", PATH=nothing)
    assert done.returncode == 3
    assert "needs the Python module 'tensorrt', which is not installed" in done.stdout + done.stderr
    assert "pip install 'polycmp-trt[cu12]'" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
