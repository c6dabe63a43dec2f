"""Builds the package of docs/writing-a-backend.md from its blocks, installs it, and runs every command shown there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import reference_table
from fakes import FakeSite

tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

PAGE = Path(__file__).parents[3] / "docs" / "writing-a-backend.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks():
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def commands():
    """Yield each shown command with the exit status that its comment promises."""
    for language, text in blocks():
        for line in text.splitlines() if language == "sh" else ():
            command, _, comment = line.partition("  # exit status ")
            yield command.strip(), int(comment or 0)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The example's folder, with its files written and its distribution installed beside them."""
    folder = tmp_path_factory.mktemp("fewbits")
    for language, text in blocks():
        if language not in {"python", "toml"}:
            continue
        first, _, body = text.partition("\n")
        place = re.fullmatch(r"# (\S+)( \(add\))?", first)
        assert place, f"a block of {PAGE.name} does not begin with the name of its file: {first}"
        file = folder / place[1]
        assert file.exists() == bool(place[2]), f"{place[1]} is written twice, or added to before it is there"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"\n\n{body}" if place[2] else body)
    install(folder)
    return folder


def install(folder):
    """Write the metadata that an installer would make from pyproject.toml."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / "src" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [f"Requires-Dist: {line}" for line in project["dependencies"]]
    (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    groups = []
    for group, names in project["entry-points"].items():
        groups.append(f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in names.items()))
    (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")


def run(command, folder):
    """Run a command as a shell would; those that are polycmp's and nothing else without one."""
    program, *words = shlex.split(command)
    if program == "polycmp" and not {"|", ">", "&&", ";"} & set(words):
        return FakeSite(folder / "src").polycmp(*words, cwd=folder)
    folders = [str(folder / "src"), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)), "PATH": path}
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_every_command_shown_does_what_the_page_says(package):
    pytest.importorskip("polycmp_onnxrt")  # the page compares with ONNX Runtime, too
    shown = list(commands())
    assert {status for _, status in shown} == {0, 1, 3}
    for command, status in shown:
        done = run(command, package)
        assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, command


def test_the_example_shows_up_everywhere(package):
    listed = run("polycmp plugins list --json", package).stdout
    for name in ("fewbits", "same_class", "ramp", "chain", "fewbits weights", "csv"):
        assert f'"{name}"' in listed
    text = run("polycmp run --help all", package).stdout
    for flag in ("--fewbits-bits", "--ramp-feeds", "--same-class-share"):
        assert flag in text
    refused = run("python make_model.py && polycmp run model.onnx -b fewbits:bits=40", package)
    assert refused.returncode == 2
    assert "bits" in refused.stderr


def test_the_smallest_backend_that_can_be_looked_inside_is_looked_inside(package):
    (package / "wave.formula").write_text("a = mul x x\nb = tanh a\nc = add b x\n", encoding="utf-8")
    command = "polycmp locate wave.formula -b formula:exact=false -b formula --input-shapes x:[8]"
    done = run(command, package)
    assert (done.returncode, "tanh 'b' computes 'b'" in " ".join(done.stdout.split())) == (1, True), done.stdout


def test_the_light_module_imports_nothing_heavy(package):
    code = "import sys, polycmp_fewbits.plugin; print(sorted({'numpy', 'onnx', 'click'} & set(sys.modules)))"
    assert run(f'python -c "{code}"', package).stdout == "[]\n"


def test_the_page_names_what_is_there():
    import polycmp.spec
    import polycmp.testing

    page = PAGE.read_text(encoding="utf-8")
    for name in re.findall(r"\b(\w+Spec)\(", page):
        assert name in polycmp.spec.__all__
    for heading, kind, rows in re.findall(
        r"^\| (.*) of `(\w+Tools)` \| means \|\n\|---\|---\|\n((?:\|.*\n)+)", page, re.M
    ):
        for row in rows.splitlines():
            for name in re.findall(r"`(\w+)(?: = \w+)?`", row.split(" | ")[0]):
                assert hasattr(getattr(polycmp.spec, kind), name), f"{heading} {name} of {kind}"
    for name in re.findall(r"`(\w+Contract)`", page):
        assert hasattr(polycmp.testing, name)
    for hook in re.findall(r"`(polycmp_\w+s)`", page):
        assert hook in polycmp.spec.HOOKS
    for hook in polycmp.spec.HOOKS:
        assert f"`{hook}`" in page


def test_the_readme_lists_every_reference_with_its_tests():
    assert reference_table.readme() == README, "make tables"
    untested = [operator for operator, *_, count in reference_table.rows() if not count]
    assert not untested


def test_the_readme_shows_an_extension_that_works(tmp_path):
    (script,) = (text for language, text in BLOCK.findall(README) if language == "python" and "my_ops.py" in text)
    (tmp_path / "my_ops.py").write_text(script, encoding="utf-8")
    code = (
        "import numpy as np; from onnx import helper as h; from polycmp_pluginref import PluginRefRunner;"
        "x, y = (h.make_tensor_value_info(n, 1, ['n']) for n in 'xy');"
        "g = h.make_graph([h.make_node('HardSwish_TRT', ['x'], ['y'])], 'g', [x], [y]);"
        "r = PluginRefRunner(h.make_model(g), ops=('my_ops.py',)).activate();"
        "print(r.infer({'x': np.array([-9, 0, 1.5, 9], np.float32)})['y'].tolist())"
    )
    done = run(f'python -c "{code}"', tmp_path)
    assert done.stdout == "[-0.0, 0.0, 1.125, 9.0]\n", done.stderr
