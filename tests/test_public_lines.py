"""Public command lines written for Polygraphy: each ends as it does there, or does what it meant."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import polygraphy_examples
import pytest
from live_polygraphy import POLYGRAPHY_PYTHON, live
from public_lines import LINES, PAGE, TENSORRT, commands, is_right, make_files, script_of, table

GROUPS = {**LINES, "TensorRT": TENSORRT}
EACH = pytest.mark.parametrize("group", GROUPS)


def prepared(folder, group):
    """Make the files, and return the commands of a group."""
    polygraphy_examples.make_files(folder)
    make_files(folder)
    found = commands(GROUPS[group])
    return [(theirs, ours, script_of(line)) for theirs, ours, line in found] if group == "TensorRT" else found


@EACH
def test_a_line_ends_as_the_table_says(polycmp, tmp_path, group):
    for _, status, command in prepared(tmp_path, group):
        _, *words = shlex.split(command.replace("TOOL", "polycmp"))
        done = polycmp(*words)
        assert done.status == status, f"{command}\n{done.out}{done.err}"
        if group == "TensorRT" and not status:
            compile(Path("script.py").read_text(encoding="utf-8"), command, "exec")
            Path("script.py").unlink()


@live
@EACH
def test_the_same_with_polygraphy(tmp_path, group):
    programs = Path(POLYGRAPHY_PYTHON).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for status, _, command in prepared(tmp_path, group):
        _, *words = shlex.split(command.replace("TOOL", "polygraphy"))
        done = subprocess.run(
            [str(programs / "polygraphy"), *words], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip
        assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"


def test_nearly_all_are_right():
    entries = [entry for group in LINES.values() for entry in commands(group)]
    assert len(entries) + len(TENSORRT) >= 60
    assert sum(is_right(*entry) for entry in entries) >= 0.97 * len(entries)


def test_what_was_reduced_and_cleaned_is_right(polycmp, tmp_path):
    """An exit status says little of a file: the operators are those that Polygraphy leaves."""
    import onnx

    polygraphy_examples.make_files(tmp_path)
    polycmp("surgeon", "sanitize", "constants.onnx", "--fold-constant", "-o", "folded.onnx")
    assert [node.op_type for node in onnx.load("folded.onnx").graph.node] == ["Add"]
    check = ("--check", "polycmp", "inspect", "model", "polygraphy_debug.onnx", "--show", "layers")
    polycmp("debug", "reduce", "affine.onnx", "-o", "small.onnx", "--fail-regex", "Op:.Mul", *check)
    assert [node.op_type for node in onnx.load("small.onnx").graph.node] == ["Mul"]


def test_the_page_holds_the_whole_table():
    assert table() in PAGE.read_text(encoding="utf-8")
