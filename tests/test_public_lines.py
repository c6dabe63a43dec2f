"""Public command lines written for Polygraphy: each ends as it does there, or does what it meant."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import polygraphy_examples
import pytest
from live_polygraphy import POLYGRAPHY_PYTHON, live
from public_lines import LINES, PAGE, TENSORRT, commands, is_right, make_files, remark_on, script_of, table

from polycmp.comparator import RunResults
from polycmp.errors import FileError
from polycmp.json import load_json

#: What Polygraphy's `debug` keeps without being asked.
DEBUGGING = "polygraphy_debug"
#: A model that is right, and that Polygraphy reduces because its check lacks a file that it could not write before.
JUDGED_OTHERWISE = ("--load-inputs layerwise.json",)
#: Polygraphy merges the inputs of the last iteration only, and its runs of one backend have different labels, since
#: these hold the time: what it puts together are two runs.
MERGED_OTHERWISE = ("data merge model-trained-inputs.raw", "data concat model-trained-outputs.raw")
#: A group of lines that end with an error because TensorRT is absent.
WITHOUT = "without TensorRT"
GROUPS = {**LINES, "TensorRT": TENSORRT}
EACH = pytest.mark.parametrize("group", GROUPS)


def prepared(folder, group):
    """Make the files, and return the commands of a group."""
    if group == WITHOUT and importlib.util.find_spec("tensorrt"):
        pytest.skip("TensorRT is installed")
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


def run_theirs(folder, command):
    """Run a line with Polygraphy, and return what it did."""
    programs = Path(POLYGRAPHY_PYTHON).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    _, *words = shlex.split(command.replace("TOOL", "polygraphy"))
    return subprocess.run(
        [str(programs / "polygraphy"), *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip


def files_in(folder):
    """Return the content of each file in a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def numbers_in(path):
    """Return the arrays that a file of inputs or outputs holds, by run, iteration and name; None if it holds none."""
    try:
        content = load_json(path)
    except FileError:
        return None
    if isinstance(content, RunResults):
        runs = [list(iterations) for _, iterations in content]
    elif isinstance(content, list):
        runs = [content]
    else:
        return None
    return {
        (run, step, name): np.asarray(array)
        for run, iterations in enumerate(runs)
        for step, outputs in enumerate(iterations)
        for name, array in outputs.items()
    }


def assert_the_same(ours, theirs, *, reduced=False):
    """Two files of one name hold the same, as far as it can be said: models, arrays, findings, programs."""
    if ours.suffix == ".onnx":
        one, two = (onnx.load(path).graph for path in (ours, theirs))
        more = Counter(node.op_type for node in two.node)
        more.subtract(node.op_type for node in one.node)
        # What is reduced may come out smaller here; every other model has the same operators.
        assert min(more.values()) >= 0 if reduced else not any(more.values()), ours
        if not reduced:
            assert [value.name for value in one.output] == [value.name for value in two.output]
            read = {name for node in two.node for name in node.input}  # inputs that nothing reads are left out here
            assert [value.name for value in one.input] == [value.name for value in two.input if value.name in read]
    elif ours.suffix in (".log", ".html"):
        assert theirs.read_text(encoding="utf-8")
    elif ours.suffix == ".py":
        compile(ours.read_text(encoding="utf-8"), ours, "exec")
    elif (arrays := numbers_in(ours)) is not None:
        expected = numbers_in(theirs)
        assert list(arrays) == list(expected)
        for name, array in arrays.items():
            np.testing.assert_allclose(array, expected[name], rtol=1e-5)
    else:
        levels = [
            {entry["level"] for entry in json.loads(path.read_text(encoding="utf-8"))["lint_entries"]}
            for path in (ours, theirs)
        ]
        assert ("exception" in levels[0]) == ("exception" in levels[1])


@live
@EACH
def test_the_same_with_polygraphy(polycmp, tmp_path, monkeypatch, group):
    """Each line ends as the table says, and what both tools write holds the same."""
    folder, other = tmp_path / "ours", tmp_path / "theirs"
    folder.mkdir()
    other.mkdir()
    prepared(other, group)
    monkeypatch.chdir(folder)
    for theirs, ours, command in prepared(folder, group):
        before = files_in(folder), files_in(other)
        done = polycmp(*shlex.split(command.replace("TOOL", "polycmp"))[1:])
        assert done.status == ours, f"{command}\n{done.out}{done.err}"
        done = run_theirs(other, command)
        assert done.returncode == theirs, f"{command}\n{done.stdout}{done.stderr}"
        after = files_in(folder), files_in(other)
        ours_wrote, theirs_wrote = (
            {name for name in new if old.get(name) != new[name] and not name.startswith(DEBUGGING)}
            for old, new in zip(before, after, strict=True)
        )
        if theirs == ours == 0 and not any(words in command for words in JUDGED_OTHERWISE):
            assert ours_wrote == theirs_wrote, command
        if any(words in command for words in MERGED_OTHERWISE):
            continue
        for name in sorted(ours_wrote & theirs_wrote):
            assert_the_same(folder / name, other / name, reduced=" debug reduce " in command)


def test_nearly_all_are_right():
    entries = [entry for group in LINES.values() for entry in commands(group)]
    assert len(entries) + len(TENSORRT) >= 60
    for all_of_them in (entries, commands(TENSORRT)):
        assert sum(is_right(*entry) for entry in all_of_them) >= 0.97 * len(all_of_them)


def test_a_line_that_is_not_right_is_a_refusal_with_its_reason():
    entries = [entry for group in GROUPS.values() for entry in commands(group)]
    wrong = [entry for entry in entries if not is_right(*entry)]
    assert all(remark_on(*entry) for entry in wrong), wrong


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
