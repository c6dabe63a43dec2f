"""Looking inside a model on a backend that takes long to make a runner: few runners, and the same verdict."""

from __future__ import annotations

import json
import textwrap

import faulty_models
import numpy as np
import onnx
import pytest
from fakes import FakeSite
from onnx import helper

from polycmp_locate.measure.compiled import run_together

PLUGIN = """
    from dataclasses import dataclass
    from polycmp.spec import RunnerSpec, hookimpl, opt

    @dataclass(frozen=True)
    class Options:
        refuse: int = opt(0, help="refuse models of more operators than this")
        outputs: int = opt(0, help="refuse models of more outputs than this")
        hide: str = opt("", help="refuse this tensor as an output")
        narrow: bool = opt(False, help="allow float16")

    @hookimpl
    def polycmp_runners():
        # As plugins of 0.1.0 wrote it, which goes on working with a warning.
        yield RunnerSpec("compiler", "takes its time", "compiler_impl:make", Options,
                         compiles=True, narrows=(("narrow", "float16"),))
        yield RunnerSpec("swift", "takes no time", "compiler_impl:make", Options)
"""

#: Writes down how many operators each runner that it makes has.
IMPL = """
    import os
    from polycmp_onnxrt.runner import OnnxrtRunner
    from polycmp_onnxrt.session import SessionFromOnnx

    class Compiled(OnnxrtRunner):
        def __init__(self, model, options, name):
            loaded = model.load("onnx")
            super().__init__(SessionFromOnnx(loaded), name)
            self.loaded, self.most, self.options = loaded, options.refuse, options

        def activate_impl(self):
            count = len(self.loaded().graph.node)
            with open(os.environ["BUILDS"], "a") as file:
                file.write(f"{count}" + chr(10))
            if self.most and self.loaded().graph.output[0].name.startswith("part") and count > self.most:
                raise RuntimeError("too many operators")
            names = [each.name for each in self.loaded().graph.output]
            if self.options.hide in names or len(names) > (self.options.outputs or len(names)):
                raise RuntimeError("Myelin error")
            super().activate_impl()

    def make(model, options, *, name):
        return Compiled(model, options, name)
"""


@pytest.fixture
def locate(tmp_path, monkeypatch):
    """Search on a backend that counts the runners it makes; return the exit status, the report and the counts."""
    site = FakeSite(tmp_path / "site")
    site.plugin("compiler", PLUGIN)
    (site.folder / "compiler_impl.py").write_text(textwrap.dedent(IMPL))
    monkeypatch.setenv("BUILDS", str(tmp_path / "builds.txt"))

    def call(candidate, reference, *words):
        builds, report = tmp_path / "builds.txt", tmp_path / "r.json"
        for path in (builds, report):
            path.unlink(missing_ok=True)
        backends = ("-b", candidate[0], "-b", f"onnxrt:name=ref,model={reference}")
        done = site.polycmp("locate", candidate[1], *backends, "--report", report, *words, cwd=tmp_path)
        assert report.exists(), done.stdout + done.stderr
        return done.returncode, json.loads(report.read_text()), [int(line) for line in builds.read_text().split()]

    call.site = site
    return call


def two_faults(path, changed=(), prefix="t"):
    """Products with a changed weight here and there."""
    rng = np.random.default_rng(0)
    nodes, weights, source = [], {}, "x"
    for number in range(8):
        weight = (rng.standard_normal((8, 8)) / 3).astype(np.float32)
        if number in changed:
            weight[0, 0] += 1
        weights[f"w{number}"] = weight
        target = "y" if number == 7 else f"{prefix}{number}"
        nodes.append(helper.make_node("MatMul", [source, f"w{number}"], [target], name=f"m{number}"))
        source = target
    return faulty_models.save(path, nodes, [4, 8], weights)


@pytest.mark.parametrize(
    "way", [(), pytest.param(("--use-subprocess",), marks=pytest.mark.corpus)], ids=["here", "worker"]
)
def test_operators_run_alone_in_one_runner(locate, tmp_path, way):
    good, bad = two_faults(tmp_path / "good.onnx"), two_faults(tmp_path / "bad.onnx", changed=(2, 5))
    status, found, builds = locate(("compiler", bad), good, *way)
    slow = found["tensors"]
    assert (status, found["first_bad"]) == (1, "t2")
    status, found, separate = locate(("swift", bad), good)
    assert (status, found["first_bad"]) == (1, "t2")
    assert [row["own_error"] for row in slow] == [row["own_error"] for row in found["tensors"]]
    assert sum(row["own_error"] is not None for row in slow) > 1
    assert builds.count(8) == 2, "the model, and the model with all its tensors"
    assert len(builds) < len(separate)


def test_operators_that_cannot_run_together_are_tried_in_halves(locate, tmp_path):
    good, bad = two_faults(tmp_path / "good.onnx"), two_faults(tmp_path / "bad.onnx", changed=(2, 3, 5, 6))
    status, found, _ = locate(("compiler:refuse=1", bad), good)
    assert (status, found["first_bad"]) == (1, "t2")
    assert sum(row["own_error"] is not None for row in found["tensors"]) > 1


@pytest.mark.parametrize("precision", ["", ",narrow"])
def test_what_is_refused_together_is_shown_in_pieces(locate, tmp_path, precision):
    good, bad = two_faults(tmp_path / "good.onnx"), two_faults(tmp_path / "bad.onnx", changed=(5,))
    status, found, builds = locate((f"compiler:outputs=3{precision}", bad), good)
    assert (status, found["first_bad"]) == (1, "t5")
    assert len(found["tensors"]) == 8
    assert sum(count for count in builds if count < 8) <= 4 * 8


def test_the_tensor_that_is_refused_is_the_only_one_left_out(locate, tmp_path):
    good, bad = two_faults(tmp_path / "good.onnx"), two_faults(tmp_path / "bad.onnx", changed=(5,))
    status, found, _ = locate(("compiler:hide=t5", bad), good)
    assert (status, found["first_bad"]) == (1, "t6")
    assert [row["tensor"] for row in found["tensors"]] == [*(f"t{i}" for i in range(5)), "t6", "y"]
    [note] = [each for each in found["notes"] if "does not show" in each]
    assert "1 tensor " in note
    assert "Myelin error" in note


@pytest.fixture
def mark_all(locate, tmp_path):
    """Compare all tensors on a backend that counts the runners it makes; return the status, the report, the counts."""

    def call(model, candidate, *words):
        builds, report = tmp_path / "builds.txt", tmp_path / "r.json"
        for path in (builds, report):
            path.unlink(missing_ok=True)
        words = ("-b", candidate, "-b", "onnxrt", "--mark-all", *words, "--report", report)
        done = locate.site.polycmp("run", model, *words, cwd=tmp_path)
        assert report.exists(), done.stdout + done.stderr
        return done.returncode, json.loads(report.read_text()), [int(line) for line in builds.read_text().split()]

    return call


def test_pieces_are_found_once(mark_all, tmp_path):
    model = two_faults(tmp_path / "good.onnx")
    status, found, builds = mark_all(model, "compiler:name=compiler,outputs=3", "--iterations", "1")
    assert status == 0
    assert len(found["comparison_results"][0]["outputs"]) == 8
    status, found, twice = mark_all(model, "compiler:name=compiler,outputs=3", "--iterations", "2")
    assert status == 0
    assert twice == builds
    assert found["inference_results"]["compiler"]["iterations"] == 2
    assert not found["inference_results"]["compiler"]["notes"]


def test_every_piece_computes_shapes_for_itself(mark_all, tmp_path):
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], name="shape"),
        helper.make_node("Concat", ["s", "one"], ["target"], name="concat", axis=0),
    ]
    source = "x"
    for i in range(5):
        nodes.append(helper.make_node("Reshape", [source, "target"], [f"r{i}"], name=f"reshape{i}"))
        nodes.append(helper.make_node("Sigmoid", [f"r{i}"], [f"e{i}"], name=f"sigmoid{i}"))
        nodes.append(helper.make_node("Reshape", [f"e{i}", "s"], [f"b{i}"], name=f"back{i}"))
        source = f"b{i}"
    nodes.append(helper.make_node("Relu", ["b4"], ["y"], name="relu"))
    model = faulty_models.save(tmp_path / "m.onnx", nodes, ["n", 8], {"one": np.int64([1])})
    status, found, _ = mark_all(model, "compiler:name=compiler,outputs=4", "--input-shapes", "x:[3,8]")
    shown = {f"{kind}{i}" for kind in "reb" for i in range(5)} | {"y"}
    assert status == 0, found
    assert set(found["comparison_results"][0]["outputs"]) == shown
    [note] = [each for each in found["inference_results"]["compiler"]["notes"] if "does not show" in each]
    assert "2 tensors inside the model, not compared: 's', 'target'" in note


def test_operators_of_paired_models_run_alone_in_one_runner_too(locate, tmp_path):
    good, same = two_faults(tmp_path / "good.onnx", prefix="other"), two_faults(tmp_path / "same.onnx", changed=(2, 5))
    renamed = two_faults(tmp_path / "bad.onnx", changed=(2, 5))
    status, found, builds = locate(("compiler", renamed), good)
    assert (status, found["first_bad"]) == (1, "t2")
    alone = [row["own_error"] for row in found["tensors"]]
    assert sum(error is not None for error in alone) > 1
    status, found, separate = locate(("swift", renamed), good)
    assert (status, found["first_bad"]) == (1, "t2")
    assert [row["own_error"] for row in found["tensors"]] == alone
    assert len(builds) < len(separate)
    assert builds.count(8) == 2, "the model, and the model with all its tensors"
    status, found, _ = locate(("compiler", same), two_faults(tmp_path / "reference.onnx"))
    assert (status, [row["own_error"] for row in found["tensors"]]) == (1, alone)


def test_operators_that_do_not_fit_into_memory_run_in_several_runners():
    class Candidate:
        """Notes which operators it is asked to run together."""

        asked: list[list[str]] = []

        def run_parts(self, parts):
            self.asked.append(list(parts))
            return {name: {name: feed["x"]} for name, (feed, _) in parts.items()}

    feeds = {f"t{i}": {"x": np.zeros(256, np.float32)} for i in range(20)}
    candidate = Candidate()
    assert list(run_together(candidate, feeds, 4096 * 2)) == list(feeds)
    assert [len(names) for names in candidate.asked] == [4] * 5


# --- a backend that compiles and whose own runs differ

#: Writes down how many operators each runner that it makes has.
COUNTING = """
    from polycmp_onnxrt.runner import OnnxrtRunner
    from polycmp_onnxrt.session import SessionFromOnnx
    import os

    class Counting(OnnxrtRunner):
        def __init__(self, model, options, name):
            loaded = model.load("onnx")
            super().__init__(SessionFromOnnx(loaded), name)
            self.loaded = loaded

        def activate_impl(self):
            with open(os.environ["BUILDS"], "a") as file:
                file.write(f"{len(self.loaded().graph.node)}" + chr(10))
            super().activate_impl()
"""
RACE = (
    COUNTING
    + """
    class Racing(Counting):
        runs = 0

        def infer_impl(self, feed):
            Racing.runs += 1
            return {name: array * (1 + 0.1 * Racing.runs) for name, array in super().infer_impl(feed).items()}

    def make(model, options, *, name):
        return Racing(model, options, name)
"""
)


def test_a_side_that_compiles_and_differs_from_itself_is_told_without_another_build(locate, tmp_path):
    (locate.site.folder / "compiler_impl.py").write_text(textwrap.dedent(RACE))
    good = two_faults(tmp_path / "good.onnx")
    status, found, builds = locate(("compiler", good), good)
    assert (status, found["words"]) == (1, "other numbers in each run")
    assert found["sentence"].startswith(
        "other numbers in each run: compiler computes the same inputs twice and differs"
    )
    assert builds.count(8) <= 4, "the model, all its tensors, its operators alone, and once more to see where it begins"


def test_inputs_of_other_names_make_no_build_more(locate, tmp_path):
    good, bad = two_faults(tmp_path / "good.onnx"), two_faults(tmp_path / "bad.onnx", changed=(5,))
    status, found, builds = locate(("compiler", bad), good)
    model = onnx.load(bad)
    model.graph.input[0].name = model.graph.node[0].input[0] = "pixels"
    onnx.save(model, bad)
    renamed_status, renamed, again = locate(("compiler", bad), good)
    assert (renamed_status, renamed["first_bad"]) == (status, found["first_bad"]) == (1, "t5")
    assert len(again) <= len(builds)


def test_a_side_that_compiles_and_agrees_with_itself_is_built_as_often_as_ever(locate, tmp_path):
    good, bad = two_faults(tmp_path / "good.onnx"), two_faults(tmp_path / "bad.onnx", changed=(5,))
    status, found, builds = locate(("compiler", bad), good)
    assert (status, found["first_bad"]) == (1, "t5")
    assert builds.count(8) == 2


#: Right with two tensors inside as outputs; with one of them only the first time, by chance.
LUCK = (
    COUNTING
    + """
    from collections import Counter

    class Lucky(Counting):
        runs = Counter()

        def infer_impl(self, feed):
            made = super().infer_impl(feed)
            names = frozenset(made)
            Lucky.runs[names] += 1
            is_lucky = names == {"y", "t3"} and Lucky.runs[names] == 1
            if len(self.loaded().graph.node) < 8 or {"t2", "t3"} <= names or is_lucky:
                return made
            return {**made, "y": made["y"] * (1 + 0.3 * Lucky.runs.total())} if "y" in made else made

    def make(model, options, *, name):
        return Lucky(model, options, name)
"""
)


def test_an_output_that_made_a_racing_side_right_once_is_not_offered(locate, tmp_path):
    (locate.site.folder / "compiler_impl.py").write_text(textwrap.dedent(LUCK))
    good = two_faults(tmp_path / "good.onnx")
    status, found, _ = locate(("compiler", good), good)
    assert (status, found["words"]) == (1, "probing removes the fault")
    assert "(two runs of compiler differ by" in found["sentence"]
    assert "is an output" not in found["sentence"]
