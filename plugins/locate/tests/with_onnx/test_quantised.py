"""Ties of rounding: a few elements one step apart in both directions; whatever is more is a fault in every type."""

from __future__ import annotations

from pathlib import Path

import converted_models as converted
import numpy as np
import onnx
import onnxruntime
import pytest
from in_parts import a_few
from located import locate_files, located
from onnx import TensorProto, helper
from packaging.version import Version
from small_models import graph_model

KINDS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}


def quantised(path, kind: str, *, zero: int = 0, scale: float = 0.05, half: float = 0.0):
    """Write Cast -> Add -> QuantizeLinear -> DequantizeLinear -> Cast; `half` moves a few elements across ties."""
    number = KINDS[kind]
    rng = np.random.default_rng(3)
    moved = np.zeros(2048, np.float32)
    moved[rng.permutation(2048)[:64]] = half * rng.choice([-1, 1], 64)
    node = helper.make_node
    nodes = [
        node("Add", ["x", "moved"], ["a"], name="a"),
        node("Cast", ["a"], ["c"], name="c", to=number),
        node("QuantizeLinear", ["c", "scale", "zero"], ["q"], name="q"),
        node("DequantizeLinear", ["q", "scale", "zero0"], ["d"], name="d"),
        node("Cast", ["d"], ["y"], name="y", to=TensorProto.FLOAT),
    ]
    weights = [("moved", moved), ("zero", np.array(zero, np.int8)), ("zero0", np.array(0, np.int8))]
    model = graph_model(nodes, [("x", TensorProto.FLOAT, [2048])], [("y", TensorProto.FLOAT, None)], weights, opset=21)
    model.ir_version = 10
    model.graph.initializer.append(helper.make_tensor("scale", number, [], [scale]))
    onnx.save(model, path)


@pytest.mark.parametrize("steps", a_few([1, 2, 4]))
@pytest.mark.parametrize("kind", KINDS)
def test_a_zero_point_that_is_wrong_is_named_in_every_type(polycmp, tmp_path, kind, steps):
    quantised(tmp_path / "old.onnx", kind)
    quantised(tmp_path / "new.onnx", kind, zero=steps)
    done = polycmp("locate", "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx")
    assert done.status == 1, done.out
    assert "QuantizeLinear 'q'" in done.out


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_file_on_two_backends_is_clean(polycmp, tmp_path, kind):
    if kind == "float16" and Version(onnxruntime.__version__) < Version("1.30"):
        pytest.skip(f"ONNX Runtime {onnxruntime.__version__} cuts float16 off where it quantises: 1.30 rounds it")
    quantised(tmp_path / "m.onnx", kind)
    backends = ("-b", "onnx:name=new", "-b", "onnx:name=old") if kind == "bfloat16" else ("-b", "onnxrt", "-b", "onnx")
    assert polycmp("locate", "m.onnx", *backends).status == 0


def quantised_pair(tmp_path: Path, make, **scales: float) -> tuple[Path, Path]:
    """Return a model and what a quantiser makes of it, with some of its scales multiplied."""
    good = converted.network(tmp_path / "good.onnx")
    made = make(good, tmp_path / "quantised.onnx")
    for name, factor in scales.items():
        made = converted.edited(made, made, converted.scaled(name, factor))
    return good, made


@pytest.mark.parametrize("make", [converted.dynamic_int8, converted.static_qdq], ids=["dynamic", "static"])
def test_what_quantisation_rounds_is_no_fault(polycmp, tmp_path, make, calibrated):
    good, made = quantised_pair(tmp_path, make)
    done = locate_files(polycmp, made, good, *calibrated)
    assert done.status == 0, done.out
    assert located(tmp_path)["words"] == "within rounding"


@pytest.mark.parametrize("factor", a_few([1.2, 0.5, 4.0]))
@pytest.mark.parametrize(
    ("make", "tensor"),
    [(converted.dynamic_int8, "down1"), (converted.static_qdq, "down1")],
    ids=["dynamic", "static"],
)
def test_a_wrong_scale_of_one_layer_is_named_as_such(polycmp, tmp_path, make, tensor, factor, calibrated):
    good, made = quantised_pair(tmp_path, make, **{"1.down.weight_scale": factor})
    done = locate_files(polycmp, made, good, *calibrated)
    assert done.status == 1, done.out
    found = located(tmp_path)
    assert found["first_bad"] == tensor
    row = next(item for item in found["tensors"] if item["tensor"] == tensor)
    assert row["quantised"]["factor"] == pytest.approx(factor, rel=0.05)
    assert "a wrong scale" in found["sentence"]


def test_a_scale_that_covers_too_little_is_named_with_what_it_clips(polycmp, tmp_path, calibrated):
    good, made = quantised_pair(tmp_path, converted.static_qdq, gelu1_scale=0.25)
    done = locate_files(polycmp, made, good, *calibrated)
    assert done.status == 1, done.out
    found = located(tmp_path)
    assert found["first_bad"] == "gelu1_DequantizeLinear_Output"
    assert "of the elements are clipped" in found["sentence"]


SIZE = 2000


AVERAGE = np.full((SIZE, 1), 1.0 / SIZE, np.float32)


def network(largest: float | None) -> onnx.ModelProto:
    """Return Softplus -> average, with what it averages in 8 bits up to a number where that is given."""
    node = helper.make_node
    weights, made = [("w", AVERAGE)], "h"
    nodes = [node("Softplus", ["x"], ["h"], name="softplus")]
    if largest is not None:
        weights += [("scale", np.float32(largest / 255)), ("zero", np.uint8(0))]
        nodes += [
            node("QuantizeLinear", ["h", "scale", "zero"], ["codes"], name="to_codes"),
            node("DequantizeLinear", ["codes", "scale", "zero"], ["h8"], name="from_codes"),
        ]
        made = "h8"
    nodes.append(node("MatMul", [made, "w"], ["y"], name="average"))
    shapes = [("x", TensorProto.FLOAT, [1, SIZE])], [("y", TensorProto.FLOAT, [1, 1])]
    return graph_model(nodes, *shapes, weights)


@pytest.mark.parametrize(
    ("outlier", "largest", "status"),
    [(12.0, 8.0, 0), (12.0, 1.0, 1), (400.0, 8.0, 1)],
    ids=["one number", "all numbers", "one that the output shows"],
)
def test_a_scale_that_leaves_out_few_numbers_is_judged_by_the_outputs(polycmp, tmp_path, outlier, largest, status):
    inputs = np.random.default_rng(3).uniform(1.0, 7.0, (1, SIZE)).astype(np.float32)
    inputs[0, 70] = outlier
    np.savez(tmp_path / "x.npz", x=inputs)
    onnx.save(network(None), tmp_path / "old.onnx")
    onnx.save(network(largest), tmp_path / "new.onnx")
    said = polycmp(
        "locate", "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", "--load-inputs", "x.npz"
    )
    assert said.status == status, said.out
    assert ("but the outputs do not show it" in said.out) is (status == 0), said.out


CHANNELS, COARSE = 8, 0.29


def gated(*, in_codes: bool = False, shifted: float = 0.0) -> onnx.ModelProto:
    """Return x times a gate, which closes the channel whose numbers are large.

    Args:
        in_codes: Whether x is in 8 bits, with steps six times as large as these numbers need, and the rest as well.
        shifted: What is added to all results in codes.
    """
    node = helper.make_node
    gate = np.zeros((1, CHANNELS, 1, 1), np.float32)
    gate[0, 1:] = 0.45
    weights = [("gate", gate)]
    nodes = [node("Relu", ["x"], ["a"], name="a"), node("Mul", ["a", "gate"], ["m"], name="m")]
    if in_codes:
        weights += [
            ("scale", np.float32(COARSE)), ("scale_gate", np.float32(0.45 / 255)), ("scale_m", np.float32(0.004)),
            ("zero", np.uint8(0)), ("codes_gate", np.rint(gate / (0.45 / 255)).astype(np.uint8)),
            ("shift", np.float32(shifted)),
        ]  # fmt: skip
        ends = ["scale_m", "zero"]
        nodes[1:] = [
            node("QuantizeLinear", ["a", "scale", "zero"], ["a_quantized"], name="a_to_codes"),
            node(
                "QLinearMul", ["a_quantized", "scale", "zero", "codes_gate", "scale_gate", "zero", *ends],
                ["m_quantized"], name="m_quant", domain="com.microsoft",
            ),
            node("DequantizeLinear", ["m_quantized", *ends], ["m_exact"], name="m_from_codes"),
            node("Add", ["m_exact", "shift"], ["m"], name="m_shifted"),
        ]  # fmt: skip
    nodes.append(node("GlobalAveragePool", ["m"], ["y"], name="y"))
    shape = [1, CHANNELS, 12, 24]
    model = graph_model(nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, None)], weights)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


@pytest.mark.parametrize(("shifted", "status"), [(0.0, 0), (0.2, 1)])
def test_steps_that_a_calibration_made_too_coarse_move_a_channel_alike(polycmp, tmp_path, shifted, status):
    """Numbers of a channel that lie together are rounded to one side: as from a wrong bias, but by less than a step."""
    rng = np.random.default_rng(3)
    inputs = rng.uniform(0.0, 1.5, (1, CHANNELS, 12, 24)).astype(np.float32)
    inputs[0, 0] *= 8.0
    inputs[0, 7] = 1.07 + 0.06 * rng.standard_normal((12, 24))
    np.savez(tmp_path / "x.npz", x=inputs)
    onnx.save(gated(), tmp_path / "old.onnx")
    onnx.save(gated(in_codes=True, shifted=shifted), tmp_path / "new.onnx")
    said = polycmp(
        "locate", "new.onnx", "-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", "--load-inputs", "x.npz"
    )
    assert said.status == status, said.out
