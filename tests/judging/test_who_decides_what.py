"""The page on who decides what names functions that exist, that commands call, and what judging costs."""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from in_process import run_cases_here
from low_precision_models import chain_with_fault, feed

import polycmp as polycmp_api
from polycmp_onnx import convert_to_fp16

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "who-decides-what.md").read_text(encoding="utf-8")
CORE = ROOT / "core" / "src" / "polycmp"
JUDGE = CORE / "builtin" / "judging" / "verdict.py", "judge"
RUNNER = ROOT / "plugins" / "onnxrt" / "src" / "polycmp_onnxrt" / "runner.py"
PAIR = ("-b", "onnxrt:name=a", "-b", "onnxrt:name=b,model=old.onnx", "--load-inputs", "x.npz")


def located(name: str) -> Path:
    """Return where a file of the page lies: in the core, or from the top."""
    return CORE / name if (CORE / name).exists() else ROOT / name


def named(text: str) -> list[tuple[Path, str]]:
    """Return the file and the dotted name of each function that a text names."""
    return [(located(file), name) for file, name in re.findall(r"`([\w/]+\.py):([\w.]+)`", text)]


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the rows of the table below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def has(file: Path, name: str) -> bool:
    """Return whether a module defines a function, a class, or a method of a class."""
    inside: list[ast.stmt] = ast.parse(file.read_text(encoding="utf-8")).body
    for part in name.split("."):
        kinds = (ast.FunctionDef, ast.ClassDef)
        found = next((item for item in inside if isinstance(item, kinds) and item.name == part), None)
        if found is None:
            return False
        inside = found.body
    return True


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write a model, the same with a fault in a constant or in an operator more, the same in float16, and inputs."""
    run_cases_here(monkeypatch)
    onnx.save(chain_with_fault(0.0, layers=3, layer=2), "old.onnx")
    onnx.save(chain_with_fault(1e-3, layers=3, layer=2), "new.onnx")
    for name, factor in (("scaled", 1.00003), ("far", 1.5)):
        scaled = chain_with_fault(0.0, layers=3, layer=2)
        scaled.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(factor), "factor"))
        scaled.graph.node.insert(3, onnx.helper.make_node("Mul", ["t1", "factor"], ["scaled"]))
        scaled.graph.node[4].input[0] = "scaled"
        onnx.save(scaled, f"{name}.onnx")
    onnx.save(convert_to_fp16(chain_with_fault(0.0, layers=3, layer=2)), "half.onnx")
    np.savez("x.npz", **feed())
    Path("suite.toml").write_text(
        '[[case]]\nmodel = "new.onnx"\nbackend = ["onnxrt:name=a", "onnxrt:name=b,model=old.onnx"]\n'
        'load-inputs = ["x.npz"]\n',
        encoding="utf-8",
    )
    Path("pipeline.toml").write_text(
        'load-inputs = "x.npz"\n[[stage]]\nname = "model"\nmodel = "new.onnx"\nreference-model = "old.onnx"\n'
        'backend = "onnxrt"\n',
        encoding="utf-8",
    )


def calls(watched: list[tuple[Path, str]], act) -> Counter[tuple[Path, str]]:
    """Return how often functions are called, each by its file and the last part of its name, in any thread."""
    called: Counter[tuple[Path, str]] = Counter()
    known = {(str(file.resolve()), name.rpartition(".")[2]): (file, name) for file, name in watched}

    def note(frame, event, _argument):
        if event == "call" and (stop := known.get((frame.f_code.co_filename, frame.f_code.co_name))):
            called[stop] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return called


def test_the_functions_that_the_page_names_exist():
    found = named(PAGE)
    assert len(found) > 15
    assert [f"{file}:{name}" for file, name in found if not (file.exists() and has(file, name))] == []


@pytest.mark.parametrize("command", [row[0].strip("`") for row in rows("The commands")])
def test_a_command_reaches_the_judge_by_what_the_page_names(polycmp, files, command):
    words = {
        "run": ("run", "new.onnx", *PAIR),
        "run --mark-all": ("run", "new.onnx", *PAIR, "--mark-all"),
        "locate": ("locate", "new.onnx", *PAIR),
        "suite": ("suite", "suite.toml", "--results", "results", "--jobs", "1"),
        "bisect": ("bisect", "old.onnx", "new.onnx", *PAIR, "--over", "files", "--no-locate"),
        "pipeline": ("pipeline", "pipeline.toml"),
    }
    statuses = []

    def act() -> None:
        if command == "Python":
            done = polycmp_api.run("new.onnx", "onnxrt:name=a", "onnxrt:name=b,model=old.onnx", inputs="x.npz")
            statuses.append(1 if done.verdict == "failed" else 0)
        else:
            statuses.append(polycmp(*words[command]).status)

    [row] = [row for row in rows("The commands") if row[0].strip("`") == command]
    watched = [JUDGE, *named(row[1])]
    called = calls(watched, act)
    assert statuses == [1]
    assert [stop for stop in watched if not called[stop]] == []


def test_types_are_found_out_once_for_all_tensors_that_differ(polycmp, files):
    """Looking at all operators for each tensor took minutes on a chain of 1,000."""
    types = [(CORE / "builtin" / "judging" / "types.py", "types_of")]
    counts = []
    for layers in (3, 9):
        onnx.save(chain_with_fault(0.0, layers=layers, layer=2), "old.onnx")
        onnx.save(chain_with_fault(1e-3, layers=layers, layer=2), "new.onnx")
        called = calls(types, lambda: polycmp("run", "new.onnx", *PAIR, "--mark-all"))
        counts.append(called[types[0]])
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize(("words", "comparisons"), [(("run",), 1), (("run", "--mark-all"), 1), (("locate",), 1)])
def test_what_a_file_holds_is_found_out_once_for_all_that_ask(polycmp, files, words, comparisons):
    """Two files are compared by what they declare where the judge or a search first needs it."""
    graphs = ROOT / "plugins" / "onnx" / "src" / "polycmp_onnx" / "model_graph.py"
    made, inferred = (graphs, "open_graph"), (graphs, "OnnxGraph._infer")
    network = ROOT / "plugins" / "locate" / "src" / "polycmp_locate" / "network" / "comparison.py", "compare_networks"
    assert all(has(*stop) for stop in (made, inferred, network))
    command, *more = words
    called = calls([made, inferred, network], lambda: polycmp(command, "new.onnx", *PAIR, *more))
    assert (called[made], called[inferred]) == (2, 2)
    assert called[network] == comparisons


@pytest.mark.parametrize(
    ("model", "words", "place"),
    [
        ("old.onnx", (), 0),
        ("old.onnx", ("--mark-all",), 0),
        ("half.onnx", (), 1),
        ("half.onnx", ("--mark-all",), 1),
        ("new.onnx", (), 2),
        ("far.onnx", (), 3),
        ("scaled.onnx", (), 4),
        ("new.onnx", ("--mark-all",), 4),
    ],
)
def test_judging_costs_what_the_page_says(polycmp, files, model, place, words):
    sessions, runs = (RUNNER, "activate_impl"), (RUNNER, "infer_impl")
    statuses = []
    called = calls([sessions, runs], lambda: statuses.append(polycmp("run", model, *PAIR, *words).status))
    promised = rows("What it costs")[place]
    asked = 1 if not words and statuses == [0] else 0  # whether outputs that pass move at all
    compared = 4 if words and model != "old.onnx" else 2  # outputs that differ inside come from the models as they are
    assert [str(called[sessions] - compared), str(called[runs] - compared - asked)] == promised[1:]


def test_a_search_runs_the_whole_model_once_on_each_side(polycmp, files):
    """A side that made the same outputs while it was looked inside is not run again to see if it repeats itself."""
    inside = CORE / "builtin" / "layerwise" / "partitioned_run.py"
    whole = inside, "PartitionedRun.run_repeatedly"
    again = ROOT / "plugins" / "locate" / "src" / "polycmp_locate" / "causes" / "unsteady.py", "_find"
    assert all(has(*stop) for stop in (whole, again))
    statuses = []
    called = calls([whole, again], lambda: statuses.append(polycmp("locate", "new.onnx", *PAIR).status))
    assert statuses == [1]
    assert (called[whole], called[again]) == (2, 0)
