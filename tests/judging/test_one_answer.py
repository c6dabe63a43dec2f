"""One pair of models gets one answer, whatever command is asked: judging is one function, not one for each command."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest
from in_parts import each_once
from in_process import run_cases_here
from low_precision_models import chain_with_fault, feed

import polycmp as polycmp_api
from polycmp_onnx import convert_to_bf16, convert_to_fp16

#: How a candidate is made of the good model, besides the fault.
KINDS = ("float32", "float16", "bfloat16", "dynamic int8", "static int8")
#: By how much a weight in the middle is too large: not at all, below all rounding, and by what shows in some types.
FAULTS = (0.0, 1e-6, 1e-4, 3e-3, 0.1, 1.0)
#: A type that rounds as the reference does, a narrower one and one with codes; the corpus has all with all faults.
TRIED = (("float32", 0.1), ("bfloat16", 0.0), ("static int8", 0.1))
each_pair = pytest.mark.parametrize(
    ("kind", "share"),
    [pytest.param(*pair, marks=() if pair in TRIED else pytest.mark.corpus) for pair in product(KINDS, FAULTS)],
)
#: Faults with tolerances that pass all, fail the fault, and fail rounding, too; the corpus has them crosswise.
TYPED = ((0.0, "1e-5"), (0.1, "1e-7"), (0.1, "1e-3"), (0.1, "1e-1"))
WORDS = {0: "passed", 1: "failed", 3: "open"}


def candidate(kind: str, share: float, folder: Path) -> onnx.ModelProto:
    """Return the model with a fault, in a type."""
    model = chain_with_fault(share, layers=6, layer=3)
    if kind == "float16":
        return convert_to_fp16(model)
    if kind == "bfloat16":
        return convert_to_bf16(model)
    if kind == "float32":
        return model
    exact = folder / "exact.onnx"
    onnx.save(model, exact)
    if kind == "static int8":
        return static_int8(exact, folder)
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(exact, folder / "int8.onnx")
    return onnx.load(folder / "int8.onnx")


def static_int8(exact: Path, folder: Path, op_types: list[str] | None = None) -> onnx.ModelProto:
    """Return a model with operators of these types, or all that can be, in steps calibrated with its inputs."""
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.feeds = iter([feed()])

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self.feeds, None)

    quantize_static(exact, folder / "int8.onnx", Reader(), op_types_to_quantize=op_types)
    return onnx.load(folder / "int8.onnx")


def runner(kind: str) -> str:
    """Return a backend that runs models of a type."""
    return "onnx" if kind == "bfloat16" else "onnxrt"


def said_by(polycmp, command: str, new: str, old: str, backend: str, *words: str) -> str:
    """Return what a command says of a pair, in one word."""
    name, *options = command.split()
    sides = ("-b", f"{backend}:name=new", "-b", f"{backend}:name=old,model={old}")
    done = polycmp(name, new, *sides, "--load-inputs", "x.npz", *words, *options)
    return WORDS.get(done.status, done.out + done.err)


def statuses(polycmp, commands: tuple[str, ...], new: str, old: str, backend: str, *words: str) -> dict[str, str]:
    """Return what each of these commands, a suite and a program say of a pair, in one word."""
    found = {command: said_by(polycmp, command, new, old, backend, *words) for command in commands}
    lines = [
        "[[case]]", f"model = {json.dumps(new)}",
        f"backend = {json.dumps([f'{backend}:name=new', f'{backend}:name=old,model={old}'])}",
        'load-inputs = ["x.npz"]',
    ]  # fmt: skip
    lines += [f"{word.removeprefix('--')} = [{value}]" for word, value in zip(words[::2], words[1::2], strict=True)]
    Path("suite.toml").write_text("\n".join(lines) + "\n", "utf-8")
    found["suite"] = WORDS[polycmp("suite", "suite.toml", "--results", "results", "--jobs", "1").status]
    options = {word.removeprefix("--"): float(value) for word, value in zip(words[::2], words[1::2], strict=True)}
    run = polycmp_api.run(new, f"{backend}:name=new", f"{backend}:name=old,model={old}", inputs="x.npz", **options)
    found["Python"] = {"passed": "passed", "failed": "failed"}.get(run.verdict, "open")
    return found


def disagreement(said: dict[str, str]) -> str:
    """Return in words what commands say differently of a pair; empty if they agree.

    Looking inside may add the name of a tensor whose fault the outputs do not show: `locate`, which runs operators
    alone, sees more of those than `--mark-all`.
    """
    located = said["locate"]
    inside = {word for name, word in said.items() if "--mark-all" in name}
    outside = {word for name, word in said.items() if name != "locate" and "--mark-all" not in name}
    if len(outside) > 1 or len(inside) > 1:
        return str(said)
    (of_outputs,), (of_all,) = outside, inside
    allowed = {of_outputs} if of_all == of_outputs else {"failed"}
    return "" if of_all in {of_outputs, "failed"} and (located in allowed or located == "failed") else str(said)


@pytest.fixture
def pair(polycmp, tmp_path, monkeypatch):
    """Write a pair and its inputs, and return the names of both files."""
    run_cases_here(monkeypatch)

    def write(kind: str, share: float) -> tuple[str, str]:
        onnx.save(chain_with_fault(0.0, layers=6, layer=3), "old.onnx")
        onnx.save(candidate(kind, share, tmp_path), "new.onnx")
        np.savez("x.npz", **feed())
        return "new.onnx", "old.onnx"

    return write


@each_pair
def test_every_command_says_the_same_of_two_files(polycmp, pair, kind, share):
    new, old = pair(kind, share)
    commands = ("run", "run --mark-all", "locate", "run --tolerance auto", "run --mark-all --tolerance auto")
    assert disagreement(statuses(polycmp, commands, new, old, runner(kind))) == ""


def test_what_steps_amplify_is_undecided_in_every_command(polycmp, pair, tmp_path):
    """The outputs are steps of a product times 40, so that rounding explains a fifth of what they span."""
    new, old = pair("float32", 0.0)
    steep = onnx.load(old)
    steep.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(40), "steep"))
    steep.graph.node.extend([
        onnx.helper.make_node("Mul", ["y", "steep"], ["wide"], name="wide"),
        onnx.helper.make_node("Tanh", ["wide"], ["z"], name="z"),
    ])  # fmt: skip
    steep.graph.output[0].name = "z"
    onnx.save(steep, old)
    onnx.save(static_int8(tmp_path / old, tmp_path, ["MatMul"]), new)
    commands = ("run", "run --mark-all", "locate")
    assert set(statuses(polycmp, commands, new, old, "onnxrt").values()) == {"open"}


@pytest.mark.parametrize(
    ("kind", "is_other_order"), each_once(["float16", "static int8", "dynamic int8"], [False, True])
)
def test_an_output_has_one_bound_whether_tensors_inside_are_looked_at(polycmp, pair, kind, is_other_order):
    files = pair(kind, 3e-3)
    words = ("run", *(reversed(files) if is_other_order else files), "-b", runner(kind), "--load-inputs", "x.npz")
    bounds = []
    for more in ((), ("--mark-all",)):
        polycmp(*words, *more, "--report", "found.json")
        (compared,) = json.loads(Path("found.json").read_text("utf-8"))["comparison_results"]
        bounds.append(compared["outputs"]["y"]["functions"]["simple"]["tolerance"])
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize(("kind", "share"), each_once(["float16", "static int8"], [1e-4, 0.1, 0.0]))
def test_the_order_of_the_files_changes_no_word(polycmp, pair, kind, share):
    new, old = pair(kind, share)
    words = [said_by(polycmp, "run", *files, runner(kind)) for files in ((new, old), (old, new))]
    assert words[0] == words[1]


@pytest.mark.parametrize(
    ("share", "tolerance"),
    [
        pytest.param(*pair, marks=() if pair in TYPED else pytest.mark.corpus)
        for pair in product([0.0, 1e-4, 0.1], ["1e-7", "1e-5", "1e-3", "1e-1"])
    ],
)
def test_a_tolerance_that_was_typed_is_final_in_every_command(polycmp, pair, share, tolerance):
    new, old = pair("float16", share)
    said = statuses(polycmp, ("run", "run --mark-all"), new, old, "onnxrt", "--atol", tolerance, "--rtol", tolerance)
    assert len({said["run"], said["suite"], said["Python"]}) == 1, said
    if said["run"] == "failed":
        assert said["run --mark-all"] == "failed", said


@pytest.mark.parametrize(("command", "share"), each_once(["run", "run --mark-all"], [3e-3, 0.0, 1e-4, 0.1]))
def test_a_larger_tolerance_never_fails_what_a_smaller_one_passed(polycmp, pair, command, share):
    new, old = pair("float16", share)
    words = (*command.split(), new, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={old}", "--load-inputs")
    found = [
        polycmp(words[0], *words[1:], "x.npz", "--atol", size, "--rtol", size).status
        for size in ("1e-6", "1e-5", "1e-4", "1e-3", "1e-2")
    ]
    passed = [status == 0 for status in found]
    assert passed == sorted(passed), found


@each_pair
def test_an_output_passes_exactly_if_it_is_within_the_bound_that_is_given(polycmp, pair, kind, share):
    new, old = pair(kind, share)
    backend = runner(kind)
    words = ("-b", f"{backend}:name=new", "-b", f"{backend}:name=old,model={old}", "--load-inputs", "x.npz")
    polycmp("run", new, *words, "--report", "r.json")
    found = json.loads(Path("r.json").read_text())["comparison_results"][0]["outputs"]["y"]
    bound = found["functions"]["simple"]["tolerance"]
    if found["passed"] and bound.get("rms"):
        assert found["max_error"] <= bound["atol"]
    if found["max_error"] > bound["atol"] and bound.get("rms"):
        assert not found["passed"]
