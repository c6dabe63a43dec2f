"""`polycmp locate`: every scenario gets its operator and its words, on real backends."""

from __future__ import annotations

import sys

import faulty_models
import numpy as np
import onnx
import pytest
from fakes import FakeSite, runner
from located import located
from small_models import save_graph


@pytest.fixture
def inputs(tmp_path):
    """Save inputs and return the words that use them."""

    def save(**arrays):
        np.savez(tmp_path / "x.npz", **arrays)
        return ("--load-inputs", tmp_path / "x.npz")

    return save


REPORT = ("--report", "found.json", "--explain")


@pytest.mark.parametrize("memory", [(), ("--max-memory", "20K")], ids=["at once", "in windows"])
@pytest.mark.parametrize("mode", [(), ("--bisect",)], ids=["full", "bisect"])
def test_a_changed_weight_names_its_convolution(polycmp, tmp_path, mode, memory):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *REPORT, *mode, *memory)
    assert done.status == 1
    found = located(tmp_path)
    assert (found["first_bad"], found["operator"]["type"], found["operator"]["name"]) == ("conv8", "Conv", "c8")
    assert found["last_good"] == "relu7"
    assert "relu7" in found["operator"]["inputs"]
    assert found["operator"]["inputs"]["relu7"]["min"] == 0
    assert found["words"] in {"wrong", "worse than this precision explains"}
    alone = "run alone on the reference's tensors, onnxrt computes what its file says, which is something else"
    assert alone in " ".join(done.out.split())
    if mode:
        assert len(found["tensors"]) < 12
    else:
        assert [row["tensor"] for row in found["tensors"]][:3] == ["conv1", "relu1", "conv2"]
        assert len(found["tensors"]) == 24


def test_nothing_wrong_is_status_0(polycmp, tmp_path):
    model = faulty_models.chain(tmp_path / "m.onnx")
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnxrt:optimization=off", "--atol", "1e-2", *REPORT)
    assert done.status == 0
    assert "NO FAULT" in done.out
    assert located(tmp_path)["first_bad"] is None


def test_amplification_is_told_from_origin(polycmp, tmp_path, inputs):
    """A small error within the tolerance is blown up later: the later operator is innocent."""

    def model(path, weight):
        nodes = [
            onnx.helper.make_node("Mul", ["x", "k"], ["small"], name="scale"),
            onnx.helper.make_node("Sub", ["small", "one"], ["near"], name="near_zero"),
            onnx.helper.make_node("Mul", ["near", "huge"], ["y"], name="blow_up"),
        ]
        weights = {"k": np.float32(weight), "one": np.float32(1), "huge": np.float32(1e4)}
        return faulty_models.save(path, nodes, [4], weights)

    good, bad = model(tmp_path / "good.onnx", 1), model(tmp_path / "bad.onnx", 1 + 5e-6)
    words = inputs(x=np.array([1.001, 1.002, 1.003, 1.004], np.float32))
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *words, *REPORT)
    assert done.status == 1
    found = located(tmp_path)
    assert found["first_bad"] == "y"
    assert found["origin"] == "small"
    assert "Mul 'scale' computes 'small'; its error is within the tolerance there" in " ".join(done.out.split())


FOLDING = '''
from onnx import ModelProto, helper, numpy_helper
from polycmp_onnxrt.runner import OnnxrtRunner
from polycmp_onnxrt.session import SessionFromOnnx

def folded(model):
    """Fold zeros around an input into the pooling behind them, which pads with minus infinity, as ONNX Runtime did
    before 1.32; not where the tensor between the two is an output."""
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    sizes = {each.name: numpy_helper.to_array(each).tolist() for each in graph.initializer}
    shown = {each.name for each in graph.output}
    pads = {node.output[0]: node for node in graph.node if node.op_type == "Pad" and node.output[0] not in shown}
    for node in graph.node:
        if node.op_type == "MaxPool" and node.input[0] in pads:
            pad = pads[node.input[0]]
            before, after = sizes[pad.input[1]][2:4], sizes[pad.input[1]][6:8]
            node.input[0] = pad.input[0]
            node.attribute.append(helper.make_attribute("pads", [*before, *after]))
            graph.node.remove(pad)
            break
    return made

def make(model, options, *, name):
    load = model.load("onnx")
    return OnnxrtRunner(SessionFromOnnx(lambda: folded(load())), name)
'''


@pytest.fixture
def folding(tmp_path):
    """A command with a backend that is wrong where two operators run together, on any release of ONNX Runtime."""
    site = FakeSite(tmp_path / "site")
    site.plugin("folding", runner("folding", factory="folding_impl:make"))
    (site.folder / "folding_impl.py").write_text(FOLDING)
    return lambda *words: site.polycmp(*words, cwd=tmp_path)


def test_a_fused_operator_that_probing_cures_is_named_and_can_be_avoided(folding, tmp_path, inputs):
    model = faulty_models.pad_pool(tmp_path / "m.onnx")
    words = ("-b", "folding", "-b", "onnx", *inputs(x=np.full((1, 1, 3, 3), -1, np.float32)))
    done = folding("locate", model, *words, *REPORT, "--save-marked", "marked.onnx", "--save-repro", "case")
    assert done.returncode == 1, done.stdout + done.stderr
    found = located(tmp_path)
    assert found["words"] == "probing removes the fault"
    assert found["probe"]["cured_by"] == ["padded"]
    assert "keeps Pad 'pad' and MaxPool 'pool' apart" in " ".join(done.stdout.split())
    assert folding("run", "marked.onnx", *words).returncode == 0
    assert folding("run", model, *words).returncode == 1
    case = onnx.load(tmp_path / "case" / "model.onnx")
    assert [node.op_type for node in case.graph.node] == ["Pad", "MaxPool"]


FUSING = '''
from polycmp_onnxrt.runner import OnnxrtRunner
from polycmp_onnxrt.session import SessionFromOnnx

class Fusing(OnnxrtRunner):
    """A fusion makes the last output a tenth too large unless a tensor inside is looked at; always one bit is off."""
    def infer_impl(self, feed_dict):
        made = super().infer_impl(feed_dict)
        factor = 1.1 if list(made) == ["y"] and "x" in feed_dict else 1 + 2**-23
        return {name: array * array.dtype.type(factor) for name, array in made.items()}

def make(model, options, *, name):
    return Fusing(SessionFromOnnx(model.load("onnx")), name)
'''


def test_a_fault_that_hides_from_probes_is_found_though_all_tensors_seen_are_only_rounded(tmp_path):
    site = FakeSite(tmp_path / "site")
    site.plugin("fusing", runner("fusing", factory="fusing_impl:make"))
    (site.folder / "fusing_impl.py").write_text(FUSING)
    model = faulty_models.chain(tmp_path / "m.onnx", 3)
    words = ("locate", model, "-b", "fusing", "-b", "onnxrt", "--atol", 0, "--rtol", 0, *REPORT)
    done = site.polycmp(*words, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert located(tmp_path)["words"] == "probing removes the fault"


def test_probing_that_moves_the_result_by_no_more_than_rounding_is_said(polycmp, tmp_path, inputs):
    model = faulty_models.conv_norm(tmp_path / "m.onnx")
    words = inputs(x=np.random.default_rng(0).standard_normal((1, 16, 32, 32)).astype(np.float32))
    words = (*words, "--atol", "1e-5", "--rtol", "1e-5")
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx", *words, *REPORT)
    assert polycmp("run", model, "-b", "onnxrt", "-b", "onnx", *words).status == 1
    assert done.status == 0
    found = located(tmp_path)
    assert found["words"] == "within rounding"
    assert found["probe"]["moved"] > 0
    assert not found["probe"]["trusted"]
    assert "no more than rounding explains" in found["probe"]["sentence"]


@pytest.mark.parametrize("order", [("onnx", "onnxrt"), ("onnxrt", "onnx")], ids=" against ".join)
def test_an_overflow_that_ends_in_finite_constants(polycmp, tmp_path, inputs, order):
    x = np.random.default_rng(0).standard_normal((4, 64)) * 64
    x[:, 7] = 800
    words = inputs(x=x.astype(np.float16))
    done = polycmp(
        "locate", faulty_models.layer_norm(tmp_path / "m.onnx"), "-b", order[0], "-b", order[1], *words, *REPORT
    )
    assert done.status == 1
    found = located(tmp_path)
    assert (found["words"], found["first_bad"]) == ("NaN/Inf born here", "sq")
    assert "'y' is finite again but suspiciously constant: onnx holds 0.25 everywhere" in found["sentence"]
    if order[1] == "onnx":
        assert any("float64 sides with the candidate" in note for note in found["notes"])


def test_nan_that_is_fed_and_goes_elsewhere_is_not_born_there(polycmp, tmp_path, inputs):
    """Both sides hold one NaN, which the inputs bring, at another place."""

    def model(path, *order):
        nodes = [
            onnx.helper.make_node("Gather", ["x", "order"], ["g"], name="sort"),
            onnx.helper.make_node("Mul", ["g", "k"], ["y"], name="scale"),
        ]
        return faulty_models.save(path, nodes, [4], {"order": np.array(order), "k": np.float32(2)})

    good, bad = model(tmp_path / "good.onnx", 0, 1, 2, 3), model(tmp_path / "bad.onnx", 3, 0, 1, 2)
    words = inputs(x=np.array([1, np.nan, 3, 4], np.float32))
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *words, *REPORT)
    found = located(tmp_path)
    assert (done.status, found["words"], found["operator"]["type"]) == (1, "wrong", "Gather")
    assert "onnxrt computes what its file says, which is something else" in found["sentence"]


def test_a_constant_output_without_any_infinity(polycmp, tmp_path):
    """A weight of zero makes one tensor the same number everywhere."""

    def model(path, factor):
        nodes = [
            onnx.helper.make_node("Mul", ["x", "k"], ["a"], name="scale"),
            onnx.helper.make_node("Add", ["a", "b"], ["y"], name="shift"),
        ]
        return faulty_models.save(path, nodes, [16], {"k": np.float32(factor), "b": np.float32(0.5)})

    good, bad = model(tmp_path / "good.onnx", 2), model(tmp_path / "bad.onnx", 0)
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *REPORT)
    assert done.status == 1
    assert located(tmp_path)["words"] == "suspiciously constant"
    assert "holds 0 everywhere in 'a'" in " ".join(done.out.split())


def test_backends_that_agree_on_a_wrong_answer(polycmp, tmp_path):
    done = polycmp("locate", faulty_models.cancellation(tmp_path / "m.onnx"), "-b", "onnxrt", "-b", "onnx", *REPORT)
    assert done.status == 0
    found = located(tmp_path)
    assert found["words"] == "equal"
    assert "the model loses digits in this type" in " ".join(done.out.split())
    assert found["tensors"][-1]["float64"]["reference"] > 0.5


def test_infinities_born_in_a_smaller_type(polycmp, tmp_path, inputs):
    words = inputs(x=np.full(8, 12, np.float32))
    model = faulty_models.overflow(tmp_path / "m.onnx")
    done = polycmp("locate", model, "-b", "onnx:dtype=float16", "-b", "onnx", *words, *REPORT)
    assert done.status == 1
    found = located(tmp_path)
    assert (found["words"], found["operator"]["type"]) == ("NaN/Inf born here", "Exp")


#: The reference evaluator again, by another name and without a word about the type that it calculates in.
SLY = """
from polycmp.spec import RunnerSpec, hookimpl
from polycmp_onnx.plugin import RunnerOptions
@hookimpl
def polycmp_runners():
    yield RunnerSpec("sly", "rounds in secret", "polycmp_onnx.runner:make_runner", options=RunnerOptions)
"""


@pytest.mark.parametrize(
    ("dtype", "words", "more"),
    [
        ("float16", "float16 or TF32", ()),
        ("bfloat16", "bfloat16", ()),
        ("float16", "float16 or TF32", ("--no-float64",)),
    ],
)
def test_less_precision_than_declared_is_recognised(tmp_path, dtype, words, more):
    site = FakeSite(tmp_path / "site")
    site.plugin("sly", SLY)
    model = faulty_models.chain(tmp_path / "m.onnx", 3)
    done = site.polycmp("locate", model, "-b", f"sly:dtype={dtype}", "-b", "onnx", *REPORT, *more, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = located(tmp_path)
    assert found["words"] == "worse than this precision explains"
    assert found["sentence"].partition(" as if computed in ")[2].startswith(words)
    floor = "inputs moved by one unit in the last place" if more else "the reference against float64"
    assert any(floor in line for line in found["explanation"])


def test_a_sigmoid_that_makes_small_scores_only_is_no_fault(polycmp, tmp_path, inputs):
    ends = [("x", onnx.TensorProto.FLOAT, [1, 4096])], [("y", onnx.TensorProto.FLOAT, [1, 4096])]
    nodes = [onnx.helper.make_node("Sigmoid", ["x"], ["s"]), onnx.helper.make_node("Mul", ["s", "thousand"], ["y"])]
    model = save_graph(tmp_path / "m.onnx", nodes, *ends, [("thousand", np.float32(1000))])
    words = inputs(x=np.linspace(-10, -4, 4096, dtype=np.float32)[None])
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx", *words, *REPORT)
    assert done.status == 0, done.out


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_a_type_rounds_that_was_asked_for_is_no_fault(polycmp, tmp_path, dtype):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    candidate = f"onnx:name=narrow,dtype={dtype}"
    done = polycmp("run", good, "-b", candidate, "-b", "onnx", "--atol", "1e-5", "--rtol", "1e-5")
    assert done.status == 1
    assert f"narrow may calculate in {dtype}" in " ".join(done.out.split())
    done = polycmp("locate", good, "-b", candidate, "-b", "onnx", *REPORT)
    assert done.status == 0, done.out
    assert f"rounding to {dtype}, which narrow may calculate in" in located(tmp_path)["sentence"]
    done = polycmp("locate", bad, "-b", candidate, "-b", f"onnx:name=ref,model={good}", *REPORT)
    assert done.status == 1, done.out
    assert located(tmp_path)["first_bad"] == "conv8"


def test_with_three_backends_the_odd_one_out_is_named(folding, tmp_path, inputs):
    model = faulty_models.pad_pool(tmp_path / "m.onnx")
    words = inputs(x=np.full((1, 1, 3, 3), -1, np.float32))
    three = ("-b", "onnxrt:optimization=off", "-b", "onnx", "-b", "folding")
    done = folding("locate", model, *three, *words, *REPORT)
    assert done.returncode == 1, done.stdout + done.stderr
    assert located(tmp_path)["odd_one_out"] == "folding"
    assert "folding is right once 'padded' is an output" in located(tmp_path)["sentence"]
    assert "onnxrt:optimization=off and onnx agree with each other" in " ".join(done.stdout.split())


def test_the_saved_case_repeats_the_fault_in_a_shell(polycmp, shell, tmp_path):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", "--save-repro", "case")
    case = tmp_path / "case"
    assert [node.name for node in onnx.load(case / "model.onnx").graph.node] == ["c8"]
    assert "polycmp locate" in (case / "README.md").read_text() or "c8" in (case / "README.md").read_text()
    again = shell(f"sh {case}/run.sh", tmp_path)
    assert again.status == 1, again.err
    assert "FAILED: 1 of 1 output differs" in again.out


def test_models_of_different_structure_are_an_error_in_words(polycmp, tmp_path):
    one, two = faulty_models.chain(tmp_path / "one.onnx", 2), faulty_models.residual(tmp_path / "two.onnx")
    done = polycmp("locate", one, "-b", "onnxrt", "-b", f"onnxrt:model={two}")
    assert done.status == 3
    assert "have different operators" in done.err


def test_one_backend_is_wrong_usage(polycmp, tmp_path):
    done = polycmp("locate", faulty_models.chain(tmp_path / "m.onnx", 2), "-b", "onnxrt")
    assert done.status == 2
    assert "needs two backends" in done.err


def test_options_that_only_run_has_are_refused(polycmp, tmp_path):
    model = faulty_models.chain(tmp_path / "m.onnx", 2)
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx", "--save-outputs", "o.npz")
    assert done.status == 2
    assert "--save-outputs" in done.err


def test_outputs_that_the_loader_marks_do_not_hide_the_model_s_own(polycmp, tmp_path):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", "--mark-all", *REPORT)
    assert done.status == 1
    assert located(tmp_path)["first_bad"] == "conv8"


@pytest.mark.parametrize("pair", [("onnxrt", "onnx"), ("onnxrt", "onnx:dtype=float64")], ids=" against ".join)
def test_rounding_that_adds_up_is_no_fault_however_strict_the_tolerance(polycmp, tmp_path, pair):
    model = faulty_models.chain(tmp_path / "m.onnx", channels=24)
    words = (model, "-b", pair[0], "-b", pair[1], "--atol", 0, "--rtol", 0)
    if polycmp("run", *words).status == 0:
        assert pair[1] == "onnx"
        pytest.skip("on this processor both round alike")
    done = polycmp("locate", *words, *REPORT)
    assert done.status == 0, done.out
    assert located(tmp_path)["words"] == "within rounding"


def test_a_backend_in_a_process_of_its_own_is_looked_into_as_well(polycmp, tmp_path):
    good, bad = faulty_models.chain(tmp_path / "good.onnx", 4), faulty_models.chain(tmp_path / "bad.onnx", 4, changed=2)
    words = ("-b", f"onnxrt:python={sys.executable}", "-b", f"onnxrt:name=ref,model={good}", *REPORT)
    done = polycmp("locate", bad, *words)
    assert done.status == 1
    assert located(tmp_path)["first_bad"] == "conv2"
