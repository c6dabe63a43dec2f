"""Whether the file or its runtime is to blame for another tensor than the one of another file."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import graph_model

FLOAT = TensorProto.FLOAT


def test_a_file_that_asks_for_something_else_is_told_and_its_runtime_is_not_blamed(polycmp, record, tmp_path):
    """What converters of other frameworks get wrong is in the file: the backend computes what that says."""
    np.savez("device.npz", **record())
    words = ("--load-outputs", "device.npz", *REPORT)
    done = polycmp("locate", "wrong.onnx", "-b", "onnxrt", *words)
    assert done.status == 1, done.out + done.err
    told = "cause: onnxrt computes what its file says (onnx in float64 computes the same): the file asks for something"
    assert told in " ".join(done.out.split())
    assert "computes what its file says, which is something else" in located(tmp_path)["sentence"]
    faulty = polycmp("locate", "right.onnx", "-b", "faulty:backend=onnxrt,fault=int32,at=/layer.1/scale/Mul", *words)
    assert faulty.status == 1, faulty.out + faulty.err
    told = "does not compute what its file says: onnx in float64 makes of it what device computes"
    assert told in " ".join(faulty.out.split())
    assert "computes what its file says" not in " ".join(faulty.out.split())
    assert "it is wrong as well" in located(tmp_path)["sentence"]


@pytest.mark.parametrize(("fault", "blamed"), [(1.0, "the kernel"), (1.3, "the file")])
def test_a_kernel_for_codes_that_is_wrong_may_saturate_and_a_wrong_scale_does_not(polycmp, tmp_path, fault, blamed):
    """A float model beside its file for `quantize_dynamic`: on processors without VNNI full 8 bits saturate."""
    random = np.random.default_rng(1)
    weight = random.standard_normal((16, 4)).astype(np.float32)
    step = np.float32(np.abs(weight).max() / 63)
    ends = [("x", FLOAT, [3, 16])], [("y", FLOAT, [3, 4])]
    onnx.save(
        graph_model([helper.make_node("MatMul", ["x", "W"], ["y"], name="product")], *ends, [("W", weight)]), "o.onnx"
    )
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["codes", "scale", "zero"]),
        helper.make_node("MatMulInteger", ["codes", "W_codes", "zero"], ["sums"], name="integer"),
        helper.make_node("Cast", ["sums"], ["real"], to=FLOAT),
        helper.make_node("Mul", ["scale", "W_scale"], ["both"]),
        helper.make_node("Mul", ["real", "both"], ["y"], name="scaled"),
    ]
    held = [("W_codes", np.rint(weight / step).astype(np.int8)), ("W_scale", step * np.float32(fault))]
    onnx.save(graph_model(nodes, *ends, held), "new.onnx")
    np.savez("x.npz", x=random.standard_normal((3, 16)).astype(np.float32))
    candidate = "onnxrt" if blamed == "the file" else "faulty:backend=onnxrt,fault=saturate,at=sums"
    words = ("locate", "new.onnx", "-b", candidate, "-b", "onnx:model=o.onnx", "--load-inputs", "x.npz", *REPORT)
    done = polycmp(*words)
    assert done.status == 1, done.out
    notes = " ".join(located(tmp_path)["notes"])
    assert ("does not compute what its file says" in notes, "VNNI" in notes) == (blamed == "the kernel",) * 2
    assert ("computes what its file says (" in notes) == (blamed == "the file")


def test_of_several_operators_that_compute_what_their_file_says_none_is_called_wrong(polycmp, tmp_path):
    """ncnn#4762: a picture was normalised otherwise for the run that was saved, which shows its outputs alone."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["x", "V"], ["c"], name="first"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Conv", ["r", "W"], ["y"], name="second"),
    ]
    weights = [(name, random.standard_normal((4, 4, 3, 3)).astype("f")) for name in "VW"]
    ends = [("x", FLOAT, [1, 4, 6, 5])], [("y", FLOAT, [1, 4, 2, 1])]
    onnx.save(graph_model(nodes, *ends, weights), "net.onnx")
    x = random.uniform(0, 255, (1, 4, 6, 5)).astype(np.float32)
    np.savez("x.npz", x=x)
    np.savez("saved.npz", y=ort.InferenceSession("net.onnx").run(None, {"x": (x / 255 - 0.5) / 0.25})[0])
    words = ("--load-inputs", "x.npz", "--load-outputs", "saved.npz", *REPORT)
    assert polycmp("locate", "net.onnx", "-b", "onnxrt", *words).status == 1
    sentence = located(tmp_path)["sentence"]
    assert sentence.startswith("another file or other inputs: onnxrt computes what its file says and makes another 'y'")
    told = "Conv 'first', Relu 'relu' and Conv 'second' is another one there, or saved was fed with other inputs"
    assert told in sentence
    assert polycmp("locate", "net.onnx", "-b", "faulty:backend=onnxrt,fault=shuffle,at=first", *words).status == 1
    assert "another file" not in located(tmp_path)["sentence"]
