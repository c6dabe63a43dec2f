"""A quantised file beside the float model: noise of rounding is no fault, and what is more than that is named."""

from __future__ import annotations

import json
from pathlib import Path

import converted_models as converted
import numpy as np
import onnx
import pytest
from in_parts import a_few, each_once
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from small_models import graph_model

from polycmp_locate.rounding.quantised import step_error


@pytest.fixture
def against(polycmp, tmp_path):
    """Run a command with a quantised file and the float one, and return its result and its document."""
    rng = np.random.default_rng(5)
    np.savez(tmp_path / "wide.npz", x=rng.standard_normal((2, 5, converted.WIDTH)).astype(np.float32))
    np.savez(tmp_path / "calibrated.npz", x=rng.random((2, 5, converted.WIDTH), np.float32))

    def run(command: str, made: Path, good: Path, *words: str, inputs: str = "wide.npz"):
        done = polycmp(
            command, made, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}",
            "--load-inputs", inputs, "--report", "found.json", *words,
        )  # fmt: skip
        return done, json.loads((tmp_path / "found.json").read_text())

    return run


@pytest.fixture
def usual(polycmp, tmp_path):
    """Run a command with a quantised file and the float one on inputs like those of the calibration."""
    rng = np.random.default_rng(7)
    np.savez(tmp_path / "usual.npz", x=rng.standard_normal((2, 5, converted.WIDTH)).astype(np.float32))

    def run(command: str, made: Path, good: Path, *words: str):
        done = polycmp(
            command, made, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}",
            "--load-inputs", "usual.npz", "--report", "found.json", *words,
        )  # fmt: skip
        return done, json.loads((tmp_path / "found.json").read_text())

    return run


FLOAT = TensorProto.FLOAT
FORMS = ("QDQ", "QOperator")
KINDS = ("CRC", "CR", "RCR", "CRCRCR", "C6C", "C6", "C2C", "SCR", "CSC")


def outputs_of(document: dict) -> dict:
    return document["comparison_results"][0]["outputs"]


def test_noise_that_adds_up_in_good_layers_does_not_fail_a_tensor(against, tmp_path):
    good = converted.peaked(tmp_path / "good.onnx")
    done, found = against("run", converted.dynamic_int8(good, tmp_path / "int8.onnx"), good, "--mark-all")
    words = {name: item["verdict"] for name, item in outputs_of(found).items()}
    assert set(words.values()) == {"passed"}, done.out
    output = outputs_of(found)["y"]["reason"]  # off by a third of what small channels of the output vary by
    assert "the files hold the same network" in output
    assert any("rounding explains up to" in item["reason"] for item in outputs_of(found).values())


@pytest.mark.parametrize("times", a_few([1.6, 2.0]))
def test_a_scale_that_is_too_large_is_named_where_noise_would_hide_it(against, tmp_path, times):
    good = converted.peaked(tmp_path / "good.onnx")
    made = converted.dynamic_int8(good, tmp_path / "int8.onnx")
    converted.edited(made, made, converted.scaled("2.up.weight_scale", times))
    assert against("run", made, good, "--mark-all")[0].status != 0
    done, found = against("locate", made, good)
    assert (done.status, "up2" in found["sentence"]) == (1, True), found["sentence"]


@pytest.mark.parametrize(("zero", "status"), [(0, 0), (1, 1)])
def test_a_zero_point_that_is_off_is_named_where_rows_move_both_ways(polycmp, tmp_path, zero, status):
    """What a zero point adds to a row goes with the sum of its numbers, so that no channel is off on average."""
    rng, node = np.random.default_rng(0), helper.make_node
    weight = (rng.standard_normal((converted.WIDTH, 32)) / converted.WIDTH**0.5).astype(np.float32)
    nodes = [node("MatMul", ["x", "w"], ["m"], name="m"), node("Relu", ["m"], ["y"], name="y")]
    made = graph_model(nodes, [("x", FLOAT, [64, converted.WIDTH])], [("y", FLOAT, [64, 32])], [("w", weight)])
    onnx.save(made, tmp_path / "good.onnx")
    converted.dynamic_int8(tmp_path / "good.onnx", tmp_path / "int8.onnx")

    def change(model: onnx.ModelProto) -> None:
        item = converted.weight(model, "w_zero_point")
        item.CopyFrom(numpy_helper.from_array(np.full_like(numpy_helper.to_array(item), zero), item.name))

    converted.edited(tmp_path / "int8.onnx", tmp_path / "int8.onnx", change)
    x = np.abs(rng.standard_normal((64, converted.WIDTH))) * rng.choice([-1, 1], (64, 1))
    np.savez(tmp_path / "x.npz", x=x.astype(np.float32))
    sides = ["-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=good.onnx", "--load-inputs", "x.npz"]
    done = polycmp("locate", "int8.onnx", *sides)
    assert done.status == status, done.out
    if zero:
        assert "on average (root mean square), and rounding to" in " ".join(done.out.split())


def test_an_output_without_any_signal_left_fails_in_every_command(usual, tmp_path):
    """A sum beside a number 80 times as large, which is rounded to 255 steps and then taken away."""
    node, shape = helper.make_node, [2, 5, converted.WIDTH]
    ends = {"good": [], "int8": [
        node("QuantizeLinear", ["b", "step", "zero"], ["codes"]),
        node("DequantizeLinear", ["codes", "step", "zero"], ["b_back"]),
    ]}  # fmt: skip
    for name, rounding in ends.items():
        last = "b_back" if rounding else "b"
        nodes = [
            node("Mul", ["x", "large"], ["a"], name="a"), node("Tanh", ["x"], ["t"], name="t"),
            node("Add", ["a", "t"], ["b"], name="b"), *rounding, node("Sub", [last, "a"], ["y"], name="y"),
        ]  # fmt: skip
        weights = [("large", np.float32(80)), ("step", np.float32(640 / 255)), ("zero", np.int8(0))]
        made = graph_model(nodes, [("x", FLOAT, shape)], [("y", FLOAT, None)], weights if rounding else weights[:1])
        onnx.save(made, tmp_path / f"{name}.onnx")
    done, found = usual("run", tmp_path / "int8.onnx", tmp_path / "good.onnx", "--mark-all")
    assert (done.status, outputs_of(found)["y"]["verdict"]) == (1, "failed"), done.out
    assert "more than half of what its values vary by" in outputs_of(found)["y"]["reason"]
    done, found = usual("locate", tmp_path / "int8.onnx", tmp_path / "good.onnx")
    assert done.status == 1, found["sentence"]


def test_an_operator_that_amplifies_the_noise_of_steps_is_no_ill_conditioned_model(against, tmp_path):
    good = converted.sharp(tmp_path / "good.onnx")
    done, found = against("locate", converted.dynamic_int8(good, tmp_path / "int8.onnx"), good)
    assert (done.status, found["words"]) == (0, "within rounding"), found["sentence"]
    assert "together puts the outputs off by" in found["sentence"]
    assert "which of them to keep in float: --rank" in found["sentence"]


def test_a_range_that_has_to_hold_a_mask_is_named(against, tmp_path):
    good = converted.masked(tmp_path / "good.onnx")
    made = converted.static_qdq(good, tmp_path / "int8.onnx")
    done, found = against("locate", made, good, inputs="calibrated.npz")
    assert (done.status, found["words"]) == (1, "wrong"), found["sentence"]
    assert found["first_bad"] == "masked_DequantizeLinear_Output"
    assert "values that only mask, and rounds everything else" in found["sentence"]


def test_a_mask_that_stays_in_float_is_no_fault(against, tmp_path):
    good = converted.masked(tmp_path / "good.onnx")
    made = converted.dynamic_int8(good, tmp_path / "int8.onnx")
    assert any(node.op_type == "MatMulInteger" for node in onnx.load(made).graph.node)
    done, found = against("locate", made, good)
    assert (done.status, found["words"]) == (0, "within rounding"), found["sentence"]


def test_elements_that_are_off_in_the_middle_of_a_range_were_not_clipped():
    exact = np.linspace(-1, 1, 401, dtype=np.float32)
    off = exact.copy()
    off[100:140] += 0.3
    assert step_error(np.clip(exact, -0.5, 0.5), exact, 2.0**-6).at_ends > 0.9
    assert step_error(off, exact, 2.0**-6).at_ends == 0.0


def test_one_clipped_number_tells_nothing_of_the_scale():
    exact = np.linspace(-1, 1, 64, dtype=np.float32)
    exact[0] = -1.5
    error = step_error(np.clip(exact, -1.1, 1.1), exact, 2.0**-6)
    assert error.gain == pytest.approx(1.0)
    assert error.is_clipped
    assert not error.is_rounding
    assert step_error(np.clip(exact * 0.9, -1.1, 1.1), exact, 2.0**-6).is_scaled


def before_an_activation(path: Path, covered: float | None = None, activation: str = "Softplus") -> Path:
    """x -> MatMul -> h -> activation -> y, and steps for h that cover a share of its largest number if one is given."""
    rng = np.random.default_rng(7)
    weights = rng.standard_normal((converted.WIDTH, 64)).astype(np.float32)
    x = np.random.default_rng(5).standard_normal((2, 5, converted.WIDTH)).astype(np.float32)
    largest = float(np.abs(x @ weights).max())
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="product")]
    held = [("w", weights)]
    if covered is not None:
        held += [("step", np.float32(covered * largest / 127)), ("zero", np.int8(0))]
        nodes += [
            helper.make_node("QuantizeLinear", ["h", "step", "zero"], ["codes"], name="codes"),
            helper.make_node("DequantizeLinear", ["codes", "step", "zero"], ["rounded"], name="rounded"),
        ]
    last = "h" if covered is None else "rounded"
    nodes.append(helper.make_node(activation, [last], ["y"], name="activation"))
    onnx.save(graph_model(nodes, [("x", FLOAT, [2, 5, converted.WIDTH])], [("y", FLOAT, [2, 5, 64])], held), path)
    return path


def test_a_single_clipped_number_that_the_outputs_show_is_named(against, tmp_path):
    good = before_an_activation(tmp_path / "good.onnx")
    made = before_an_activation(tmp_path / "int8.onnx", covered=0.8)
    assert against("run", made, good)[0].status == 1
    done, found = against("locate", made, good)
    assert done.status == 1, found["sentence"]
    assert "'rounded' computes 'rounded': its scale covers" in found["sentence"]


def test_sums_of_codes_that_are_ties_are_no_fault(polycmp, tmp_path):
    """Erf(x) + 1 of a Gelu in codes from -1 to 1 and 0 to 2: each sum lies in the middle between two codes."""
    step = np.float32(1 / 127.5)
    held = [
        ("w", np.eye(converted.WIDTH, dtype=np.float32)), ("step", step), ("one", np.int8(127)),
        ("step_of_one", np.float32(1 / 127)), ("middle", np.int8(-1)), ("zero", np.int8(0)), ("low", np.int8(-128)),
    ]  # fmt: skip
    nodes = [
        helper.make_node("Erf", ["x"], ["e"], name="erf"),
        helper.make_node("QuantizeLinear", ["e", "step", "middle"], ["codes"], name="codes"),
        helper.make_node(
            "QLinearAdd", ["codes", "step", "middle", "one", "step_of_one", "zero", "step", "low"], ["sums"],
            name="sum", domain="com.microsoft",
        ),
        helper.make_node("DequantizeLinear", ["sums", "step", "low"], ["y"], name="y"),
    ]  # fmt: skip
    shape = [2, 5, converted.WIDTH]
    made = graph_model(nodes, [("x", FLOAT, shape)], [("y", FLOAT, shape)], held)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(made, "sums.onnx")
    for words in (("run",), ("run", "--mark-all"), ("locate",)):
        done = polycmp(words[0], "sums.onnx", "-b", "onnxrt", "-b", "onnx", *words[1:])
        assert done.status == 0, done.out


def test_a_clip_inside_that_the_outputs_do_not_show_is_named_as_one(against, tmp_path):
    good = before_an_activation(tmp_path / "good.onnx", activation="Tanh")
    made = before_an_activation(tmp_path / "int8.onnx", covered=0.5, activation="Tanh")
    assert against("run", made, good)[0].status == 0
    assert against("run", made, good, "--mark-all")[0].status == 1
    done, found = against("locate", made, good)
    assert (done.status, found["words"], found["operator"]["name"]) == (1, "wrong", "rounded"), found["sentence"]
    assert ": its scale covers" in found["sentence"]
    assert found["sentence"].endswith("; even so, the outputs are within tolerance")


@pytest.mark.parametrize(
    ("is_twice", "name", "said"),
    [(True, "rounded", "computes 'rounded': its scale covers"), (False, "product", "'y': its scale for 'h' covers")],
    ids=["both sides", "one side"],
)
def test_a_product_is_not_accused_of_what_a_range_cuts_off(against, tmp_path, is_twice, name, said):
    """ONNX Runtime's quantiser writes the same steps on both sides of a Reshape, and the second are the product's."""
    rng, shape = np.random.default_rng(7), [2, 5, converted.WIDTH]
    held = [
        ("w", rng.standard_normal((converted.WIDTH, 64)).astype(np.float32)), ("four", np.float32(4.0)),
        ("step", np.float32(2.0 / 127)), ("zero", np.int8(0)), ("flat", np.array([10, converted.WIDTH])),
        ("deep", np.array([2, 5, 64])),
    ]  # fmt: skip
    before = [helper.make_node("Tanh", ["x"], ["t"]), helper.make_node("Mul", ["t", "four"], ["h"], name="h")]
    steps = [
        helper.make_node(operator, [read, "step", "zero"], [output], name=output)
        for operator, read, output in (
            ("QuantizeLinear", "h", "codes"), ("DequantizeLinear", "codes", "rounded"),
            ("QuantizeLinear", "rows", "row_codes"), ("DequantizeLinear", "row_codes", "rounded_rows"),
        )
    ]  # fmt: skip
    first, read = (steps[:2], "rounded") if is_twice else ([], "h")
    made = [
        *before, *first, helper.make_node("Reshape", [read, "flat"], ["rows"]), *steps[2:],
        helper.make_node("MatMul", ["rounded_rows", "w"], ["products"], name="product"),
        helper.make_node("Reshape", ["products", "deep"], ["y"]),
    ]  # fmt: skip
    good = [*before, helper.make_node("MatMul", ["h", "w"], ["y"], name="product")]
    for file, operators in (("good.onnx", good), ("int8.onnx", made)):
        onnx.save(graph_model(operators, [("x", FLOAT, shape)], [("y", FLOAT, [2, 5, 64])], held), tmp_path / file)
    done, found = against("locate", tmp_path / "int8.onnx", tmp_path / "good.onnx")
    assert (done.status, found["operator"]["name"]) == (1, name), found["sentence"]
    assert said in found["sentence"]
    assert ("'y', which does not explain the outputs alone" in " ".join(found["notes"])) is is_twice


# --- activations that the quantiser leaves to the range of the codes


@pytest.mark.parametrize(("form", "kinds"), each_once(FORMS, KINDS))
def test_a_good_file_without_its_activations_is_not_accused(usual, tmp_path, kinds, form):
    good = converted.bent(tmp_path / "good.onnx", kinds)
    made = converted.static(good, tmp_path / "int8.onnx", form)
    done, found = usual("locate", made, good)
    assert found["first_bad"] is None, found["sentence"]
    assert done.status == usual("run", made, good)[0].status, found["sentence"]
    activations = [letter for place, letter in enumerate(kinds) if letter in "R62" and "C" in kinds[:place]]
    told = " ".join(found["notes"])
    assert told.count(" is done by ") == len(activations), told


@pytest.mark.parametrize("form", FORMS)
def test_sums_before_an_activation_are_not_accused(usual, tmp_path, form):
    good = converted.stacked(tmp_path / "good.onnx")
    made = converted.static(good, tmp_path / "int8.onnx", form)
    done, found = usual("locate", made, good)
    assert done.status == 0, found["sentence"]
    done, found = usual("run", made, good, "--mark-all")
    assert done.status == 0, done.out


@pytest.mark.parametrize("kinds", a_few(["CRC", "C2C", "C6C"], 2))
def test_codes_before_an_activation_may_end_where_it_cuts(usual, tmp_path, kinds):
    good = converted.bent(tmp_path / "good.onnx", kinds)
    symmetric = {"ActivationSymmetric": True, "WeightSymmetric": True}
    made = converted.static(good, tmp_path / "int8.onnx", extra_options=symmetric)
    assert {"Clip", "Relu"} & {node.op_type for node in onnx.load(made).graph.node}
    done, found = usual("locate", made, good)
    assert done.status == 0, found["sentence"]


def test_the_note_says_what_does_the_activation_and_the_pair_is_behind_the_codes(usual, tmp_path):
    good = converted.bent(tmp_path / "good.onnx", "CRC")
    done, found = usual("locate", converted.static(good, tmp_path / "int8.onnx"), good)
    assert "Relu 'n_t1' is done by QuantizeLinear 't1_QuantizeLinear' (zero point -128)" in done.out
    places = {row["tensor"]: row["counterpart"] for row in found["tensors"]}
    assert (places["t1"], places["t1_DequantizeLinear_Output"]) == ("t0", "t1")


@pytest.mark.parametrize("form", FORMS)
def test_the_float_file_may_be_the_candidate(usual, tmp_path, form):
    good = converted.bent(tmp_path / "good.onnx", "CRCRC")
    done, found = usual("locate", good, converted.static(good, tmp_path / "int8.onnx", form))
    assert done.status == 0, found["sentence"]
    assert "is done by" in done.out


@pytest.mark.parametrize("form", FORMS)
def test_codes_that_do_not_end_where_the_activation_cuts_are_named(usual, tmp_path, form):
    good = converted.bent(tmp_path / "good.onnx", "CRCRC")
    made = converted.static(good, tmp_path / "int8.onnx", form)
    name = "t1_zero_point" if form == "QDQ" else "t0_zero_point"

    def change(model: onnx.ModelProto) -> None:
        item = converted.weight(model, name)
        item.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(item) + np.int8(50), name))

    converted.edited(made, made, change)
    done, found = usual("locate", made, good)
    assert done.status == 1, found["sentence"]
    named = "n_t0_quant" if form == "QOperator" else "t1_QuantizeLinear"
    assert found["operator"]["name"] == named, found["sentence"]
    assert "has no operator of its own there" in done.out


@pytest.mark.parametrize(("form", "fault"), each_once(["QDQ", "QOperator"], ["scale", "bias"]))
def test_a_fault_in_a_file_without_activations_is_named(usual, tmp_path, form, fault):
    named = {"QDQ": "n_t2", "QOperator": "n_t2_quant"}[form]
    good = converted.bent(tmp_path / "good.onnx", "CRCRC")
    made = converted.static(good, tmp_path / "int8.onnx", form)
    weight, factor = ("2.weight_scale", 1.3) if fault == "scale" else ("2.bias_quantized", 0)
    converted.edited(made, made, converted.scaled(weight, factor))
    done, found = usual("locate", made, good)
    assert (done.status, found["operator"]["name"]) == (1, named), found["sentence"]


def test_codes_of_a_file_are_compared_as_the_numbers_they_stand_for(usual, tmp_path):
    good = converted.stacked(tmp_path / "good.onnx")
    done, found = usual("locate", converted.static(good, tmp_path / "int8.onnx", "QOperator"), good)
    assert "hold codes and are compared as the numbers they stand for" in done.out
    row = next(row for row in found["tensors"] if row["tensor"] == "product1_quantized")
    assert row["counterpart"] == "product1"
    assert row["type"].startswith("float32")
    assert row["relative_error"] < 0.05


@pytest.mark.parametrize("form", FORMS)
def test_a_normalisation_that_was_folded_before_quantising_is_not_accused(usual, tmp_path, form):
    def change(model: onnx.ModelProto) -> None:
        graph, rng = model.graph, np.random.default_rng(9)
        for place in (0, 2):
            conv = next(node for node in graph.node if f"t{place}" in node.output)
            conv.output[0] = f"raw{place}"
            names = [f"{place}.{part}" for part in ("scale", "shift", "mean", "variance")]
            for name in names:
                values = rng.random(5).astype(np.float32) + np.float32(0.5)
                graph.initializer.append(onnx.numpy_helper.from_array(values, name))
            norm = converted.node("BatchNormalization", " ".join([f"raw{place}", *names]), f"t{place}")
            norm.name = f"norm{place}"
            graph.node.insert(list(graph.node).index(conv) + 1, norm)

    good = converted.edited(converted.bent(tmp_path / "plain.onnx", "CRCRC"), tmp_path / "good.onnx", change)
    ready = converted.optimised(good, tmp_path / "ready.onnx", "ORT_ENABLE_BASIC")
    assert "BatchNormalization" not in {node.op_type for node in onnx.load(ready).graph.node}
    done, found = usual("locate", converted.static(ready, tmp_path / "int8.onnx", form), good)
    assert done.status == 0, found["sentence"]


def test_a_saved_run_is_compared_behind_the_codes(polycmp, usual, tmp_path):
    good = converted.bent(tmp_path / "good.onnx", "CRC")
    made = converted.static(good, tmp_path / "int8.onnx")
    usual("run", good, good, "--mark-all", "--save-outputs", "saved.npz")
    done = polycmp("locate", made, "-b", "onnxrt", "--load-outputs", "saved.npz", "--load-inputs", "usual.npz")
    assert done.status == 0, done.out


def test_a_tensor_that_is_made_twice_is_told(polycmp, tmp_path):
    good = converted.bent(tmp_path / "good.onnx", "CRSC")
    twice = converted.edited(
        good, tmp_path / "twice.onnx", lambda model: model.graph.node[2].output.__setitem__(0, "y")
    )
    done = polycmp("locate", twice, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}")
    assert done.status == 3
    assert "two operators make 'y'" in done.err
    assert "polycmp check lint" in done.err


# --- 16 bits


@pytest.mark.parametrize("kind", ["QInt16", "QUInt16"])
def test_codes_of_16_bits_by_operators_of_microsoft_are_rounding(usual, tmp_path, kind):
    good = converted.stacked(tmp_path / "good.onnx")
    options = {"activation_type": QuantType[kind], "weight_type": QuantType.QInt8}
    made = converted.static(good, tmp_path / "int16.onnx", extra_options={"UseQDQContribOps": True}, **options)
    assert {node.domain for node in onnx.load(made).graph.node if node.op_type == "QuantizeLinear"} == {"com.microsoft"}
    done, found = usual("locate", made, good)
    assert done.status == 0, found["sentence"]
    paired = {row["tensor"] for row in found["tensors"]}
    assert "x_DequantizeLinear_Output" in paired
    assert "x_QuantizeLinear_Output" not in paired


# --- what optimisers leave


def test_a_normalisation_folded_into_a_convolution_of_its_name_leads_to_no_other_operator(usual, tmp_path):
    def normalised(model: onnx.ModelProto) -> None:
        graph = model.graph
        for name in ("scale", "shift", "mean", "variance"):
            graph.initializer.append(onnx.numpy_helper.from_array(np.full(5, 1.5, np.float32), name))
        norm = converted.node("BatchNormalization", "t0 scale shift mean variance", "norm")
        graph.node[1].input[0] = "norm"
        graph.node.insert(1, norm)

    plain = converted.bent(tmp_path / "plain.onnx", "CRCRC")
    good = converted.edited(plain, tmp_path / "good.onnx", normalised)
    factor, moved = np.float32(1.5 / np.sqrt(1.5 + 1e-5)), np.float32(1.5 * (1 - 1.5 / np.sqrt(1.5 + 1e-5)))

    def folded(model: onnx.ModelProto) -> None:
        converted.scaled("0.weight", factor)(model)
        item = converted.weight(model, "0.bias")
        item.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(item) * factor + moved, "0.bias"))

    made = converted.edited(plain, tmp_path / "made.onnx", folded)
    done, found = usual("locate", made, good)
    assert done.status == 0, found["sentence"]
    converted.edited(made, made, converted.scaled("2.weight", 1.3))
    done, found = usual("locate", made, good)
    assert (done.status, found["operator"]["name"]) == (1, "n_t2"), found["sentence"]


@pytest.mark.parametrize("wrong", ["0.weight", "2.weight"])
def test_of_operators_on_tensors_in_blocks_of_channels_none_alone_is_called_wrong(usual, tmp_path, wrong):
    rng = np.random.default_rng(3)
    weights = {"0.weight": rng.standard_normal((16, 5, 1, 3)).astype(np.float32) / 3, "deep": np.array([0, 5, 1, -1])}
    weights |= {"2.weight": rng.standard_normal((5, 16, 1, 3)).astype(np.float32) / 3, "flat": np.array([0, 5, -1])}
    nodes = [
        converted.node("Reshape", "x deep", "image"),
        converted.node("Conv", "image 0.weight", "t0", pads=[0, 1, 0, 1]),
        converted.node("Relu", "t0", "t1"),
        converted.node("Conv", "t1 2.weight", "t2", pads=[0, 1, 0, 1]),
        converted.node("Reshape", "t2 flat", "y"),
    ]
    good = converted.save(tmp_path / "good.onnx", nodes, weights)
    made = converted.optimised(converted.edited(good, tmp_path / "bad.onnx", converted.scaled(wrong, 1.3)),
                           tmp_path / "made.onnx", "ORT_ENABLE_ALL")  # fmt: skip
    done, found = usual("locate", made, good)
    assert (done.status, len(found["operator"]["one_of"])) == (1, 2), found["sentence"]
    assert f"one of {' and '.join(found['operator']['one_of'])}" in found["sentence"]
    assert "shape" not in found["sentence"]


@pytest.mark.parametrize("signed", [True, False])
def test_a_recurrent_operator_that_rounds_while_it_runs_is_not_accused(usual, tmp_path, signed):
    rng = np.random.default_rng(2)
    weights = {"w": rng.standard_normal((1, 4 * converted.WIDTH, converted.WIDTH)).astype(np.float32) / 4}
    weights |= {"r": rng.standard_normal((1, 4 * converted.WIDTH, converted.WIDTH)).astype(np.float32) / 4}
    weights |= {"axis": np.array([1], np.int64), **converted.weights_of(1)}
    nodes = [
        converted.node("LSTM", "x w r", "all", hidden_size=converted.WIDTH),
        converted.node("Squeeze", "all axis", "s"),
        converted.node("MatMul", "s 0.up.weight", "y"),
    ]
    good = converted.save(tmp_path / "good.onnx", nodes, weights)
    made = converted.dynamic_int8(good, tmp_path / "int8.onnx", signed=signed)
    assert "DynamicQuantizeLSTM" in {node.op_type for node in onnx.load(made).graph.node}
    done, found = usual("locate", made, good)
    assert done.status == 0, found["sentence"]


def recurrent(path: Path, *, fault: float = 1.0) -> Path:
    """Write a quantised LSTM that amplifies each step of 8 bits until its state is another one."""
    rng = np.random.default_rng(2)
    hidden = 128
    weights = {
        "w": rng.standard_normal((1, 4 * hidden, 16)).astype(np.float32) / 4,
        "r": (4 * rng.standard_normal((1, 4 * hidden, hidden)) / np.sqrt(hidden)).astype(np.float32),
    }
    lstm = helper.make_node("LSTM", ["x", "w", "r"], ["all"], hidden_size=hidden)
    sizes = [("x", FLOAT, [200, 1, 16])], [("all", FLOAT, [200, 1, 1, hidden])]
    onnx.save(graph_model([lstm], *sizes, list(weights.items())), path)
    quantize_dynamic(path, path, op_types_to_quantize=["LSTM"], reduce_range=True)  # no processor saturates
    made = onnx.load(path)
    for initializer in made.graph.initializer:
        if initializer.name.startswith("r_") and initializer.name.endswith("scale"):
            initializer.CopyFrom(numpy_helper.from_array(fault * numpy_helper.to_array(initializer), initializer.name))
    onnx.save(made, path)
    return path


@pytest.mark.parametrize(("fault", "status", "named"), [(1.0, 0, ""), (np.float32(1.1), 1, "DynamicQuantizeLSTM")])
def test_a_state_that_a_tie_in_8_bits_turns_into_another_is_no_fault_and_one_that_is_off_at_once_is(
    polycmp, tmp_path, fault, status, named
):
    good = recurrent(tmp_path / "good.onnx")
    made = recurrent(tmp_path / "made.onnx", fault=fault)
    done = polycmp("locate", made, "-b", "onnxrt", "-b", f"onnx:model={good}", "--report", "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert done.status == status, found["sentence"]
    assert named in found["sentence"]


def on_an_offset(path: Path, offset: float) -> Path:
    """Write a network whose signal lies on an offset that is taken off again behind two products."""
    rng = np.random.default_rng(0)
    first, second = (rng.normal(size=(16, 16)).astype(np.float32) / 4 for _ in range(2))
    held = np.full(16, offset, np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["hidden"]),
        helper.make_node("Add", ["hidden", "held"], ["lifted"]),
        helper.make_node("MatMul", ["lifted", "second"], ["mixed"]),
        helper.make_node("Sub", ["mixed", "taken"], ["lowered"]),
        helper.make_node("Tanh", ["lowered"], ["y"]),
    ]
    weights = [("first", first), ("second", second), ("held", held), ("taken", held @ second)]
    onnx.save(graph_model(nodes, [("x", FLOAT, [4, 16])], [("y", FLOAT, [4, 16])], weights), path)
    return path


@pytest.mark.parametrize(("offset", "status", "word"), [(0.5, 0, "passed"), (10.0, 1, "failed")])
def test_steps_that_take_more_than_half_of_the_outputs_fail_in_every_command(polycmp, tmp_path, offset, status, word):
    good = on_an_offset(tmp_path / "good.onnx", offset)
    made = converted.dynamic_int8(good, tmp_path / "int8.onnx")
    for words in (["locate"], ["run", "--tolerance", "auto"]):
        done = polycmp(
            words[0], made, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}", *words[1:],
            "--report", "found.json",
        )  # fmt: skip
        found = json.loads((tmp_path / "found.json").read_text())
        assert (done.status, found["verdict"]) == (status, word), done.out


def test_a_wrong_scale_that_the_outputs_do_not_show_is_told_and_not_called_rounding(polycmp, tmp_path):
    rng = np.random.default_rng(0)
    first, second = (rng.normal(size=(16, 16)).astype(np.float32) / 4 for _ in range(2))
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "second"], ["mixed"], name="mixing"),
        helper.make_node("Min", ["mixed", "low"], ["y"]),
    ]
    weights = [("first", first), ("second", second), ("low", np.full(1, -99, np.float32))]
    good = tmp_path / "good.onnx"
    onnx.save(graph_model(nodes, [("x", FLOAT, [4, 16])], [("y", FLOAT, [4, 16])], weights), good)
    made = converted.dynamic_int8(good, tmp_path / "int8.onnx")
    converted.edited(made, made, converted.scaled("second_scale", 1.6))
    pair = (made, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}")
    done = polycmp("locate", *pair)
    said = " ".join(done.out.split())
    assert done.status == 1, done.out
    assert "computes 'mixed'" in said and "even so, the outputs are within tolerance" in said, done.out
    assert "no more than rounding" not in said
    assert polycmp("run", *pair, "--mark-all").status == 1


@pytest.mark.parametrize("form", FORMS)
def test_weights_that_are_rounded_once_for_rows_that_are_alike_are_no_fault(polycmp, tmp_path, form):
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["hidden"], name="first"),
        helper.make_node("MatMul", ["hidden", "v"], ["y"], name="second"),
    ]
    w, v = (rng.normal(size=size).astype(np.float32) for size in ((converted.WIDTH, 140), (140, 8)))
    w[0, 0] = 20.0  # which makes the steps of all others coarse
    good, sizes = tmp_path / "good.onnx", ([2, 5, converted.WIDTH], [2, 5, 8])
    onnx.save(graph_model(nodes, [("x", FLOAT, sizes[0])], [("y", FLOAT, sizes[1])], [("w", w), ("v", v)]), good)
    feed = rng.normal(size=converted.WIDTH) + 0.01 * rng.normal(size=sizes[0])
    np.savez(tmp_path / "alike.npz", x=feed.astype(np.float32))
    made = converted.static(good, tmp_path / "int8.onnx", form)
    done = polycmp(
        "run", made, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}",
        "--load-inputs", "alike.npz", "--mark-all",
    )  # fmt: skip
    assert done.status == 3, done.out  # a twentieth of the spread and more, which nobody can tell from a small fault


@pytest.mark.parametrize("command", [("locate",), ("run", "--mark-all")], ids=" ".join)
def test_a_weight_with_one_step_for_channels_that_were_multiplied_by_far_different_factors_is_good(
    usual, tmp_path, command
):
    rng, node = np.random.default_rng(3), helper.make_node
    edges = rng.standard_normal((32, 1, 9)).astype(np.float32)
    edges -= edges.mean(axis=2, keepdims=True)  # of which rounding leaves a sum, that all numbers around 3 show
    weights = [
        ("w", (rng.standard_normal((32, 5, 1)) / 4).astype(np.float32)), ("b", np.full(32, 3, np.float32)),
        ("d", edges), ("gamma", np.geomspace(0.2, 10, 32).astype(np.float32)),
        ("beta", np.zeros(32, np.float32)), ("mean", np.zeros(32, np.float32)), ("variance", np.ones(32, np.float32)),
        ("v", (rng.standard_normal((5, 32, 1)) / 40).astype(np.float32)),
    ]  # fmt: skip
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], name="wide"), node("Relu", ["c"], ["r"], name="relu"),
        node("Conv", ["r", "d"], ["raw"], name="depthwise", group=32, pads=[4, 4]),
        node("BatchNormalization", ["raw", "gamma", "beta", "mean", "variance"], ["t"], name="norm"),
        node("Conv", ["t", "v"], ["y"], name="last"),
    ]  # fmt: skip
    size, good = [2, 5, converted.WIDTH], tmp_path / "good.onnx"
    onnx.save(graph_model(nodes, [("x", FLOAT, size)], [("y", FLOAT, size)], weights), good)
    ready = converted.optimised(good, tmp_path / "ready.onnx", "ORT_ENABLE_BASIC")
    assert "BatchNormalization" not in {item.op_type for item in onnx.load(ready).graph.node}
    made = converted.static(ready, tmp_path / "int8.onnx", "QDQ")
    done, found = usual(command[0], made, good, *command[1:])
    accused = [row for row in outputs_of(found).values() if row["verdict"] == "failed"] if len(command) > 1 else []
    assert done.status in {0, 3} and not accused, done.out


def test_numbers_that_rounding_makes_nan_of_are_undecided_and_no_fault(usual, tmp_path):
    rng, node = np.random.default_rng(3), helper.make_node
    weights = [
        ("w", rng.standard_normal((converted.WIDTH, 8)).astype(np.float32)),
        ("tiny", np.full(1, 1e-4, np.float32)),
    ]
    nodes = [
        node("MatMul", ["x", "w"], ["z"], name="z"), node("Relu", ["z"], ["r"], name="r"),
        node("Add", ["r", "tiny"], ["a"], name="a"), node("Log", ["a"], ["l"], name="l"),
        node("Sigmoid", ["l"], ["y"], name="y"),
    ]  # fmt: skip
    good, sizes = tmp_path / "good.onnx", ([2, 5, converted.WIDTH], [2, 5, 8])
    onnx.save(graph_model(nodes, [("x", FLOAT, sizes[0])], [("y", FLOAT, sizes[1])], weights), good)
    done, _ = usual("run", converted.static(good, tmp_path / "int8.onnx", "QDQ"), good, "--tolerance", "auto")
    assert done.status in {0, 3}, done.out
    assert "estimated" not in done.out


def cancelling(path: Path) -> Path:
    """Write a network that takes two products of nearly the same size from each other, and adds another signal."""
    rng = np.random.default_rng(0)
    one = rng.standard_normal((64, 32)).astype(np.float32)
    two = one + 0.005 * rng.standard_normal(one.shape).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "one"], ["a"]),
        helper.make_node("MatMul", ["x", "two"], ["b"]),
        helper.make_node("Sub", ["a", "b"], ["apart"]),
        helper.make_node("Tanh", ["z"], ["level"]),
        helper.make_node("Add", ["apart", "level"], ["y"]),
    ]
    inputs = [("x", FLOAT, [8, 64]), ("z", FLOAT, [8, 32])]
    onnx.save(graph_model(nodes, inputs, [("y", FLOAT, [8, 32])], [("one", one), ("two", two)]), path)
    return path


@pytest.mark.parametrize("command", ["locate", "run"])
def test_a_tensor_inside_that_is_all_noise_leaves_the_outputs_to_decide(polycmp, tmp_path, command):
    """A seventh of what the output varies by is noise, and every operator is right by itself, as is every constant."""
    good = cancelling(tmp_path / "good.onnx")
    quantize_dynamic(good, tmp_path / "int8.onnx")
    more = ["--mark-all"] if command == "run" else []
    done = polycmp(command, "int8.onnx", "-b", "onnxrt", "-b", f"onnxrt:name=float,model={good}", *more)
    assert done.status == 0, done.out
