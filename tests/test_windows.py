"""Comparing all tensors in bounded memory gives what comparing them at once gives."""

from __future__ import annotations

import json
import textwrap

import faulty_models
import numpy as np
import onnx
import pytest
from fakes import FakeSite, runner
from in_parts import a_few

from polycmp.builtin.layerwise.partition import GraphCuts
from polycmp.builtin.layerwise.partitioned_run import PartitionedRun
from polycmp.builtin.layerwise.windows import Windows
from polycmp.model import Model
from polycmp.plugins import Registry
from polycmp.results import BackendResult
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata

TWO = ("-b", "onnxrt", "-b", "onnxrt:name=ref,optimization=off")


def report(polycmp, tmp_path, *words):
    done = polycmp("run", *words, "--report", "r.json", "-q")
    return done, json.loads((tmp_path / "r.json").read_text())


@pytest.mark.parametrize("iterations", a_few([3, 1]))
def test_windows_say_what_one_pass_says(polycmp, tmp_path, iterations):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    words = (bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", "--mark-all", "--iterations", iterations)
    at_once, one = report(polycmp, tmp_path, *words, "--max-memory", "1G")
    windowed, many = report(polycmp, tmp_path, *words, "--max-memory", "20K")
    assert at_once.status == windowed.status == 1
    [expected], [found] = one["comparison_results"], many["comparison_results"]
    assert list(found["outputs"]) == list(expected["outputs"])
    for name, output in found["outputs"].items():
        assert output["passed"] == expected["outputs"][name]["passed"], name
        assert output["max_error"] == pytest.approx(expected["outputs"][name]["max_error"], rel=1e-3, abs=1e-5)
    run = many["inference_results"]["onnxrt"]
    assert run["iterations"] == iterations
    assert run["outputs"] == one["inference_results"]["onnxrt"]["outputs"]


def test_metrics_of_windows_are_saved_as_those_of_one_pass(polycmp, tmp_path):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    words = (bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", "--mark-all", "--iterations", 2)
    saved = []
    for memory in ("1G", "20K"):
        done = polycmp("run", *words, "--max-memory", memory, "--save-accuracy-results", "m.json")
        assert (done.status, "all tensors are held" in done.out) == (1, False)
        assert polycmp("check", "accuracy", "m.json").status == 1
        assert polycmp("check", "accuracy", "m.json", "--atol", 1e9, "--allow-blind").status == 0
        saved.append(json.loads((tmp_path / "m.json").read_text())["records"])
    assert [(r["iteration"], r["output"], r["passed"]) for r in saved[0]] == [
        (r["iteration"], r["output"], r["passed"]) for r in saved[1]
    ]


def test_tensors_that_live_across_windows_and_weights_that_operators_change(polycmp, tmp_path):
    model = faulty_models.residual(tmp_path / "m.onnx")
    words = (model, *TWO, "--mark-all", "--input-shapes", "x:[5,8]")
    done, found = report(polycmp, tmp_path, *words, "--max-memory", "64")
    assert done.status == 0
    [pair] = found["comparison_results"]
    assert list(pair["outputs"]) == ["wt", "a", "b", "s", "c", "d", "e", "y"]
    assert found["inference_results"]["ref"]["outputs"]["e"]["shape"] == [5, 8]


def test_another_shape_in_a_later_iteration(polycmp, tmp_path):
    model = faulty_models.residual(tmp_path / "m.onnx")
    for index, rows in enumerate((2, 3, 3)):
        np.savez(tmp_path / f"x{index}.npz", x=np.ones((rows, 8), np.float32))
    files = [tmp_path / f"x{index}.npz" for index in range(3)]
    words = (model, *TWO, "--mark-all", "--load-inputs", *files, "--max-memory", "64")
    done, found = report(polycmp, tmp_path, *words)
    assert done.status == 0
    assert found["inference_results"]["onnxrt"]["iterations"] == 3
    assert found["inference_results"]["onnxrt"]["outputs"]["y"]["shape"] == [3, 8]


def test_a_backend_that_fails_in_one_window_has_failed_and_the_others_go_on(polycmp, tmp_path):
    nodes = [onnx.helper.make_node("Relu", ["x"], ["t0"])]
    nodes += [onnx.helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"]) for i in range(8)]
    nodes += [onnx.helper.make_node("Mish", ["t8"], ["y"], name="mish")]
    model = faulty_models.save(tmp_path / "m.onnx", nodes, [4], {}, opset=18)
    (tmp_path / "ops.py").write_text(
        "from onnx.reference.op_run import OpRun\n"
        "class Mish(OpRun):\n"
        "    op_domain = ''\n"
        "    def _run(self, x):\n"
        "        raise ValueError('no such luck')\n"
        "new_ops = [Mish]\n"
    )
    words = (model, "-b", "onnx:name=bad,ops=ops.py", "-b", "onnxrt", "-b", "onnxrt:name=ref", "--mark-all")
    done, found = report(polycmp, tmp_path, *words, "--max-memory", "16")
    assert done.status == 3
    assert "no such luck" in found["inference_results"]["bad"]["error"]
    assert found["inference_results"]["ref"]["error"] is None
    good = next(pair for pair in found["comparison_results"] if pair["candidate"] == "onnxrt")
    assert good["passed"]
    assert "y" in good["outputs"]


def test_stopping_at_the_first_difference_stops_between_windows(polycmp, tmp_path):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    words = (bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", "--mark-all", "--max-memory", "20K")
    done, found = report(polycmp, tmp_path, *words, "--fail-fast")
    assert done.status == 1
    [pair] = found["comparison_results"]
    assert next(name for name, output in pair["outputs"].items() if not output["passed"]) == "conv8"
    assert "y" not in pair["outputs"]
    assert found["inference_results"]["onnxrt"]["iterations"] == 1


@pytest.fixture
def layout(tmp_path):
    model = Model(str(faulty_models.chain(tmp_path / "m.onnx")), Registry.discover())
    graph = model.graph()
    wanted = [name for node in graph.nodes for name in node.outputs]
    return GraphCuts(graph, wanted, graph.types(TensorMetadata(graph.inputs)))


@pytest.mark.parametrize(("compiles", "operators"), [(False, 3), (True, 12)])
def test_weights_of_a_window_are_limited_like_its_tensors(tmp_path, compiles, operators):
    """Sessions of both backends hold copies of them, here of 1 MiB each; but a window is a build where one compiles."""
    names = ["x", *(f"t{index}" for index in range(11)), "y"]
    weights = {f"w{index}": np.eye(512, dtype=np.float32) for index in range(12)}
    nodes = [onnx.helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(12)]
    model = faulty_models.save(tmp_path / "m.onnx", nodes, [1, 512], weights)
    graph = Model(str(model), Registry.discover()).graph()
    runs = [PartitionedRun(BackendResult(name, name), graph, _never, compiles=compiles) for name in "ab"]
    windows = Windows(runs, names[1:], max_memory=48 << 20)  # less than the process has: an eighth is for a window
    windows.plan({"x": np.zeros([1, 512], np.float32)})
    assert {part.stop - part.start for part in windows.segments} == {operators}


def _never(*_of: object) -> Runner:
    raise AssertionError


def test_a_part_holds_only_its_own_weights(layout):
    part = layout.segment(4, 6)
    shape = TensorMetadata().add(part.inputs[0], "float32", [1, 4, 16, 16])
    model = layout.graph.cut(shape, part.outputs)()
    assert [item.name for item in model.graph.initializer] == ["w3"]
    assert [node.name for node in model.graph.node] == ["c3", "r3"]
    onnx.checker.check_model(model, full_check=True)


SHUT = """
    from polycmp.spec import RunnerSpec, RunnerTools, hookimpl
    @hookimpl
    def polycmp_runners():
        factory = "polycmp_onnxrt.runner:make_runner"
        yield RunnerSpec("shut", "shows nothing", factory, tools=__name__ + ":Shut")
    class Shut(RunnerTools):
        runs_parts = False
"""


@pytest.mark.parametrize("order", [("shut", "onnxrt"), ("onnxrt", "shut")], ids=" against ".join)
def test_a_backend_that_shows_nothing_inside_is_compared_on_the_outputs_and_that_is_said(tmp_path, order):
    site = FakeSite(tmp_path / "site")
    site.plugin("shut", SHUT)
    model = faulty_models.chain(tmp_path / "m.onnx")
    words = ("-b", order[0], "-b", order[1], "--mark-all", "--max-memory", "20K", "--report", tmp_path / "r.json")
    done = site.polycmp("run", model, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [pair] = json.loads((tmp_path / "r.json").read_text())["comparison_results"]
    assert list(pair["outputs"]) == ["y"]
    assert "shows no tensors inside the model, so only the model's outputs are compared" in " ".join(
        done.stdout.split()
    )


def test_such_a_backend_gets_the_same_inputs_under_its_own_names(tmp_path):
    site = FakeSite(tmp_path / "site")
    site.plugin("shut", SHUT)
    model = faulty_models.chain(tmp_path / "m.onnx")
    other = onnx.load(model)
    own = other.graph.input[0].name
    for node in other.graph.node:
        node.input[:] = ["given" if name == own else name for name in node.input]
    other.graph.input[0].name = "given"
    onnx.save(other, tmp_path / "other.onnx")
    words = ("-b", f"shut:model={tmp_path / 'other.onnx'}", "-b", "onnxrt", "--mark-all", "--max-memory", "20K")
    done = site.polycmp("run", model, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"is fed what {own!r} of onnxrt gets" in " ".join(done.stdout.split())


STATIC = """
    from polycmp.errors import BackendError
    from polycmp_onnxrt.runner import OnnxrtRunner
    from polycmp_onnxrt.session import SessionFromOnnx

    class Static(OnnxrtRunner):
        '''Runs only in the shapes it was built for, as engines do.'''
        def __init__(self, model, name):
            super().__init__(SessionFromOnnx(model.load("onnx")), name)
            self.shapes = {key: tuple(shape) for key, shape in model.input_shapes.items()}
        def infer_impl(self, feed_dict):
            for value in self._session.get_inputs():
                fixed = all(isinstance(dim, int) for dim in value.shape)
                built = tuple(value.shape) if fixed else self.shapes.get(value.name)
                if feed_dict[value.name].shape != built:
                    raise BackendError(f"built for {built}, fed {feed_dict[value.name].shape}")
            return super().infer_impl(feed_dict)

    def make(model, options, *, name):
        return Static(model, name)
"""


def test_backends_that_build_for_one_shape_are_told_the_shapes_of_every_part(tmp_path, model):
    site = FakeSite(tmp_path / "site")
    site.plugin("static", runner("static", factory="static_impl:make"))
    (site.folder / "static_impl.py").write_text(textwrap.dedent(STATIC))
    shapes = ("--input-shapes", "x:[3,8]")
    for words in (("run", "--mark-all"), ("locate",), ("locate", "--bisect"), ("locate", "--use-subprocess")):
        done = site.polycmp(words[0], model, "-b", "static", "-b", "onnxrt", *words[1:], *shapes, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "built for" not in done.stdout


SHY = """
    import onnx
    from polycmp.errors import BackendError
    from polycmp_onnxrt.runner import OnnxrtRunner
    from polycmp_onnxrt.session import SessionFromOnnx

    REFUSED = {refused}

    def make(model, options, *, name):
        '''Refuses some tensors as outputs, as builders of engines do.'''
        def load():
            made = model.load("onnx")()
            asked = sorted(value.name for value in made.graph.output if value.name in REFUSED)
            if asked:
                raise BackendError("cannot give out " + ", ".join(asked))
            return SessionFromOnnx(made)()
        return OnnxrtRunner(load, name)
"""


@pytest.fixture
def shy(tmp_path):
    """A function that installs a backend which refuses some tensors, and returns the place where it is installed."""

    def install(*refused):
        site = FakeSite(tmp_path / "site")
        site.plugin("shy", runner("shy", factory="shy_impl:make"))
        (site.folder / "shy_impl.py").write_text(textwrap.dedent(SHY).format(refused=set(refused) or "()"))
        return site

    return install


class TestTensorsThatABackendRefuses:
    """It runs the model, so what it cannot show is left out, said, and nothing else is lost."""

    def run(self, site, tmp_path, model, *words):
        path = tmp_path / "r.json"
        done = site.polycmp(*words, model, "-b", "shy", "-b", "onnxrt", "--report", path, cwd=tmp_path)
        return done, json.loads(path.read_text())

    @pytest.mark.parametrize("memory", ["1G", "64"], ids=["one window", "many"])
    def test_what_computes_shapes_is_tried_first(self, shy, tmp_path, memory):
        model = faulty_models.residual(tmp_path / "m.onnx")
        words = ("run", "--mark-all", "--input-shapes", "x:[5,8]", "--max-memory", memory, "--iterations", "2")
        done, found = self.run(shy("s") if memory == "1G" else shy("wt"), tmp_path, model, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        [pair] = found["comparison_results"]
        hidden = "s" if memory == "1G" else "wt"
        assert list(pair["outputs"]) == [name for name in ("wt", "a", "b", "s", "c", "d", "e", "y") if name != hidden]
        assert found["inference_results"]["shy"]["iterations"] == 2
        said = " ".join(done.stdout.split())
        assert f"shy: does not show 1 tensor inside the model, not compared: '{hidden}'" in said

    def test_several_real_numbers(self, shy, tmp_path):
        model = faulty_models.chain(tmp_path / "m.onnx")
        done, found = self.run(shy("conv3", "relu9"), tmp_path, model, "run", "--mark-all")
        assert done.returncode == 0, done.stdout + done.stderr
        [pair] = found["comparison_results"]
        assert len(pair["outputs"]) == 22
        assert not {"conv3", "relu9"} & set(pair["outputs"])

    def test_what_is_needed_behind_a_window_is_a_failure(self, shy, tmp_path):
        model = faulty_models.chain(tmp_path / "m.onnx")
        refused = [f"{kind}{number}" for kind in ("conv", "relu") for number in range(3, 9)]
        done, found = self.run(shy(*refused), tmp_path, model, "run", "--mark-all", "--max-memory", "16")
        assert done.returncode == 3
        assert "cannot give out" in found["inference_results"]["shy"]["error"]

    @pytest.mark.parametrize("way", [(), ("--bisect",)], ids=["all", "bisect"])
    def test_locating_names_the_next_one_and_says_so(self, shy, tmp_path, way):
        good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
        path = tmp_path / "r.json"
        words = ("locate", bad, "-b", "shy", "-b", f"onnxrt:name=ref,model={good}", "--report", path, *way)
        done = shy("conv8").polycmp(*words, cwd=tmp_path)
        assert done.returncode == 1, done.stdout + done.stderr
        found = json.loads(path.read_text())
        assert found["first_bad"] == "relu8"
        assert any("'conv8'" in note for note in found["notes"]), found["notes"]
