"""Operators that are right one by one, and wrong or refused where a backend computes them together."""

from __future__ import annotations

import faulty_models
import numpy as np
import onnx
import pytest
from fakes import FakeSite, runner
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import save_graph


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


#: A backend that runs ONNX Runtime, and does something else with what that makes: the class `Runner`.
BACKEND = """
from polycmp_onnxrt.runner import OnnxrtRunner
from polycmp_onnxrt.session import SessionFromOnnx
{code}
def make(model, options, *, name):
    return Runner(SessionFromOnnx(model.load("onnx")), name)
"""


def site_with(tmp_path, name, code):
    """Return an environment with such a backend."""
    site = FakeSite(tmp_path / "site")
    site.plugin(name, runner(name, factory=f"{name}_impl:make"))
    (site.folder / f"{name}_impl.py").write_text(BACKEND.replace("{code}", code))
    return site


FUSING = '''
class Runner(OnnxrtRunner):
    """A fusion makes the last output a tenth too large unless a tensor inside is looked at; always one bit is off."""
    def infer_impl(self, feed_dict):
        made = super().infer_impl(feed_dict)
        factor = 1.1 if list(made) == ["y"] and "x" in feed_dict else 1 + 2**-23
        return {name: array * array.dtype.type(factor) for name, array in made.items()}
'''


def test_a_fault_that_hides_from_probes_is_found_though_all_tensors_seen_are_only_rounded(tmp_path):
    site = site_with(tmp_path, "fusing", FUSING)
    model = faulty_models.chain(tmp_path / "m.onnx", 3)
    words = ("locate", model, "-b", "fusing", "-b", "onnxrt", "--atol", 0, "--rtol", 0, *REPORT)
    done = site.polycmp(*words, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert located(tmp_path)["words"] == "probing removes the fault"


TOO_LARGE = '''
class Runner(OnnxrtRunner):
    """The first product is always a little off; two operators together, unless looked at, are wrong by half."""
    def infer_impl(self, feed_dict):
        made = super().infer_impl(feed_dict)
        if "h" in made:
            made["h"] = made["h"] * made["h"].dtype.type(1 + 2e-5)
        if list(made) == ["y"] and "x" in feed_dict:
            made["y"] = made["y"] * made["y"].dtype.type(1.5)
        return made
'''


def test_two_operators_wrong_together_are_named_and_not_a_small_difference_before_them(tmp_path):
    site = site_with(tmp_path, "fusing", TOO_LARGE)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "w"], ["y"], name="second"),
    ]
    weight = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    kind = TensorProto.FLOAT
    model = save_graph(tmp_path / "m.onnx", nodes, [("x", kind, [4, 8])], [("y", kind, [4, 8])], [("w", weight)])
    done = site.polycmp("locate", model, "-b", "fusing", "-b", "onnxrt", *REPORT, cwd=tmp_path)
    found = located(tmp_path)
    assert (done.returncode, found["words"]) == (1, "probing removes the fault"), found["sentence"]
    assert len(found["probe"]["cured_by"]) == 1
    assert "the outputs' error of 0.5 relative" in found["sentence"]


READS_BESIDE = '''
CALLS = []

class Runner(OnnxrtRunner):
    """Reads beside its input: at first what is large, then what is less so."""
    def infer_impl(self, feed_dict):
        CALLS.append(None)
        factor = 1e12 if len(CALLS) == 1 else 3.0
        return {name: array * array.dtype.type(factor) for name, array in super().infer_impl(feed_dict).items()}
'''


def test_one_operator_whose_runs_differ_is_not_told_to_be_right_by_itself(tmp_path):
    site = site_with(tmp_path, "beside", READS_BESIDE)
    node = helper.make_node("Relu", ["x"], ["y"], name="only")
    kind = TensorProto.FLOAT
    model = save_graph(tmp_path / "m.onnx", [node], [("x", kind, [4, 8])], [("y", kind, [4, 8])])
    done = site.polycmp("locate", model, "-b", "beside", "-b", "onnxrt", *REPORT, cwd=tmp_path)
    found = located(tmp_path)
    assert (done.returncode, found["words"]) == (1, "other numbers in each run")
    assert "right one by one" not in done.stdout


def fails_in_relu_clip(tmp_path):
    """Return whether the installed ONNX Runtime cannot load that model."""
    import onnxruntime

    try:
        onnxruntime.InferenceSession(
            faulty_models.relu_clip(tmp_path / "probe.onnx"), providers=["CPUExecutionProvider"]
        )
    except Exception:  # the runtime's own types
        return True
    return False


def test_operators_that_the_optimiser_cannot_join_are_named(polycmp, tmp_path):
    if not fails_in_relu_clip(tmp_path):
        pytest.skip("this ONNX Runtime joins Relu and Clip of float64")
    done = polycmp("locate", faulty_models.relu_clip(tmp_path / "m.onnx"), "-b", "onnxrt", "-b", "onnx", *REPORT)
    found = located(tmp_path)
    assert (done.status, found["words"]) == (1, "the backend fails here")
    assert [node["name"] for node in found["fused"]["operators"]] == ["relu", "clip"]
    assert "Relu 'relu' and Clip 'clip' run one by one, but not together (FuseReluClip)" in found["sentence"]
    assert "workaround: -b onnxrt:disable_optimizers=FuseReluClip" in found["sentence"]
    assert "FOUND: the backend fails here" in done.out


def test_the_way_round_keeps_what_was_asked_for_and_works(polycmp, tmp_path):
    if not fails_in_relu_clip(tmp_path):
        pytest.skip("this ONNX Runtime joins Relu and Clip of float64")
    model = faulty_models.relu_clip(tmp_path / "m.onnx")
    backend = "onnxrt:threads=1,disable_optimizers=[GeluFusionL1,LayerNormFusionL1],name=mine"
    polycmp("locate", model, "-b", backend, "-b", "onnx", *REPORT)
    words = located(tmp_path)["fused"]["switch"]["words"]
    assert words == "-b onnxrt:disable_optimizers=[GeluFusionL1,LayerNormFusionL1,FuseReluClip],threads=1,name=mine"
    assert polycmp("run", model, *words.split(), "-b", "onnx").status == 0
