"""Each example of Polygraphy's documentation works after its imports and the program's name have been changed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import onnx
import pytest
from copied_processes import ran_python
from live_polygraphy import POLYGRAPHY_PYTHON, live
from polygraphy_examples import NEEDS, PAGE, PROGRAMS, REFUSED, SAME, WITH_TENSORRT, commands, make_files, table
from test_examples import ported


def words_of(command, tool):
    return shlex.split(command.replace("TOOL", tool).replace("['batch'", "[batch"))


@pytest.mark.parametrize("name", SAME)
def test_an_example_works(polycmp, tmp_path, name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    make_files(tmp_path)
    for file, program in PROGRAMS.items():
        (tmp_path / file).write_text(ported(program))
    for _, status, command in commands(name):
        program, *words = words_of(command, "polycmp")
        if program == "polycmp":
            done = polycmp(*words)  # which asserts that there is no traceback
            assert done.status == status, f"{command}\n{done.out}{done.err}"
        else:
            run = ran_python(*words, cwd=tmp_path)
            assert run.returncode == status, f"{command}\n{run.stdout}{run.stderr}"
    for path in filter(Path.exists, (tmp_path / "replaced.onnx", tmp_path / "again.onnx")):
        assert [node.op_type for node in onnx.load(path).graph.node] == ["ScaleAdd_TRT", "Add"]
    for path in (tmp_path / "final_reduced.onnx", tmp_path / "initial_reduced.onnx"):
        if path.exists():
            assert [node.op_type for node in onnx.load(path).graph.node] == ["Mul"]


@live
@pytest.mark.parametrize("name", SAME)
def test_the_same_with_polygraphy(tmp_path, name):
    make_files(tmp_path)
    for file, program in PROGRAMS.items():
        (tmp_path / file).write_text(program)
    programs = Path(POLYGRAPHY_PYTHON).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for status, _, command in commands(name):
        program, *words = words_of(command, "polygraphy")
        done = subprocess.run(
            [str(programs / program), *words], cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=False, timeout=240,
        )  # fmt: skip
        assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"


def test_no_example_stands_in_two_lists():
    names = [*SAME, *WITH_TENSORRT, *REFUSED]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"(api|cli/\w+|api/plugin_autotuner|dev|how-to)/\w+", name) for name in names)


def test_the_page_lists_every_example():
    assert table() in PAGE.read_text(encoding="utf-8")
