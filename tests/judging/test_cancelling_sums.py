"""Sums that cancel: what another order of summation makes of them is rounding of their terms, not of their results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from in_parts import a_few, each_once, spelled
from onnx import TensorProto, helper, numpy_helper
from packaging.version import Version

INNER, OUTER = 512, 24
PARTS = (37, 191, 284)
MATRICES = ("MatMul", "Gemm", "FusedMatMul", "FusedGemm", "Einsum")
KINDS = (*MATRICES, "Conv", "FusedConv")
#: What is left of sums of 300 and more: a few numbers within this range, the others at its ends.
RANGE = 6.0
ATTRIBUTES = {
    "Einsum": {"equation": "ij,jk->ik"},
    "FusedConv": {"activation": "Clip", "activation_params": [-RANGE, RANGE]},
    "FusedGemm": {"activation": "LeakyRelu", "activation_alpha": 1.0, "alpha": 1.0, "beta": 1.0},
}


def at_once(kind: str) -> Iterator[onnx.NodeProto]:
    """Yield operators that add up all terms and cut the sums."""
    domain = "com.microsoft" if kind.startswith("Fused") else ""
    made = "y" if kind == "FusedConv" else "sums"
    yield helper.make_node(kind, ["x", "w"], [made], domain=domain, **ATTRIBUTES.get(kind, {}))
    if made != "y":
        yield helper.make_node("Clip", ["sums", "low", "high"], ["y"])


def in_parts(kind: str) -> Iterator[onnx.NodeProto]:
    """Yield operators that do the same by parts of the terms."""
    for name, axis in (("x", 1), ("w", 0 if kind in MATRICES else 1)):
        parts = [f"{name}{place}" for place in range(len(PARTS))]
        yield helper.make_node("Split", [name, "sizes"], parts, axis=axis)
    for place in range(len(PARTS)):
        plain = "MatMul" if kind in MATRICES else "Conv"
        yield helper.make_node(plain, [f"x{place}", f"w{place}"], [f"part{place}"])
    yield helper.make_node("Sum", [f"part{place}" for place in range(len(PARTS))], ["sums"])
    yield helper.make_node("Clip", ["sums", "low", "high"], ["y"])


def model(kind: str, nodes: Iterable[onnx.NodeProto], fault: float = 0.0) -> onnx.ModelProto:
    """Return sums that are cut to a small range, with the weights of one term moved by a fault."""
    random = np.random.default_rng(0)
    weight = (13 * random.standard_normal((INNER, OUTER))).astype(np.float32)
    weight[0] += np.float32(fault)
    shape = [48, INNER] if kind in MATRICES else [1, INNER, 6, 8]
    held = {
        "w": weight if kind in MATRICES else np.ascontiguousarray(weight.T[..., None, None]),
        "sizes": np.array(PARTS, np.int64),
        "low": np.float32(-RANGE),
        "high": np.float32(RANGE),
    }
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()],
        value_info=[helper.make_tensor_value_info("sums", TensorProto.FLOAT, None)],  # as optimisers note it
    )
    np.savez("x.npz", x=random.random(shape, dtype=np.float32))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def judged(polycmp, *words: str) -> tuple[int, float, float]:
    """Return the status of `run` over two files, the error of the output and its bound."""
    said = polycmp(
        "run", "new.onnx", "old.onnx", "-b", "onnxrt", "--load-inputs", "x.npz", "--report", "r.json", *words
    )
    output = json.loads(Path("r.json").read_text())["comparison_results"][0]["outputs"]["y"]
    return said.status, output["max_error"], output["functions"]["simple"]["tolerance"]["atol"]


@pytest.mark.parametrize(("words", "kind"), each_once([(), ("--mark-all",)], KINDS), ids=spelled)
def test_another_order_of_summation_passes_and_a_fault_above_its_bound_fails(polycmp, tmp_path, kind, words):
    onnx.save(model(kind, at_once(kind)), tmp_path / "old.onnx")
    onnx.save(model(kind, in_parts(kind)), tmp_path / "new.onnx")
    status, error, bound = judged(polycmp, *words)
    assert error > 0.0, "both orders make the same bits: nothing is shown"
    assert status == 0
    onnx.save(model(kind, in_parts(kind), 3 * bound), tmp_path / "new.onnx")
    status, error, _ = judged(polycmp, *words)
    assert (status, error < 6 * bound) == (1, True)


@pytest.mark.parametrize("kind", a_few(KINDS, 3))
def test_locate_accuses_nobody_of_another_order(polycmp, tmp_path, kind):
    onnx.save(model(kind, at_once(kind)), tmp_path / "old.onnx")
    onnx.save(model(kind, in_parts(kind)), tmp_path / "new.onnx")
    said = polycmp("locate", "new.onnx", "old.onnx", "-b", "onnxrt", "--load-inputs", "x.npz")
    assert said.status == 0, said.out


def of_pixels(path: Path, nodes: Iterable[onnx.NodeProto], fault: float = 0.0) -> None:
    """Write sums of whole numbers of nearly one size, whose weights add up to nothing."""
    made = model("MatMul", nodes)
    weight = next(item for item in made.graph.initializer if item.name == "w")
    centred = numpy_helper.to_array(weight) - numpy_helper.to_array(weight).mean(axis=0)
    centred[0] += np.float32(fault)
    weight.CopyFrom(numpy_helper.from_array(centred, "w"))
    made.graph.input[0].name = "pixels"
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT8
    made.graph.node.insert(0, helper.make_node("Cast", ["pixels"], ["x"], to=TensorProto.FLOAT))
    onnx.save(made, path)
    np.savez("x.npz", pixels=np.random.default_rng(1).integers(117, 124, (48, INNER)).astype(np.uint8))


@pytest.mark.parametrize(("fault", "status"), [(0.0, 0), (0.01, 1)])
def test_pixels_are_exact_and_sums_of_them_are_rounded(polycmp, tmp_path, fault, status):
    of_pixels(tmp_path / "old.onnx", at_once("MatMul"))
    of_pixels(tmp_path / "new.onnx", in_parts("MatMul"), fault)
    assert judged(polycmp)[0] == status


def recurrent(path: Path, kind: str, times: float = 1.0) -> Path:
    """Write a recurrent layer whose updates nearly vanish: what a GRU keeps is 1 - z, of which few digits are left."""
    gates, hidden = {"GRU": 3, "LSTM": 4, "RNN": 1}[kind], 5
    held = {"w": np.full((1, gates * hidden, 2), 2.0), "r": np.full((1, gates * hidden, hidden), 0.1)}
    held["w"][0, 0] *= times
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node(kind, ["x", "w", "r"], ["y"], hidden_size=hidden, name="layer")],
            "recurrent",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 1, 2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 1, 1, hidden])],
            [numpy_helper.from_array(value.astype(np.float32), name) for name, value in held.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )  # fmt: skip
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("kind", a_few(["LSTM", "GRU", "RNN"]))
@pytest.mark.parametrize(("times", "statuses"), [(1.0, {0, 3}), (0.9, {1})])
def test_what_cancels_inside_a_recurrent_layer_is_rounding(polycmp, tmp_path, kind, times, statuses):
    """No digit may be left of some numbers, which is no fault; which, depends on the processor."""
    np.savez(tmp_path / "in.npz", x=np.arange(1, 7, dtype=np.float32).reshape(3, 1, 2))
    files = recurrent(tmp_path / "new.onnx", kind, times), recurrent(tmp_path / "old.onnx", kind)
    backends = "-b", f"onnxrt:model={files[0]}", "-b", f"onnx:model={files[1]}"
    assert polycmp("run", *backends, "--load-inputs", "in.npz").status in statuses


NORMALISATIONS = {
    "InstanceNormalization": {},
    "LayerNormalization": {"axis": 2},
    "MeanVarianceNormalization": {"axes": [2, 3]},
}


def normalising(path: Path, kind: str, times: float = 1.0) -> Path:
    """Write a normalisation of an image that is the model's input, as at the beginning of a network."""
    counts = {"LayerNormalization": (5, 7), "MeanVarianceNormalization": ()}.get(kind, (3,))
    held = {name: np.full(counts, value, np.float32) for name, value in (("scale", 1.5 * times), ("shift", 0.25))}
    if kind == "MeanVarianceNormalization":
        nodes = [
            helper.make_node(kind, ["x"], ["n"], name="norm", **NORMALISATIONS[kind]),
            helper.make_node("Mul", ["n", "scale"], ["y"]),
        ]
    else:
        nodes = [helper.make_node(kind, ["x", "scale", "shift"], ["y"], name="norm", **NORMALISATIONS[kind])]
    used = {name for node in nodes for name in node.input}
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3, 5, 7]) for name in "xy"]
    weights = [numpy_helper.from_array(value, name) for name, value in held.items() if name in used]
    graph = helper.make_graph(nodes, "normalising", values[:1], values[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


@pytest.mark.parametrize("kind", a_few(NORMALISATIONS))
def test_the_mean_of_an_image_of_one_colour_is_rounded(polycmp, tmp_path, kind):
    """Nothing is left of it but the rounding of the mean, which not every kernel has: it may be undecided."""
    if kind == "LayerNormalization" and Version(onnxruntime.__version__) < Version("1.21"):
        pytest.skip(f"ONNX Runtime {onnxruntime.__version__} takes the root of a negative variance")
    new, old = normalising(tmp_path / "new.onnx", kind), normalising(tmp_path / "old.onnx", kind)
    colours = np.array([1.2, 0.7, 100.3], np.float32)[:, None, None]
    np.savez(tmp_path / "in.npz", x=np.broadcast_to(colours, (2, 3, 5, 7)))
    for command in ("run", "locate"):
        for backends in (("onnxrt", "onnx"), ("onnx", "onnxrt")):
            words = *(word for name in backends for word in ("-b", name)), "--load-inputs", "in.npz"
            said = polycmp(command, new, *words)
            assert said.status in {0, 3}, said.out
    normalising(new, kind, 1.001)
    image = np.random.default_rng(0).random((2, 3, 5, 7), dtype=np.float32)
    np.savez(tmp_path / "in.npz", x=image + colours)
    for command in ("run", "locate"):
        said = polycmp(command, new, old, "-b", "onnxrt", "-b", "onnx", "--load-inputs", "in.npz")
        assert said.status == 1, said.out
