"""Models that differ but should compute the same: their tensors are paired, and the first wrong one is named."""

from __future__ import annotations

from pathlib import Path

import converted_models as converted
import numpy as np
import onnx
import pytest
from located import locate_files, located
from onnx import TensorProto, helper, save_model
from small_models import graph_model

from polycmp_locate.pairing import pair_graphs
from polycmp_onnx.model_graph import OnnxGraph

RNG = np.random.default_rng(11)


def paired(candidate: Path, reference: Path):
    return pair_graphs(OnnxGraph(onnx.load(candidate)), OnnxGraph(onnx.load(reference)))


def test_an_operator_split_into_small_steps_is_paired_by_what_is_around_it(polycmp, tmp_path):
    good, other = converted.network(tmp_path / "good.onnx"), converted.exported(tmp_path / "other.onnx")
    pairing = paired(other, good)
    assert pairing.to_reference["/layer1/act"] == "gelu1"
    assert pairing.to_reference["/layer0/out"] == "norm0"
    assert pairing.to_reference["/layer2/sum"] == "sum2"
    assert not pairing.unmatched_reference
    assert "/layer0/erf" in pairing.unmatched_candidate
    done = locate_files(polycmp, other, good)
    assert done.status == 0, done.out
    found = located(tmp_path)
    row = next(item for item in found["tensors"] if item["tensor"] == "/layer1/act")
    assert row["candidate_operators"] == ["Div", "Erf", "Add", "Mul", "Mul"]
    assert row["reference_operators"] == ["Gelu"]
    assert "/layer0/erf" in found["pairing"]["candidate"]["unmatched"]
    assert "real tensors of new have no counterpart" in " ".join(done.out.split())


@pytest.mark.parametrize("memory", [(), ("--max-memory", "20K")], ids=["at once", "in windows"])
def test_a_constant_that_the_export_changed_is_named(polycmp, tmp_path, memory):
    good, other = converted.network(tmp_path / "good.onnx"), converted.exported(tmp_path / "other.onnx")
    bad = converted.edited(other, tmp_path / "bad.onnx", converted.scaled("1.down.weight", 1.01))
    done = locate_files(polycmp, bad, good, *memory)
    assert done.status == 1
    assert located(tmp_path)["first_bad"] == "/layer1/mm2"


def test_every_tensor_of_a_quantised_model_has_a_counterpart(tmp_path):
    good = converted.network(tmp_path / "good.onnx")
    dynamic, static = (
        paired(make(good, tmp_path / f"{make.__name__}.onnx"), good)
        for make in (converted.dynamic_int8, converted.static_qdq)
    )
    assert dynamic.share == static.share == 1.0
    assert static.to_reference["gelu1_DequantizeLinear_Output"] == "gelu1"
    assert static.methods["gelu1_DequantizeLinear_Output"] == "rounding of another"


def test_a_convolution_with_a_bias_is_paired_with_the_sum_behind_a_product_of_whole_numbers(
    polycmp, tmp_path, calibrated
):
    """Where the file has sums of its own, `quantize_dynamic` was accused of a wrong scale: of all but the bias."""
    good = converted.convolutions(tmp_path / "good.onnx")
    # ONNX Runtime 1.20 convolves no signed numbers.
    small = converted.dynamic_int8(good, tmp_path / "small.onnx", signed=False)
    found = paired(small, good)
    assert {found.to_reference[name] for name in ("first", "second")} == {"first", "second"}
    assert not {"firstquant_scaled_output", "secondquant_scaled_output"} & set(found.to_reference)
    done = locate_files(polycmp, small, good, *calibrated)
    assert (done.status, located(tmp_path)["words"]) == (0, "within rounding"), done.out


@pytest.mark.parametrize("whole", [True, False], ids=["Gemm first", "Gemm last"])
def test_a_product_with_a_sum_is_paired_with_a_product_and_a_sum(tmp_path, whole):
    pairing = paired(
        converted.rows(tmp_path / "a.onnx", whole=whole), converted.rows(tmp_path / "b.onnx", whole=not whole)
    )
    other = dict(pairing.to_reference) if whole else {b: a for a, b in pairing.to_reference.items()}
    assert {name: other[name] for name in ("whole0", "bent0", "whole1")} == {
        "whole0": "sum0", "bent0": "curved0", "whole1": "sum1",
    }  # fmt: skip


def test_a_fused_operator_is_paired_by_its_last_tensor(polycmp, tmp_path):
    good = converted.exported(tmp_path / "good.onnx")
    fused = converted.optimised(good, tmp_path / "fused.onnx")
    pairing = paired(fused, good)
    assert pairing.share == 1.0
    assert len(pairing.unmatched_reference) > 10
    done = locate_files(polycmp, fused, good)
    assert done.status == 0, done.out


def test_a_cast_that_drops_what_is_behind_the_point_is_named_with_the_operators_of_both_sides(polycmp, tmp_path):
    good = converted.network(tmp_path / "good.onnx")
    bad = converted.edited(good, tmp_path / "bad.onnx", converted.through("gelu1", onnx.TensorProto.INT32))
    done = locate_files(polycmp, bad, good)
    assert done.status == 1, done.out
    found = located(tmp_path)
    assert found["first_bad"] == "down1"
    assert "new computes it with Cast, MatMul, old with MatMul" in found["sentence"]


@pytest.mark.parametrize(
    ("tensor", "value", "first", "words"),
    [
        ("shape", np.array([1, 5, converted.WIDTH], np.int64), "back", "new cannot run Reshape 'n_back'"),
        ("number", np.float32(5 * converted.WIDTH), "y", "old reads 'count' for it and new does not: was it frozen"),
    ],
    ids=["fails", "runs"],
)
def test_a_size_that_the_export_froze_is_named(polycmp, tmp_path, tensor, value, first, words):
    good = converted.sized(tmp_path / "good.onnx")
    bad = converted.edited(good, tmp_path / "bad.onnx", converted.frozen(tensor, value))
    done = locate_files(polycmp, bad, good, "--input-shapes", "x:[2,5,16]")
    assert done.status == 1, done.out + done.err
    found = located(tmp_path)
    assert found["first_bad"] == first
    assert words in found["sentence"]


def test_the_structure_comes_before_names_that_exporters_count_up(polycmp, tmp_path):
    good = converted.network(tmp_path / "good.onnx")
    other = converted.edited(good, tmp_path / "other.onnx", converted.swapped("upper0", "upper1"))
    pairing = paired(other, good)
    assert (pairing.to_reference["upper1"], pairing.to_reference["upper0"]) == ("upper0", "upper1")
    assert locate_files(polycmp, other, good).status == 0


def sizes(path: Path, by: str) -> Path:
    """Write a network that takes a size from its input (`shape`), leaves it open, or keeps a batch of 2 (`kept`)."""
    weights = {"w": converted.weights_of()["0.up.weight"], "v": converted.weights_of()["1.up.weight"]}
    weights["flat"] = np.array([-1, converted.WIDTH], np.int64)
    weights |= {
        "open": np.array([-1, 5, converted.WIDTH], np.int64),
        "kept": np.array([2, -1, converted.WIDTH], np.int64),
    }
    mark = "z_" if by == "kept" else ""
    nodes = [
        converted.node("MatMul", "x w", f"{mark}h"),
        converted.node("Reshape", f"{mark}h flat", f"{mark}rows"),
        converted.node("Tanh", f"{mark}rows", f"{mark}bent"),
        converted.node("Shape", "x", "shape"),
        converted.node("Reshape", f"{mark}bent {by}", f"{mark}back"),
        converted.node("Add", f"{mark}back x", f"{mark}sum"),
        converted.node("MatMul", f"{mark}sum v", f"{mark}product"),
        converted.node("Tanh", f"{mark}product", "y"),
    ]
    return converted.save(path, nodes, weights)


@pytest.mark.parametrize(
    ("by", "batch", "told"),
    [
        ("shape", 4, "computes 'z_back' with shape [2, 10, 16] instead of [4, 5, 16]; old reads 'shape' for it"),
        ("shape", 3, "cannot run Reshape 'n_z_back', not even alone"),
        (
            "open",
            4,
            "with shape [2, 10, 16] instead of [4, 5, 16]; was it frozen to the example inputs of the export?",
        ),
        ("open", 3, "its sizes are a constant in the file"),
    ],
)
def test_a_size_that_an_export_kept_is_named_although_the_shapes_contradict(polycmp, tmp_path, by, batch, told):
    good, kept = sizes(tmp_path / "good.onnx", by), sizes(tmp_path / "kept.onnx", "kept")
    assert locate_files(polycmp, kept, good, "--input-shapes", "x:[2,5,16]").status == 0
    assert locate_files(polycmp, kept, good, "--input-shapes", f"x:[{batch},5,16]").status == 1
    found = located(tmp_path)
    assert found["first_bad"] == "z_back"
    assert told in found["sentence"]


def attention(query: str, key: str, value: str, end: str) -> onnx.ModelProto:
    """Return three products of one input, each with a bias, of which only what follows tells which is which."""
    weights, nodes = [], []
    for part in (query, key, value):
        weights += [(f"{part}.weight", RNG.standard_normal((8, 8)).astype(np.float32))]
        weights += [(f"{part}.bias", RNG.standard_normal(8).astype(np.float32))]
        nodes.append(helper.make_node("MatMul", ["x", f"{part}.weight"], [f"{part}_product"]))
        nodes.append(helper.make_node("Add", [f"{part}_product", f"{part}.bias"], [part]))
    nodes += [
        helper.make_node("Transpose", [key], [f"{key}_turned"], perm=[1, 0]),
        helper.make_node("MatMul", [query, f"{key}_turned"], [f"{end}_scores"]),
        helper.make_node("Softmax", [f"{end}_scores"], [f"{end}_weights"]),
        helper.make_node("MatMul", [f"{end}_weights", value], [f"{end}_mixed"]),
        helper.make_node("MatMul", [f"{end}_weights", key], [f"{end}_too"]),
        helper.make_node("Add", [f"{end}_mixed", f"{end}_too"], ["y"]),
    ]
    return graph_model(nodes, [("x", TensorProto.FLOAT, [4, 8])], [("y", TensorProto.FLOAT, [4, 8])], weights)


def test_products_of_one_input_are_told_apart_by_what_follows_whatever_their_weights_are_called(tmp_path):
    save_model(attention("query", "key", "value", "attention"), tmp_path / "one.onnx")
    save_model(attention("left", "right", "kept", "end"), tmp_path / "two.onnx")
    pairing = paired(tmp_path / "one.onnx", tmp_path / "two.onnx")
    assert pairing.share == 1.0
    pairs = {match.candidate: match.reference for match in pairing.matches}
    assert (pairs["query"], pairs["key"], pairs["value"]) == ("left", "right", "kept")


def test_an_operator_that_reads_something_else_keeps_its_name(polycmp, tmp_path):
    weights = {"rows": np.array([4, -1], np.int64), "as_before": np.array([0, -1], np.int64)}

    def reshaped(name: str, source: str) -> Path:
        nodes = [
            converted.node("MatMul", "x 0.up.weight", "a"),
            converted.node("Reshape", "a rows", "r1"),
            converted.node("Reshape", f"{source} as_before", "r2"),
            converted.node("Softmax", "r2", "s"),
            converted.node("Reshape", "s back", "y"),
        ]
        deep = {"back": np.array([-1, 5, converted.WIDTH], np.int64)}
        return converted.save(tmp_path / name, nodes, converted.weights_of(1) | weights | deep)

    made, good = reshaped("made.onnx", "a"), reshaped("good.onnx", "r1")
    done = polycmp(
        "locate", made, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}", "--input-shapes", "x:[2,5,16]"
    )
    assert done.status == 1, done.out
    assert "wrong: Reshape 'n_r2' computes 'r2'" in " ".join(done.out.split())
    assert "it reads 'a' in new, 'r1' in old" in " ".join(done.out.split())
    assert "frozen" not in done.out


def test_a_name_that_torchscript_counted_up_otherwise_is_that_of_another_tensor(polycmp, tmp_path):
    def turned(name: str, first: str, second: str) -> Path:
        nodes = [
            converted.node("MatMul", "x 0.up.weight", "a"),
            converted.node("Sin", "a", "/Sin_output_0"),
            converted.node("Cos", "a", "/Cos_output_0"),
            converted.node("Concat", "/Sin_output_0 /Cos_output_0", first, axis=-1),
            converted.node("Concat", "/Cos_output_0 /Sin_output_0", second, axis=-1),
            converted.node("Sub", f"{first} {second}", "d"),
            converted.node("MatMul", "d down", "y"),
        ]
        down = np.random.default_rng(8).standard_normal((2 * converted.WIDTH, converted.WIDTH)).astype(np.float32)
        return converted.save(tmp_path / name, nodes, converted.weights_of(1) | {"down": down})

    good = turned("good.onnx", "/Concat_output_0", "/Concat_1_output_0")
    other = turned("other.onnx", "/Concat_1_output_0", "/Concat_2_output_0")
    assert paired(other, good).to_reference["/Concat_1_output_0"] == "/Concat_output_0"
    assert locate_files(polycmp, other, good, "--input-shapes", "x:[2,5,16]").status == 0


def test_factors_that_are_multiplied_in_another_order_are_no_pair(polycmp, tmp_path):
    def gelu(name: str, product: str, order: tuple[str, str]) -> Path:
        nodes = [
            converted.node("MatMul", "x 0.up.weight", "h"),
            converted.node("Erf", "h", "e"),
            converted.node("Add", "e one", "p"),
            converted.node("Mul", order[0], product),
            converted.node("Mul", order[1], "g"),
            converted.node("MatMul", "g 0.down.weight", "y"),
        ]
        numbers = {"one": np.float32(1), "half": np.float32(0.5)}
        return converted.save(tmp_path / name, nodes, converted.weights_of(1) | numbers)

    good, other = gelu("good.onnx", "m", ("h p", "m half")), gelu("other.onnx", "val_1", ("half p", "h val_1"))
    assert locate_files(polycmp, other, good, "--input-shapes", "x:[2,5,16]").status == 0
