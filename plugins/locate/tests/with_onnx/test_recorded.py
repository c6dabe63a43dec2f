"""`polycmp locate --load-outputs`: tensors that were recorded elsewhere are the reference of the search."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from in_parts import a_few
from layered_model import layered
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import graph_model

FLOAT = TensorProto.FLOAT
RECORDED = ("proj", "act", "mixed", "y")


def test_the_part_between_recorded_tensors_that_is_wrong_is_named(polycmp, record, tmp_path):
    """`scaled` was not recorded: the fault is somewhere between `mixed` and `y`, and the tensors before are right."""
    made = record()
    np.savez("device.npz", **{name: made[name] for name in RECORDED})
    np.savez("inputs.npz", x=made["x"])
    words = ("-b", "onnxrt", "--load-inputs", "inputs.npz", "--load-outputs", "device.npz", *REPORT)
    done = polycmp("locate", "wrong.onnx", *words)
    assert done.status == 1, done.out + done.err
    found = located(tmp_path)
    assert (found["first_bad"], found["last_good"], found["reference"]) == ("y", "mixed", "device")
    assert [row["tensor"] for row in found["tensors"]] == list(RECORDED)
    assert "of the saved run 4 tensors were paired (4 by name)" in " ".join(done.out.split())
    assert polycmp("locate", "right.onnx", *words).status == 0


def test_what_rounding_explains_of_a_record_is_no_fault(polycmp, record, tmp_path):
    """Nobody gives a tolerance: a device that rounds otherwise is judged by rounding."""
    made = record()
    rounded = {name: array * np.float32(1 + 3e-7) for name, array in made.items() if name != "x"}
    np.savez("device.npz", x=made["x"], **rounded)
    words = ("-b", "onnxrt", "--load-outputs", "device.npz", *REPORT)
    done = polycmp("locate", "right.onnx", *words)
    assert done.status == 0, done.out + done.err
    strict = polycmp("locate", "right.onnx", *words, "--atol", "0", "--rtol", "1e-9")
    assert strict.status == 0, strict.out + strict.err
    assert "no more than rounding explains" in " ".join(strict.out.split())


def test_a_record_that_holds_its_inputs_needs_no_others(polycmp, record, tmp_path):
    np.savez("device.npz", **record())
    done = polycmp("locate", "wrong.onnx", "-b", "onnxrt", "--load-outputs", "device.npz", *REPORT)
    assert done.status == 1, done.out + done.err
    assert located(tmp_path)["first_bad"] == "scaled"


@pytest.mark.parametrize("path", a_few(["device.npz", "device.json", "device.safetensors", "device"]))
def test_records_of_all_formats_are_read(polycmp, record, tmp_path, path):
    words = ("--onnx-outputs", "proj", "act", "mixed", "scaled", "y", "--save-inputs", "in.npz", "--save-outputs", path)
    assert polycmp("run", "right.onnx", "-b", "onnx", *words).status == 0
    words = ("-b", "onnxrt", "--load-inputs", "in.npz", "--load-outputs", path, *REPORT)
    done = polycmp("locate", "wrong.onnx", *words)
    assert done.status == 1, done.out + done.err
    assert located(tmp_path)["first_bad"] == "scaled"


def test_names_that_converters_give_are_matched(polycmp, record, tmp_path):
    made = record()
    np.savez("device.npz", x=made["x"], proj=made["proj"], mixed=made["mixed"], scaled=made["scaled"])
    model = layered(scale=2.5)
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [f"{name}_output_quantized" if name in ("mixed", "scaled") else name for name in names]
    onnx.save(model, tmp_path / "converted.onnx")
    done = polycmp("locate", "converted.onnx", "-b", "onnxrt", "--load-outputs", "device.npz", *REPORT)
    assert done.status == 1, done.out + done.err
    assert located(tmp_path)["first_bad"] == "scaled_output_quantized"


def test_names_may_be_given(polycmp, record, tmp_path):
    made = record()
    np.savez("device.npz", x=made["x"], before=made["mixed"], after=made["scaled"])
    words = ("-b", "onnxrt", "--load-outputs", "device.npz", "--map-output", "mixed=before", "scaled=after")
    done = polycmp("locate", "wrong.onnx", *words, *REPORT)
    assert done.status == 1, done.out + done.err
    assert located(tmp_path)["first_bad"] == "scaled"


def test_every_iteration_of_a_record_is_looked_at(polycmp, record, tmp_path):
    """The first inputs are zero, and a scale of zero is zero."""
    from polycmp.json import save_json  # noqa: F401 - the folder is written as `polycmp run` writes it

    np.savez("zero.npz", x=np.zeros((3, 8), np.float32))
    np.savez("some.npz", x=record()["x"])
    inputs = ("--load-inputs", "zero.npz", "some.npz")
    words = ("--onnx-outputs", "proj", "act", "mixed", "scaled", "y", *inputs, "--save-outputs", "device")
    assert polycmp("run", "right.onnx", "-b", "onnxrt", *words).status == 0
    words = ("-b", "onnxrt", *inputs, "--load-outputs", "device", *REPORT)
    done = polycmp("locate", "wrong.onnx", *words)
    assert done.status == 1, done.out + done.err
    assert (located(tmp_path)["iteration"], located(tmp_path)["first_bad"]) == (1, "scaled")


def test_inputs_that_nobody_gave_are_told(polycmp, record, tmp_path):
    assert polycmp("run", "right.onnx", "-b", "onnxrt", "--save-outputs", "device.npz").status == 0
    done = polycmp("locate", "right.onnx", "-b", "onnxrt", "--load-outputs", "device.npz")
    assert done.status == 0, done.out + done.err
    assert "does not hold its inputs: those of the data loader random are taken for them" in " ".join(done.out.split())


def test_a_case_cannot_be_saved_without_a_reference_that_runs(polycmp, record, tmp_path):
    np.savez("device.npz", **record())
    done = polycmp("locate", "wrong.onnx", "-b", "onnxrt", "--load-outputs", "device.npz", "--save-repro", "case")
    assert done.status == 1, done.out + done.err
    assert "a saved run cannot" in " ".join(done.out.split())
    assert not (tmp_path / "case").exists()


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("--load-outputs", "none.npz"), 2, "--map-output MODEL_TENSOR=RECORDED_TENSOR"),
        (("--load-outputs", "device.npz", "--reference", "other"), 2, "no saved run is called 'other'"),
        (("--load-outputs", "device.npz", "--steps", "3", "--state", "y=x"), 2, "holds 1 of 3 steps"),
        (("--load-outputs", "missing.npz"), 3, "missing.npz"),
    ],
)
def test_what_cannot_be_says_what_to_type(polycmp, record, tmp_path, words, status, says):
    made = record()
    np.savez("device.npz", **made)
    np.savez("none.npz", x=made["x"], other=made["mixed"])
    done = polycmp("locate", "wrong.onnx", "-b", "onnxrt", *words)
    assert done.status == status, done.out + done.err
    assert says in " ".join(done.err.split())


def scaled_tree(threshold=0.0):
    """A tree that asks whether what a scaler makes of a whole number is at most a threshold."""
    before = helper.make_node("Relu", ["x"], ["positive"])
    factors = {"offset": [100.0], "scale": [1.0 / 3.0]}
    scaler = helper.make_node("Scaler", ["positive"], ["scaled"], domain="ai.onnx.ml", **factors)
    tree = helper.make_node(
        "TreeEnsembleRegressor", ["scaled"], ["y"], domain="ai.onnx.ml", n_targets=1, nodes_falsenodeids=[2, 0, 0],
        nodes_featureids=[0, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_nodeids=[0, 1, 2],
        nodes_treeids=[0, 0, 0], nodes_truenodeids=[1, 0, 0], nodes_values=[threshold, 0.0, 0.0], target_ids=[0, 0],
        target_nodeids=[1, 2], target_treeids=[0, 0], target_weights=[-1.0, 1.0],
    )  # fmt: skip
    model = graph_model([before, scaler, tree], [("x", FLOAT, ["n", 1])], [("y", FLOAT, ["n", 1])], [])
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    return model


@pytest.mark.parametrize("recorded", a_few([(), ("positive",)]))
def test_another_leaf_of_a_tree_that_a_rounding_reaches_is_not_accused(polycmp, tmp_path, recorded):
    """sklearn-onnx#479: scikit-learn divides where a file multiplies, and one row lies next to a threshold.

    The judge tells so of an output of which no tensor on the way is known, inputs that are moved of a part.
    """
    x = np.arange(60.0, 160.0, dtype=np.float32).reshape(-1, 1)
    threshold = float(np.nextafter(np.float32(7.0) * np.float32(1.0 / 3.0), np.float32(0.0)))
    onnx.save(scaled_tree(threshold), tmp_path / "tree.onnx")
    made = ort.InferenceSession(str(tmp_path / "tree.onnx")).run(None, {"x": x})[0]
    by_division = np.where((x - 100.0) / np.float32(3.0) <= threshold, -1.0, 1.0).astype(np.float32)
    assert np.flatnonzero(made != by_division).tolist() == [47], "the model shows the issue"
    np.savez("sklearn.npz", y=by_division, **dict.fromkeys(recorded, x))
    np.savez("x.npz", x=x)
    words = ("tree.onnx", "-b", "onnxrt", "--load-inputs", "x.npz", "--load-outputs", "sklearn.npz")
    if not recorded:
        assert "UNDECIDED: " in polycmp("run", *words).out
    done = polycmp("locate", *words)
    assert done.status == 3, done.out
    assert "no tensor inside the model is off by more than rounding explains" in " ".join(done.out.split())
    by_another = np.where(x <= 140.0, np.float32(-1.0), np.float32(1.0))  # more rows than lie next to the threshold
    np.savez("sklearn.npz", y=by_another, **dict.fromkeys(recorded, x))
    done = polycmp("locate", *words)
    assert done.status == 1, done.out
    assert "TreeEnsembleRegressor" in done.out


def test_a_sum_that_an_operator_holds_the_weights_of_is_rounded_like_its_weights(polycmp, tmp_path):
    """onnxruntime#11284: scikit-learn adds up in float64 what a file holds and is fed with in float32."""
    random = np.random.default_rng(0)
    vectors = 1e5 + 1e3 * random.standard_normal((60, 2))
    weights = 100.0 * random.choice([-1.0, 1.0], 60)
    machine = helper.make_node(
        "SVMRegressor", ["x"], ["y"], domain="ai.onnx.ml", kernel_type="RBF", kernel_params=[1e-7, 0.0, 3.0],
        support_vectors=vectors.ravel(), coefficients=weights, n_supports=60, rho=[0.5], post_transform="NONE",
    )  # fmt: skip
    model = graph_model([machine], [("x", FLOAT, ["n", 2])], [("y", FLOAT, ["n", 1])], [])
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    onnx.save(model, tmp_path / "svm.onnx")
    x = 1e5 + 1e3 * random.standard_normal((40, 2))

    def outputs(scale=1.0):
        squares = ((x[:, None] - vectors) ** 2).sum(-1)
        return {"y": scale * (np.exp(-1e-7 * squares) @ weights + 0.5)[:, None].astype(np.float32)}

    np.savez("x.npz", x=x.astype(np.float32))
    words = ("svm.onnx", "-b", "onnxrt", "--load-inputs", "x.npz", "--load-outputs", "sklearn.npz")
    for scale, status in ((1.0, 0), (1.001, 1)):
        np.savez("sklearn.npz", **outputs(scale))
        found = polycmp("run", *words), polycmp("locate", *words)
        assert [done.status for done in found] == [status, status], [done.out for done in found]
