"""Every row of `polygraphy_table` is so: with polycmp, and, where POLYGRAPHY_PYTHON names it, with Polygraphy.

Programs of `polygraphy_programs/` are written for Polygraphy 0.53.6, in the calls of public ones; what they print there
stands in `data/polygraphy-0.53.6/programs.json`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
import tool_commands
from cli_table import COMMANDS as OF_POLYGRAPHY
from in_parts import a_few
from live_polygraphy import POLYGRAPHY_PYTHON, live
from onnx import TensorProto, helper, numpy_helper, save
from parity_folder import save_outputs
from polygraphy_folder import PROGRAMS as FILES
from polygraphy_folder import make_files, make_files_of_lines
from polygraphy_table import (
    COMMANDS,
    DIFFERENCES,
    EXAMPLES,
    GPU,
    HEAD,
    LINES,
    PAGES,
    PROGRAMS,
    STRICTER,
    TABLE,
    WORDS,
    Row,
    filled,
    groups,
)
from test_examples import ported
from test_parity import PARITY
from tutorial_folders import identity_model

from polycmp.comparator import RunResults
from polycmp.errors import FileError
from polycmp.json import load_json
from polycmp.plugins import Registry

TESTS = Path(__file__).parent
PRINTED = json.loads((TESTS / "data/polygraphy-0.53.6/programs.json").read_text(encoding="utf-8"))
#: Messages of Polygraphy, and what they go on with in further lines.
MESSAGE = re.compile(r"(\x1b\[[\d;]*m)?(\[[USXVIWE!]\]|    )")
#: What Polygraphy's `debug` keeps without being asked.
DEBUGGING = "polygraphy_debug"
#: A model that is right, and that Polygraphy reduces because its check lacks a file that it could not write before.
JUDGED_OTHERWISE = ("--load-inputs layerwise.json",)
#: Polygraphy merges the inputs of the last iteration only, and its runs of one backend have different labels, since
#: these hold the time: what it puts together are two runs.
MERGED_OTHERWISE = ("data merge model-trained-inputs.raw", "data concat model-trained-outputs.raw")
#: The group of lines that end with an error because TensorRT is absent, and that of lines that need it.
WITHOUT, WITH = "without TensorRT", "TensorRT"
GROUPS = groups()
#: The module that an example needs besides those of every package.
NEEDS = {"cli/plugin/01_match_and_replace_plugin": "yaml"}


def each(rows):
    """Run a test for each row that is executed."""
    executed = [row for row in rows if row.executed]
    return pytest.mark.parametrize(
        "row", executed, ids=[(row.what or row.run).replace("`", "")[:60] for row in executed]
    )


def few(rows):
    """Run a test for every sixteenth row that is executed, and with the corpus for all."""
    executed = [row for row in rows if row.executed]
    chosen = [() if index % 16 == 0 else pytest.mark.corpus for index in range(len(executed))]
    ids = [row.what.replace("`", "")[:60] for row in executed]
    params = [pytest.param(row, marks=marks, id=name) for row, marks, name in zip(executed, chosen, ids, strict=True)]
    return pytest.mark.parametrize("row", params)


def run_python(folder, *words):
    """Run `python WORD...` in a folder."""
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)


def run_theirs(folder, command):
    """Run a command with Polygraphy, and return what it did."""
    programs = Path(POLYGRAPHY_PYTHON).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    program, *words = shlex.split(command.replace("TOOL", "polygraphy").replace("['batch'", "[batch"))
    return subprocess.run(
        [str(programs / program), *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip


def printed(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a program has printed besides messages."""
    assert done.returncode == 0, done.stdout + done.stderr
    return "".join(line for line in done.stdout.splitlines(keepends=True) if not MESSAGE.match(line))


class TestTable:
    """The table as a whole."""

    def test_every_row_is_run_or_is_a_refusal_with_its_reason(self):
        assert [row for row in TABLE if not (row.executed or row.reason or row.kind == "words")] == []

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_a_page_holds_what_is_made_of_the_table(self, page):
        text = page.read_text(encoding="utf-8")
        assert filled(text) == text, f"python {Path(sys.modules['polygraphy_table'].__file__)}"

    def test_what_ran_on_a_gpu_is_named(self):
        assert {row.gpu for row in EXAMPLES if row.gpu} == set(GPU)
        for said in GPU.values():
            assert (TESTS.parent / said.split("`")[1]).exists()

    def test_nearly_all_lines_are_right(self):
        trt = [row for row in LINES if row.group == WITH]
        assert len(LINES) >= 60
        for rows in (trt, [row for row in LINES if row.group != WITH]):
            assert sum(row.right for row in rows) >= 0.97 * len(rows)

    def test_a_line_that_does_not_end_as_with_polygraphy_says_why(self):
        assert [row for row in LINES if not row.right and not row.reason] == []

    def test_no_example_stands_there_twice(self):
        names = [row.what for row in EXAMPLES]
        assert len(names) == len(set(names))
        assert all(re.fullmatch(r"(api|cli/\w+|api/plugin_autotuner|dev|how-to)/\w+", name) for name in names)


class TestStricter:
    """Commands that Polygraphy ends with status 0; `test_parity` runs them with polycmp."""

    @live
    @pytest.mark.parametrize("entry", [(row.run, row.theirs) for row in STRICTER] + [(f"TOOL run {entry['run']}",
                             entry["polygraphy"]) for entry in PARITY], ids=lambda entry: entry[0])  # fmt: skip
    def test_the_real_tool(self, workshop, entry):
        done = run_theirs(workshop, entry[0])
        assert done.returncode == entry[1], done.stdout + done.stderr


class TestCommands:
    """What commands do otherwise than Polygraphy's."""

    @pytest.fixture
    def folder(self, workshop):
        """The folder of the parity list, with outputs of which one element is far off."""
        outputs = RunResults.load(str(workshop / "golden.json"))[0][1][0]
        spoilt = {name: np.array(array) for name, array in outputs.items()}
        spoilt["y"].flat[0] += 1
        save_outputs(workshop / "worst.json", spoilt)
        save_outputs(workshop / "golden.json", dict(outputs))
        return workshop

    @staticmethod
    def shown(row: Row, folder: Path, text: str) -> str:
        """Return where the texts of a row are to be found."""
        return (folder / row.file).read_bytes().decode(errors="replace") if row.file else text

    @each(COMMANDS)
    def test_polycmp(self, polycmp, folder, row, monkeypatch):
        monkeypatch.chdir(folder)
        done = polycmp(*shlex.split(row.run)[1:])
        assert done.status == row.ours, done.out + done.err
        done = polycmp(*shlex.split(row.then)[1:]) if row.then else done
        assert row.shows_ours in self.shown(row, folder, done.out), done.out + done.err

    @live
    @each(COMMANDS)
    def test_the_real_tool(self, folder, row):
        done = run_theirs(folder, row.run)
        assert done.returncode == row.theirs, done.stdout + done.stderr
        done = run_theirs(folder, row.then) if row.then else done
        assert row.shows_theirs in self.shown(row, folder, done.stdout), done.stdout + done.stderr


def lines_of_commands():
    """Return the words of all lines that are run with both tools, without the program's name."""
    examples = [line.split(" ", 2)[2] for row in EXAMPLES for line in row.runs]
    with_name = [line.removeprefix("TOOL ") for line in (*(row.run for row in LINES), *examples)]
    table_lines = [line.split("  ", 1)[1] for line in tool_commands.TABLE.strip().splitlines()]
    return [*with_name, *table_lines, *(f"run {entry['run']}" for entry in PARITY)]


#: Commands that need TensorRT or a file that only it makes, whose options are compared with those of the real parsers;
#: `check accuracy` is held beside the real one in `test_check_accuracy`.
ELSEWHERE = {
    *("inspect tactics", "inspect diff-tactics", "inspect capability", "debug precision", "debug build"),
    "check accuracy",
}


class TestWords:
    """Each command of Polygraphy, and the words of polycmp."""

    def test_each_command_is_run_with_both_tools_or_is_refused(self):
        lines = lines_of_commands()
        known = Registry.discover().commands
        for row in WORDS:
            for words in row.words:
                assert (words in known) != bool(row.reason), words
                assert row.reason or words in ELSEWHERE or any(line.startswith(f"{words} ") for line in lines), words

    def test_each_command_of_polygraphy_has_a_row(self):
        assert {words for row in WORDS for words in row.words} == set(OF_POLYGRAPHY)

    @pytest.mark.parametrize("words", [words for row in WORDS if row.reason for words in row.words])
    def test_a_refused_command_says_why(self, polycmp, words):
        done = polycmp(*words.split(), "model.onnx")
        assert (done.status, "why:" in done.err) == (2, True), done.err


class TestDifferences:
    """What remains different for programs that nobody edited."""

    @few(DIFFERENCES)
    def test_polycmp(self, tmp_path, row):
        (tmp_path / "row.py").write_text(HEAD + row.program, encoding="utf-8")
        assert printed(run_python(tmp_path, "-m", "polycmp_polygraphy", "row.py")).strip() == row.ours != row.theirs

    @live
    @each(DIFFERENCES)
    def test_the_real_tool(self, tmp_path, row):
        (tmp_path / "row.py").write_text(HEAD + row.program, encoding="utf-8")
        assert printed(run_theirs(tmp_path, "python row.py")).strip() == row.theirs


class TestExamples:
    """Each example of Polygraphy's documentation, after its imports and the program's name have been changed."""

    @few([row for row in EXAMPLES if row.runs])
    def test_polycmp(self, polycmp, tmp_path, row):
        if row.what in NEEDS:
            pytest.importorskip(NEEDS[row.what])
        make_files(tmp_path)
        for file, program in FILES.items():
            (tmp_path / file).write_text(ported(program))
        for _, status, command in (line.split(" ", 2) for line in row.runs):
            program, *words = shlex.split(command.replace("TOOL", "polycmp").replace("['batch'", "[batch"))
            if program == "polycmp":
                done = polycmp(*words)  # which asserts that there is no traceback
                assert done.status == int(status), f"{command}\n{done.out}{done.err}"
            else:
                run = run_python(tmp_path, *words)
                assert run.returncode == int(status), f"{command}\n{run.stdout}{run.stderr}"
        for path in filter(Path.exists, (tmp_path / "replaced.onnx", tmp_path / "again.onnx")):
            assert [node.op_type for node in onnx.load(path).graph.node] == ["ScaleAdd_TRT", "Add"]
        for path in filter(Path.exists, (tmp_path / "final_reduced.onnx", tmp_path / "initial_reduced.onnx")):
            assert [node.op_type for node in onnx.load(path).graph.node] == ["Mul"]

    @live
    @each([row for row in EXAMPLES if row.runs])
    def test_the_real_tool(self, tmp_path, row):
        make_files(tmp_path)
        for file, program in FILES.items():
            (tmp_path / file).write_text(program)
        for status, _, command in (line.split(" ", 2) for line in row.runs):
            done = run_theirs(tmp_path, command)
            assert done.returncode == int(status), f"{command}\n{done.stdout}{done.stderr}"


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


def prepared(folder, group):
    """Make the files of a group of lines, and return its rows and commands; with TensorRT they write the program."""
    if group == WITHOUT and importlib.util.find_spec("tensorrt"):
        pytest.skip("TensorRT is installed")
    make_files_of_lines(folder)
    return [(row, f"{row.run} --gen-script script.py" if group == WITH else row.run) for row in GROUPS[group]]


class TestLines:
    """Lines that others wrote for Polygraphy, on small models."""

    @pytest.mark.parametrize("group", a_few(GROUPS, 6))
    def test_polycmp(self, polycmp, tmp_path, group):
        for row, command in prepared(tmp_path, group):
            done = polycmp(*shlex.split(command.replace("TOOL", "polycmp"))[1:])
            assert done.status == row.ours, f"{command}\n{done.out}{done.err}"
            if group == WITH and not row.ours:
                compile(Path("script.py").read_text(encoding="utf-8"), command, "exec")
                Path("script.py").unlink()

    @live
    @pytest.mark.parametrize("group", GROUPS)
    def test_the_real_tool(self, polycmp, tmp_path, monkeypatch, group):
        """Each line ends as the row says, and what both tools write holds the same."""
        folder, other = tmp_path / "ours", tmp_path / "theirs"
        folder.mkdir()
        other.mkdir()
        prepared(other, group)
        monkeypatch.chdir(folder)
        for row, command in prepared(folder, group):
            before = files_in(folder), files_in(other)
            done = polycmp(*shlex.split(command.replace("TOOL", "polycmp"))[1:])
            assert done.status == row.ours, f"{command}\n{done.out}{done.err}"
            passes = "NO FAULT: the whole model passes" in done.out  # written as it is, where the other cuts a good one
            done = run_theirs(other, command)
            assert done.returncode == row.theirs, f"{command}\n{done.stdout}{done.stderr}"
            after = files_in(folder), files_in(other)
            ours_wrote, theirs_wrote = (
                {name for name in new if old.get(name) != new[name] and not name.startswith(DEBUGGING)}
                for old, new in zip(before, after, strict=True)
            )
            if row.theirs == row.ours == 0 and not any(words in command for words in JUDGED_OTHERWISE):
                assert ours_wrote == theirs_wrote, command
            if any(words in command for words in MERGED_OTHERWISE):
                continue
            for name in sorted(ours_wrote & theirs_wrote) if not passes else ():
                assert_the_same(folder / name, other / name, reduced=" debug reduce " in command)

    def test_what_was_reduced_and_cleaned_is_right(self, polycmp, tmp_path):
        """An exit status says little of a file: the operators are those that Polygraphy leaves."""
        make_files(tmp_path)
        polycmp("surgeon", "sanitize", "constants.onnx", "--fold-constant", "-o", "folded.onnx")
        assert [node.op_type for node in onnx.load("folded.onnx").graph.node] == ["Add"]
        check = ("--check", "polycmp", "inspect", "model", "polygraphy_debug.onnx", "--show", "layers")
        polycmp("debug", "reduce", "affine.onnx", "-o", "small.onnx", "--fail-regex", "Op:.Mul", *check)
        assert [node.op_type for node in onnx.load("small.onnx").graph.node] == ["Mul"]


def model_of(nodes, inputs, outputs, weights):
    values = [
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in side] for side in (inputs, outputs)
    ]
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "net", *values, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_models(folder: Path) -> None:
    """Write the files that the programs read."""
    conv = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["y"], name="flatten"),
    ]
    weight = (np.arange(108, dtype=np.float32).reshape(4, 3, 3, 3) % 7 - 3) / 8
    sides = [("x", TensorProto.FLOAT, (1, 3, 8, 8))], [("y", TensorProto.FLOAT, (1, 4))]
    for name, factor in (("conv", 1), ("conv_copy", 1), ("conv_off", 1.25)):
        save(model_of(conv, *sides, {"w": weight * np.float32(factor)}), folder / f"{name}.onnx")
    folded = [
        helper.make_node("Shape", ["k"], ["s"]),
        helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("ReduceProd", ["f"], ["n"], keepdims=0),
        helper.make_node("Mul", ["x", "n"], ["m"]),
        helper.make_node("Relu", ["m"], ["y"]),
        helper.make_node("Neg", ["m"], ["z"]),
    ]
    sides = [("x", TensorProto.FLOAT, (2, 3))], [(name, TensorProto.FLOAT, (2, 3)) for name in "yz"]
    save(model_of(folded, *sides, {"k": np.zeros((2, 4), np.float32)}), folder / "foldable.onnx")
    embed = [
        helper.make_node("Gather", ["table", "ids"], ["e"]),
        helper.make_node("Unsqueeze", ["mask", "axes"], ["u"]),
        helper.make_node("Cast", ["u"], ["v"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["e", "v"], ["hidden"]),
    ]
    inputs = [(name, TensorProto.INT64, ("batch", "length")) for name in ("ids", "mask")]
    weights = {"table": np.eye(6, 5, dtype=np.float32), "axes": np.array([2], np.int64)}
    outputs = [("hidden", TensorProto.FLOAT, ("batch", "length", 5))]
    save(model_of(embed, inputs, outputs, weights), folder / "dynamic.onnx")
    save(identity_model("x", [1, 1, 2, 2], "y"), folder / "identity.onnx")


class TestPrograms:
    """Programs in the calls of public ones run unchanged, and print what they print with Polygraphy."""

    @few(PROGRAMS)
    def test_polycmp(self, row, tmp_path):
        write_models(tmp_path)
        program = TESTS / "polygraphy_programs" / f"{row.what}.py"
        assert printed(run_python(tmp_path, "-m", "polycmp_polygraphy", program)) == PRINTED[row.what]

    def test_what_is_recorded_is_of_these_programs(self):
        assert sorted(PRINTED) == [row.what for row in PROGRAMS]
        assert len(PROGRAMS) >= 30

    @live
    @each(PROGRAMS)
    def test_the_real_tool(self, row, tmp_path, monkeypatch):
        monkeypatch.delenv("PYTHONPATH", raising=False)
        write_models(tmp_path)
        program = TESTS / "polygraphy_programs" / f"{row.what}.py"
        assert printed(run_theirs(tmp_path, f"python {program}")) == PRINTED[row.what]
