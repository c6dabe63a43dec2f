"""Models that differ but should compute the same: their tensors are paired, and the first wrong one is named."""

from __future__ import annotations

import re
from pathlib import Path

import converted_models as converted
import numpy as np
import onnx
import pytest
from in_parts import a_few
from located import locate_files, located
from onnx import TensorProto, helper, save_model
from small_models import graph_model, save_graph

from polycmp_locate.pairing import pair_graphs
from polycmp_onnx.model_graph import OnnxGraph

RNG = np.random.default_rng(11)


def paired(candidate: Path, reference: Path):
    return pair_graphs(OnnxGraph(onnx.load(candidate)), OnnxGraph(onnx.load(reference)))


@pytest.fixture
def inputs(tmp_path):
    """Save inputs like those of the calibration, and return the words that use them."""
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(5).random((2, 5, converted.WIDTH), np.float32))
    return ("--load-inputs", tmp_path / "x.npz")


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


def test_a_convolution_with_a_bias_is_paired_with_the_sum_behind_a_product_of_whole_numbers(polycmp, tmp_path, inputs):
    """Where the file has sums of its own, `quantize_dynamic` was accused of a wrong scale: of all but the bias."""
    good = converted.convolutions(tmp_path / "good.onnx")
    # ONNX Runtime 1.20 convolves no signed numbers.
    small = converted.dynamic_int8(good, tmp_path / "small.onnx", signed=False)
    found = paired(small, good)
    assert {found.to_reference[name] for name in ("first", "second")} == {"first", "second"}
    assert not {"firstquant_scaled_output", "secondquant_scaled_output"} & set(found.to_reference)
    done = locate_files(polycmp, small, good, *inputs)
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


def test_two_models_without_anything_in_common_are_an_error_in_words(polycmp, tmp_path):
    good = converted.network(tmp_path / "good.onnx")
    other = converted.save(
        tmp_path / "other.onnx", [converted.node("Neg", "x", "minus"), converted.node("Exp", "minus", "y")], {}
    )
    done = locate_files(polycmp, other, good)
    assert done.status == 3
    assert "have different operators, and no tensor inside one could be paired" in done.err


@pytest.mark.parametrize("op, status", [("Tanh", 1), ("Sigmoid", 0)], ids=["wrong", "right"])
def test_a_small_model_of_other_operators_is_judged_as_a_whole_where_its_batch_is_open(polycmp, tmp_path, op, status):
    """A converter leaves the batch without a number and a name, and writes one operator where the other has many."""
    nodes = [
        converted.node("Neg", "x", "minus"),
        converted.node("Exp", "minus", "exp"),
        converted.node("Add", "exp one", "sum"),
        converted.node("Reciprocal", "sum", "y"),
    ]
    old = onnx.load(converted.save(tmp_path / "old.onnx", nodes, {"one": np.ones(1, np.float32)}))
    old.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    save_model(old, tmp_path / "old.onnx")
    new = onnx.load(converted.save(tmp_path / "new.onnx", [converted.node(op, "x", "y")], {}))
    for tensor in (*new.graph.input, *new.graph.output):
        tensor.type.tensor_type.shape.dim[0].ClearField("dim_param")
    save_model(new, tmp_path / "new.onnx")
    done = locate_files(polycmp, tmp_path / "new.onnx", tmp_path / "old.onnx")
    assert done.status == status, done.err
    if status:
        assert "new computes it with Tanh, old with Neg, Exp, Add, Reciprocal" in located(tmp_path)["sentence"]


def test_an_operator_that_makes_what_a_weight_is_called_is_named(polycmp, tmp_path):
    """Every operator runs alone, and none of them is where the backend says that the file is wrong."""
    nodes = [
        converted.node("Relu", "x", "r"),
        converted.node("Add", "r one", "s"),
        converted.node("Tanh", "s", "t"),
        converted.node("Neg", "t", "y"),
    ]
    old = converted.save(tmp_path / "old.onnx", nodes, {"one": np.ones(1, np.float32)})
    new = onnx.load(old)
    new.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1, np.float32), "t"))
    (tmp_path / "new.onnx").write_bytes(new.SerializeToString())
    done = locate_files(polycmp, tmp_path / "new.onnx", old)
    assert done.status == 1, done.err
    sentence = located(tmp_path)["sentence"]
    assert "new cannot run the model: Tanh 'n_t' makes 't', which is also the name of what a weight gives" in sentence


def test_a_tensor_that_nothing_makes_is_named_with_what_reads_it_and_no_reason_is_invented(polycmp, tmp_path):
    """Where 'x' was read in the other file, a constant seemed to stand there."""
    nodes = [
        converted.node("Relu", "x", "r"),
        converted.node("Exp", "r", "e"),
        converted.node("Add", "e x", "s"),
        converted.node("Neg", "s", "y"),
    ]
    old = converted.save(tmp_path / "old.onnx", nodes, {})
    model = onnx.load(old)
    model.graph.node[2].input[1] = "gone"
    save_model(model, tmp_path / "new.onnx")
    done = locate_files(polycmp, tmp_path / "new.onnx", old)
    sentence = located(tmp_path)["sentence"]
    assert done.status == 1, done.err
    assert "new cannot run Add 'n_s', not even alone: Add 'n_s' reads 'gone', which no operator makes" in sentence
    assert "frozen" not in sentence


@pytest.mark.parametrize(("lost", "what"), [("e", "what Exp 'n_e' makes"), ("w", "a weight")])
def test_what_a_file_has_lost_is_named_as_the_other_file_has_it(polycmp, tmp_path, lost, what):
    """Tools leave such a file that take an operator away from one of its readers, or drop a weight as unused."""
    nodes = [
        converted.node("Exp", "x", "e"),
        converted.node("Add", "e w", "s"),
        converted.node("Mul", "s x", "y"),
    ]
    old = converted.save(tmp_path / "old.onnx", nodes, {"w": np.ones(converted.WIDTH, np.float32)})
    model = onnx.load(old)
    for items in (model.graph.node, model.graph.initializer):
        gone = [item for item in items if lost in (getattr(item, "name", ""), *getattr(item, "output", ()))]
        for item in gone:
            items.remove(item)
    save_model(model, tmp_path / "new.onnx")
    done = locate_files(polycmp, tmp_path / "new.onnx", old)
    assert done.status == 1, done.err
    said = f"Add 'n_s' reads {lost!r}, which no operator makes and no weight holds; in old it is {what}"
    assert said in located(tmp_path)["sentence"]


def test_nan_that_came_in_with_the_inputs_is_not_called_rounding(polycmp, tmp_path):
    x = np.zeros((2, 5, converted.WIDTH), np.float32)
    x[0, 1, 2] = np.nan
    np.savez(tmp_path / "x.npz", x=x)
    model = converted.save(tmp_path / "m.onnx", [converted.node("Tanh", "x", "t"), converted.node("Exp", "t", "y")], {})
    done = locate_files(polycmp, model, model, "--load-inputs", tmp_path / "x.npz")
    sentence = located(tmp_path)["sentence"]
    assert done.status == 0, done.out
    assert "NaN or infinity at the same places, as inputs and masks bring them in" in sentence


def test_a_mask_of_infinities_is_no_disagreement(polycmp, tmp_path):
    mask = np.zeros(converted.WIDTH, np.float32)
    mask[1:] = -np.inf
    nodes = [converted.node("Add", "x mask", "masked"), converted.node("Softmax", "masked", "y")]
    model = converted.save(tmp_path / "m.onnx", nodes, {"mask": mask})
    done = locate_files(polycmp, model, model)
    assert done.status == 0, done.out
    assert "1 of 2 tensors fail only because both sides hold NaN or infinity" in located(tmp_path)["sentence"]


def test_an_infinite_weight_that_no_scale_covers_is_told_and_not_laid_on_both_sides(polycmp, tmp_path):
    table = np.random.default_rng(1).standard_normal((converted.WIDTH, converted.WIDTH)).astype(np.float32)
    table[:, 3] = -np.inf
    first = converted.node("ArgMax", "x", "rows", axis=2, keepdims=0)
    last = [converted.node("Transpose", "g", "t", perm=[0, 2, 1]), converted.node("Softmax", "t", "y", axis=1)]
    good = converted.save(
        tmp_path / "good.onnx", [first, converted.node("Gather", "table rows", "g"), *last], {"table": table}
    )
    codes = {"codes": np.zeros(table.shape, np.int8), "step": np.float32(np.inf), "zero": np.int8(0)}
    nodes = [
        first,
        converted.node("Gather", "codes rows", "c"),
        converted.node("DequantizeLinear", "c step zero", "g"),
        *last,
    ]
    made = converted.save(tmp_path / "made.onnx", nodes, codes)
    done = locate_files(polycmp, made, good, "--input-shapes", "x:[2,5,16]")
    assert done.status == 1, done.err
    sentence = located(tmp_path)["sentence"]
    assert "produces NaN in new, where a weight of old holds Inf; no scale covers an infinite number" in sentence


def test_of_another_formula_no_coarser_type_is_guessed(polycmp, tmp_path):
    """GELU by its approximation with Tanh is as far off as numbers in float16."""
    good = converted.save(tmp_path / "good.onnx", [converted.node("Gelu", "x", "y")], {})
    weights = {name: np.float32(value) for name, value in {"c": 0.044715, "k": (2 / np.pi) ** 0.5, "h": 0.5}.items()}
    words = "Mul x x s|Mul s x q|Mul q c d|Add x d a|Mul a k b|Tanh b t|Mul x h z|Mul z t u|Add u z y"
    nodes = [
        converted.node(op, " ".join(reads), made) for op, *reads, made in (part.split() for part in words.split("|"))
    ]
    made = converted.save(tmp_path / "made.onnx", nodes, weights)
    assert locate_files(polycmp, made, good).status == 1
    sentence = located(tmp_path)["sentence"]
    assert "Add, Tanh, old with Gelu" in sentence
    assert "as if computed in" not in sentence


def test_a_constant_that_an_optimiser_took_for_nothing_is_told_and_no_coarser_type_guessed(polycmp, tmp_path):
    x = np.random.default_rng(0).random((2, 5, converted.WIDTH), np.float32)
    x[0, 0, 0] = 7e-5
    np.savez(tmp_path / "x.npz", x=x)
    nodes = [converted.node("Mul", "x x", "m"), converted.node("Add", "m least", "a"), converted.node("Log", "a", "y")]
    good = converted.save(tmp_path / "good.onnx", nodes, {"least": np.full(1, 1e-10, np.float32)})
    made = converted.save(tmp_path / "made.onnx", [nodes[0], converted.node("Log", "m", "y")], {})
    done = locate_files(polycmp, made, good, "--load-inputs", tmp_path / "x.npz")
    sentence = located(tmp_path)["sentence"]
    assert done.status == 1, done.out
    assert "new leaves out Add 'n_a' (1e-10) of old" in sentence
    assert "as if computed in" not in sentence


def test_small_models_without_a_tensor_in_common_inside_are_judged_as_a_whole(polycmp, tmp_path):
    ones = {"ones": np.ones((1, 1, 1), np.float32), "two": np.full((1,), 2, np.float32)}
    good = converted.save(
        tmp_path / "good.onnx", [converted.node("Mul", "x two", "m"), converted.node("Relu", "m", "y")], ones
    )
    wrong = converted.save(tmp_path / "wrong.onnx", [converted.node("Relu", "x", "y")], {})
    done = locate_files(polycmp, wrong, good)
    assert done.status == 1, done.err
    assert "new leaves out Mul 'n_m' (2) of old" in done.out.replace("\n  ", " ")
    same = [converted.node("Relu", "x", "r"), converted.node("Mul", "r two", "y")]
    done = locate_files(polycmp, converted.save(tmp_path / "same.onnx", same, ones), good)
    assert done.status == 0, done.out


def quantised(tmp_path: Path, make, **scales: float) -> tuple[Path, Path]:
    """Return a model and what a quantiser makes of it, with some of its scales multiplied."""
    good = converted.network(tmp_path / "good.onnx")
    made = make(good, tmp_path / "quantised.onnx")
    for name, factor in scales.items():
        made = converted.edited(made, made, converted.scaled(name, factor))
    return good, made


@pytest.mark.parametrize("make", [converted.dynamic_int8, converted.static_qdq], ids=["dynamic", "static"])
def test_what_quantisation_rounds_is_no_fault(polycmp, tmp_path, make, inputs):
    good, made = quantised(tmp_path, make)
    done = locate_files(polycmp, made, good, *inputs)
    assert done.status == 0, done.out
    assert located(tmp_path)["words"] == "within rounding"


@pytest.mark.parametrize("factor", a_few([1.2, 0.5, 4.0]))
@pytest.mark.parametrize(
    ("make", "tensor"),
    [(converted.dynamic_int8, "down1"), (converted.static_qdq, "down1")],
    ids=["dynamic", "static"],
)
def test_a_wrong_scale_of_one_layer_is_named_as_such(polycmp, tmp_path, make, tensor, factor, inputs):
    good, made = quantised(tmp_path, make, **{"1.down.weight_scale": factor})
    done = locate_files(polycmp, made, good, *inputs)
    assert done.status == 1, done.out
    found = located(tmp_path)
    assert found["first_bad"] == tensor
    row = next(item for item in found["tensors"] if item["tensor"] == tensor)
    assert row["quantised"]["factor"] == pytest.approx(factor, rel=0.05)
    assert "a wrong scale" in found["sentence"]


def test_a_scale_that_covers_too_little_is_named_with_what_it_clips(polycmp, tmp_path, inputs):
    good, made = quantised(tmp_path, converted.static_qdq, gelu1_scale=0.25)
    done = locate_files(polycmp, made, good, *inputs)
    assert done.status == 1, done.out
    found = located(tmp_path)
    assert found["first_bad"] == "gelu1_DequantizeLinear_Output"
    assert "of the elements are clipped" in found["sentence"]


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


@pytest.mark.parametrize(("factor", "first"), [(1.0, None), (1.1, "/layer1/mm2")], ids=["right", "wrong"])
def test_an_export_with_another_name_of_its_input_is_paired(polycmp, tmp_path, factor, first):
    good, other = converted.network(tmp_path / "good.onnx"), converted.exported(tmp_path / "other.onnx")
    converted.edited(other, other, converted.with_input("hidden_states"))
    converted.edited(other, other, converted.scaled("1.down.weight", factor))
    done = locate_files(polycmp, other, good)
    assert done.status == (0 if first is None else 1), done.out + done.err
    assert located(tmp_path)["first_bad"] == first
    assert "inputs: 'hidden_states' of new is fed what 'x' of old gets" in " ".join(done.out.split())


@pytest.mark.parametrize("factor", [1.0, 3.0], ids=["right", "wrong"])
def test_another_layout_inside_is_no_fault_where_the_outputs_are_right(polycmp, tmp_path, factor):
    """The channels stand last in one file, as a converter puts them, and the shapes are open."""

    def network(name, factor, *moves):
        act = "t" if moves else "x"
        nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1])] if moves else []
        nodes += [
            helper.make_node("Relu", [act], ["act"], name="act"),
            helper.make_node("Mul", ["act", "factor"], ["scaled"], name="scale"),
            helper.make_node("ReduceMean", ["scaled"], ["y"], axes=[1, 2, 3], keepdims=0),
        ]
        ends = [("x", TensorProto.FLOAT, ["n", "c", "h", "w"])], [("y", TensorProto.FLOAT, ["n"])]
        return save_graph(tmp_path / name, nodes, *ends, [("factor", np.float32(factor))])

    made, source = network("made.onnx", factor, "channels last"), network("source.onnx", 1.0)
    done = locate_files(polycmp, made, source, "--input-shapes", "x:[2,3,4,5]")
    found = located(tmp_path)
    assert done.status == (0 if factor == 1 else 1), done.out
    assert all(row["passed"] for row in found["tensors"]) is (factor == 1)


def test_the_page_shows_how_tensors_were_paired(polycmp, tmp_path):
    good, other = converted.network(tmp_path / "good.onnx"), converted.exported(tmp_path / "other.onnx")
    locate_files(polycmp, other, good, "--report", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "without counterpart in new" in page
    assert re.search(r"paired by structure with \S*gelu1\S* of old", page)
    assert "made by Div, Erf, Add, Mul, Mul; in old by Gelu" in page


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


@pytest.mark.parametrize(("last", "status"), [("Exp", 0), ("Neg", 1)], ids=["right", "wrong"])
def test_a_name_that_an_optimiser_gave_to_a_tensor_of_another_shape_is_no_fault_where_outputs_agree(
    polycmp, tmp_path, last, status
):
    turned = {"perm": [1, 0, 2]}
    nodes = [converted.node("Relu", "x", "r"), converted.node("Transpose", "r", "a", **turned)]
    nodes += [converted.node("Transpose", "a", "b", **turned), converted.node("Exp", "b", "y")]
    converted.save(tmp_path / "old.onnx", nodes, {})
    converted.save(tmp_path / "new.onnx", [converted.node("Relu", "x", "a"), converted.node(last, "a", "y")], {})
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(5).random((2, 5, converted.WIDTH), np.float32))
    words = ["-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", "--load-inputs", "x.npz"]
    done = polycmp("run", "new.onnx", *words, "--mark-all")
    assert done.status == status, done.out


def test_a_condition_that_was_inverted_with_its_branches_is_no_difference(polycmp, tmp_path):
    """As optimisers write them that move a part of a branch out of it."""

    def write(name, test, *, inverted):
        branches = [
            helper.make_graph(
                [helper.make_node(op, ["x"], [f"{name}_{op}"])],
                op,
                [],
                [helper.make_tensor_value_info(f"{name}_{op}", TensorProto.FLOAT, ["n"])],
            )
            for op in ("Tanh", "Abs")
        ]
        then, other = reversed(branches) if inverted else branches
        nodes = [
            helper.make_node("Size", ["x"], [f"{name}_size"]),
            helper.make_node(test, [f"{name}_size", "three"], [f"{name}_is"]),
            helper.make_node("If", [f"{name}_is"], ["picked"], then_branch=then, else_branch=other),
            helper.make_node("Exp", ["picked"], ["y"]),
        ]
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
            [helper.make_tensor("three", TensorProto.INT64, [], [3])],
        )
        save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / name)
        return tmp_path / name

    good, other = write("good.onnx", "Greater", inverted=False), write("other.onnx", "LessOrEqual", inverted=True)
    done = polycmp("run", other, good, "-b", "onnxrt", "--input-shapes", "x:[8]", "--mark-all")
    assert done.status == 0, done.out + done.err
