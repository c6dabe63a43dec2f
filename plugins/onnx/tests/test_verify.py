"""Files that commands write are verified before they take a place: rules, backends, and what they compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_results import ABORTS, relu, yolo_grid
from small_models import graph_model

from polycmp.errors import ModelError
from polycmp.plugins import Registry
from polycmp_onnx import save_onnx, verify
from polycmp_onnx.save import write_model
from polycmp_onnx.verify import Verification

onnxruntime = pytest.importorskip("onnxruntime")

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


def weight_as_output():
    made = graph_model(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        [("x", FLOAT, [2])],
        [("y", FLOAT, [2]), ("w", FLOAT, [2])],
        [("w", np.array([1, 2], np.float32))],
    )
    onnx.save(made, "model.onnx")


@pytest.mark.parametrize(
    "words",
    [
        ("surgeon", "sanitize", "--cleanup"),
        ("surgeon", "sanitize", "--toposort"),
        ("surgeon", "sanitize", "--fold-constants"),
        ("convert", "--shape-inference"),
    ],
    ids=" ".join,
)
def test_an_output_that_is_a_weight_stays(polycmp, tmp_path, words):
    weight_as_output()
    split = 2 if words[0] == "surgeon" else 1
    done = polycmp(*words[:split], "model.onnx", *words[split:], "-o", "out.onnx")
    assert done.status == 0, done.err
    assert [item.name for item in onnx.load("out.onnx").graph.output] == ["y", "w"]


def test_an_output_that_is_a_weight_is_compared_after_shape_inference(polycmp):
    for name, values in (("model", [1, 2]), ("other", [1, 3])):
        made = graph_model(
            [helper.make_node("Relu", ["x"], ["y"])],
            [("x", FLOAT, [2])],
            [("y", FLOAT, [2]), ("w", FLOAT, [2])],
            [("w", np.array(values, np.float32))],
        )
        onnx.save(made, f"{name}.onnx")
    done = polycmp("run", "model.onnx", "-b", "onnx", "-b", "onnx:model=other.onnx", "--shape-inference")
    assert done.status == 1 and "w" in done.out


def verified(model, original, **options):
    """Write a model and make sure of it as commands do; return what was made sure of."""
    onnx.save(model, "written.onnx")
    verification = Verification(Registry.discover(), lambda: original, **options)
    write_model(model, Path("target.onnx"), verify=verification)
    return verification.done


def test_a_file_that_computes_something_else_takes_no_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("target.onnx").write_bytes(b"old")
    with pytest.raises(ModelError, match=r"'y' is not what the original makes .* off by"):
        verified(relu(op="Neg"), relu(), same=True)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["target.onnx", "written.onnx"]
    assert Path("target.onnx").read_bytes() == b"old"
    done = verified(relu(), relu(), same=True)
    assert done[0] == "ONNX's rules" and done[-1] == "it computes what the model does"


def test_a_type_that_an_operator_does_not_take_is_found_without_a_backend(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    half = yolo_grid()
    half.graph.node[2].attribute[0].i = TensorProto.FLOAT16
    with pytest.raises(ModelError) as refused:
        Verification(None, yolo_grid).check(half)
    assert "node name: range" in refused.value.why and "unsupported type: tensor(float16)" in refused.value.why
    Verification(None, lambda: half).check(half)  # the original was no better


def test_results_of_other_types_are_refused_and_the_old_file_stays(polycmp):
    onnx.save(relu("h"), "model.onnx")
    Path("part.onnx").write_bytes(b"old")
    words = ("surgeon", "extract", "model.onnx", "--outputs", "h:float16", "-o", "part.onnx")
    done = polycmp(*words)
    assert (done.status, Path("part.onnx").read_bytes()) == (3, b"old")
    assert "ONNX's inference of types and shapes refuses" in done.err and "--no-verify" in done.err
    assert polycmp(*words, "--no-verify").status == 0
    assert Path("part.onnx").read_bytes() != b"old"


def test_what_was_made_sure_of_is_said(polycmp):
    onnx.save(relu(), "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--toposort", "-o", "out.onnx")
    assert "verified: ONNX's rules, onnxrt loads it, it computes what model.onnx does" in done.out
    done = polycmp("convert", "model.onnx", "--fp-to-fp16", "-o", "out.onnx")
    assert done.out.splitlines()[-1] == "verified: ONNX's rules, onnxrt loads it"


def differing():
    """Write two models of which one operator differs, and return the words that compare them."""
    for name, factor in (("new", 2.0), ("old", 1.0)):
        weights = [("w", np.float32([factor, 1]))]
        nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Mul", ["r", "w"], ["m"])]
        nodes.append(helper.make_node("Neg", ["m"], ["y"]))
        onnx.save(graph_model(nodes, [("x", FLOAT, ["n", 2])], [("y", FLOAT, ["n", 2])], weights), f"{name}.onnx")
    return ("new.onnx", "-b", "onnxrt", "-b", "onnx:model=old.onnx")


def test_what_shows_a_fault_is_verified_and_says_so(polycmp):
    done = polycmp("debug", "reduce", *differing(), "-o", "part.onnx", "--save-repro", "case")
    assert "part.onnx is verified: ONNX's rules, onnxrt loads it" in done.out, done.err
    done = polycmp("debug", "bundle", "case", "--keep-weights")
    assert "the model is verified: ONNX's rules, onnxrt loads it" in done.out, done.err


def test_a_part_that_breaks_the_rules_is_told_with_what_was_found(polycmp, monkeypatch):
    def spoiled(loader):
        model = loader()
        model.graph.node[0].input.append("nothing makes this")
        return model

    save = verify.save_part
    monkeypatch.setattr(verify, "save_part", lambda loader, *a, **k: save(lambda: spoiled(loader), *a, **k))
    Path("part.onnx").write_bytes(b"old")
    done = polycmp("debug", "reduce", *differing(), "-o", "part.onnx")
    assert (done.status, Path("part.onnx").read_bytes()) == (3, b"old")
    assert "The smallest part that fails" in done.out and "Mul" in done.out
    assert "ERROR: " in done.out and "ONNX's checker refuses" in done.out + done.err


def test_a_model_that_a_run_saves_is_verified(polycmp, tmp_path, monkeypatch):
    onnx.save(relu(), "model.onnx")
    done = polycmp("run", "model.onnx", "-b", "onnx", "--save-onnx", "saved.onnx")
    assert "saved.onnx is verified: ONNX's rules, onnxrt loads it, it computes what model.onnx does" in " ".join(
        done.err.split()
    )
    Path("sitecustomize.py").write_text("import onnxruntime, os\n" + ABORTS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = polycmp("run", "model.onnx", "-b", "onnx", "--onnx-outputs", "y", "--save-onnx", "saved.onnx")
    assert done.status == 0, done.err  # the original is no better
    assert "nor does it load the original" in " ".join(done.err.split())


def test_a_weight_at_the_border_of_what_is_read_of_a_large_file(polycmp):
    """4096 bytes with a name are more than the structure of a file keeps, and what inference looks at."""
    weights = [("w", np.ones(1024, np.float32)), ("large", np.ones((1024, 512), np.float32))]
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("MatMul", ["a", "large"], ["y"])]
    onnx.save(graph_model(nodes, [("x", FLOAT, [1, 1024])], [("y", FLOAT, [1, 512])], weights), "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "-o", "out.onnx")
    assert done.status == 0 and "it computes what model.onnx does" in done.out, done.err


def test_a_model_without_its_weights_is_verified_as_far_as_it_is_there(polycmp):
    model = graph_model(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [("x", FLOAT, [64])],
        [("y", FLOAT, [64])],
        [("w", np.arange(64, dtype=np.float32))],
    )
    save_onnx(model, "model.onnx", "weights.bin", size_threshold=0)
    Path("weights.bin").unlink()
    words = ("surgeon", "sanitize", "model.onnx", "--ignore-external-data", "--toposort", "-o", "out.onnx")
    done = polycmp(*words)
    assert done.status == 0 and done.out.splitlines()[-1] == "verified: ONNX's rules", done.err


def test_a_rule_that_the_original_breaks_is_not_said_to_be_kept(polycmp):
    made = graph_model(
        [helper.make_node("Neg", ["h"], ["y"], "late"), helper.make_node("Relu", ["x"], ["h"], "early")],
        [("x", FLOAT, [2])],
        [("y", FLOAT, [2])],
    )
    onnx.save(made, "unsorted.onnx")
    done = polycmp("surgeon", "sanitize", "unsorted.onnx", "--override-input-shapes", "x:[2]", "-o", "same.onnx")
    assert done.status == 0, done.err
    assert "as it did before: Nodes in a graph must be topologically sorted" in done.err
    assert "is not output of any previous nodes." in done.err
    assert done.out.splitlines()[-1] == "verified: onnxrt loads it, it computes what unsorted.onnx does"
