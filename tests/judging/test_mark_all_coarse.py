"""`run --mark-all` and `locate` of a file in float16 or bfloat16: rounding passes at any depth, a factor does not."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from in_parts import a_few
from onnx import TensorProto, helper
from small_models import graph_model

WIDTH = 32


def chain(operators: int) -> onnx.ModelProto:
    """Return x [16,32] -> (MatMul, Add, Tanh, Mul) in turn -> MatMul, Mul."""
    rng, nodes, weights, source = np.random.default_rng(1), [], [], "x"
    node = helper.make_node
    for index in range(operators // 4):
        weights += [
            (f"w{index}", (rng.standard_normal((WIDTH, WIDTH)) * 1.2 / WIDTH**0.5).astype(np.float32)),
            (f"b{index}", (rng.standard_normal(WIDTH) * 0.1).astype(np.float32)),
            (f"s{index}", np.ones(1, np.float32)),
        ]
        nodes += [
            node("MatMul", [source, f"w{index}"], [f"m{index}"], name=f"m{index}"),
            node("Add", [f"m{index}", f"b{index}"], [f"a{index}"], name=f"a{index}"),
            node("Tanh", [f"a{index}"], [f"t{index}"], name=f"t{index}"),
            node("Mul", [f"t{index}", f"s{index}"], [f"u{index}"], name=f"u{index}"),
        ]
        source = f"u{index}"
    last = (rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32)
    weights += [("last", last), ("scale", np.full(1, 1.5, np.float32))]
    nodes += [
        node("MatMul", [source, "last"], ["logits"], name="logits"),
        node("Mul", ["logits", "scale"], ["y"], name="y"),
    ]
    shape = [16, WIDTH]
    return graph_model(nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)], weights)


@pytest.fixture
def against(polycmp, tmp_path):
    """Run a command with a file in a type, one of whose weights was changed, and the file in float32."""

    def run(command: str, operators: int, kind: str, weight: str = "", factor: float = 1.0, column: int | None = None):
        onnx.save(chain(operators), tmp_path / "old.onnx")
        assert polycmp("convert", "old.onnx", f"--fp-to-{kind}", "-o", "new.onnx").status == 0
        model = onnx.load(tmp_path / "new.onnx")
        for tensor in model.graph.initializer:
            if weight and tensor.name.startswith(weight):
                array = onnx.numpy_helper.to_array(tensor).copy()
                part = ... if column is None else (..., column)
                array[part] = (array[part].astype(np.float32) * factor).astype(array.dtype)
                tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
        onnx.save(model, tmp_path / "new.onnx")
        more = ["--mark-all"] if command == "run" else []
        return polycmp(command, "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", *more)

    return run


@pytest.mark.parametrize("kind", a_few(["fp16", "bf16"]))
@pytest.mark.parametrize("operators", a_few([4, 40, 128], 2))
def test_a_good_file_passes_however_small_or_deep(against, operators, kind):
    done = against("run", operators, kind)
    assert done.status == 0, done.out
    assert "pairs of tensors" in done.out or "paired" in done.out
    assert against("locate", operators, kind).status == 0


@pytest.mark.parametrize(
    ("weight", "factor", "column"),
    [
        ("scale", 0.9, None),
        pytest.param("scale", 0.6, None, marks=pytest.mark.corpus),
        pytest.param("s5", 0.8, None, marks=pytest.mark.corpus),
        ("last", 1.6, 3),
        ("b5", 4.0, None),
    ],
)
@pytest.mark.parametrize("kind", a_few(["fp16", "bf16"]))
def test_what_keeps_a_factor_or_a_shift_passes_at_no_depth(against, kind, weight, factor, column):
    done = against("run", 40, kind, weight, factor, column)
    assert done.status != 0, done.out


@pytest.mark.parametrize(
    ("weight", "factor", "column"),
    [
        ("scale", 0.95, None),
        *(
            pytest.param(*what, marks=pytest.mark.corpus)
            for what in (("s29", 0.9, None), ("last", 1.6, 3), ("b31", 2.0, None))
        ),
    ],
)
def test_no_depth_lets_half_of_an_error_pass(against, weight, factor, column):
    done = against("run", 128, "bf16", weight, factor, column)
    assert done.status != 0, done.out


@pytest.mark.parametrize("share", a_few([0.4, 1.0]))
def test_an_output_may_not_be_off_by_as_much_as_a_wide_bound_says(polycmp, tmp_path, share):
    """Rounding is amplified in 42 operators, so that the bound is a third of all that the output varies by."""
    rng, nodes, weights, source, node = np.random.default_rng(0), [], [], "x", helper.make_node
    for index in range(14):
        factors = (1 + 0.05 * rng.standard_normal(64)).astype(np.float32)
        weights += [
            (f"w{index}", (np.eye(64) + rng.standard_normal((64, 64)) / 64).astype(np.float32)),
            (f"b{index}", (rng.standard_normal(64) * 0.1).astype(np.float32)),
            (f"f{index}", factors),
        ]
        nodes += [
            node("MatMul", [source, f"w{index}"], [f"m{index}"], name=f"m{index}"),
            node("Add", [f"m{index}", f"b{index}"], [f"a{index}"], name=f"a{index}"),
            node("Mul", [f"a{index}", f"f{index}"], [f"y{index}"], name=f"y{index}"),
        ]
        source = f"y{index}"
    kinds = [("x", TensorProto.FLOAT, [8, 64])], [(source, TensorProto.FLOAT, [8, 64])]
    onnx.save(graph_model(nodes, *kinds, weights), tmp_path / "old.onnx")
    factors[5] *= np.float32(share)
    onnx.save(graph_model(nodes, *kinds, [*weights[:-1], ("f13", factors)]), tmp_path / "float.onnx")
    assert polycmp("convert", "float.onnx", "--fp-to-bf16", "-o", "new.onnx").status == 0
    done = polycmp("run", "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", "--mark-all")
    assert (done.status == 0) == (share == 1.0), done.out


def test_the_files_tell_what_lies_below_the_rounding_of_every_operator(against):
    """A bias 3 % too large is less than 16 roundings of the operator that adds it."""
    for command in ("run", "locate"):
        done = against(command, 40, "fp16", "b5", 1.03)
        assert (done.status, "another network: the constant 'b5'" in " ".join(done.out.split())) == (1, True), done.out


@pytest.mark.parametrize("factor", a_few([0.97, 0.9]))
def test_locate_names_the_operator_of_a_factor_beside_more_noise(against, factor):
    done = against("locate", 40, "bf16", "scale", factor)
    assert done.status == 1, done.out
    assert "Mul 'y'" in done.out
    assert "is a factor common to a whole row" in " ".join(done.out.split())


@pytest.fixture
def seven_bits(tmp_path):
    """Write x -> MatMul -> Tanh -> MatMul with weights from 0 on, and the same with weights of seven bits, by scale."""
    rng = np.random.default_rng(3)
    exact = {name: rng.uniform(0, 2.0**-3, (64, 64)).astype(np.float32) for name in ("v", "w")}
    for weight in exact.values():
        weight[:, :8] *= 2.0**-4  # less than half a step of the whole: seven bits leave nothing of them
        weight[0, 8] = 1.0
    x, y = (("x", TensorProto.FLOAT, [8, 64])), (("y", TensorProto.FLOAT, [8, 64]))
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["a"], name="first"),
        helper.make_node("Tanh", ["a"], ["b"], name="tanh"),
        helper.make_node("MatMul", ["b", "w"], ["y"], name="second"),
    ]
    onnx.save(graph_model(nodes, [x], [y], exact.items()), tmp_path / "old.onnx")

    def write(target: str, factor: float = 1.0) -> None:
        before, held = [], []
        for name, weight in exact.items():
            scale = np.float32(2.0 * weight.max() / 127)
            codes = np.rint(weight / scale).astype(np.int8)
            off = factor if name == "w" else 1.0
            held += [(f"{name}_quantized", codes), (f"{name}_scale", np.float32(scale * off))]
            before += [helper.make_node("DequantizeLinear", [f"{name}_quantized", f"{name}_scale"], [f"{name}_back"])]
        for node in nodes:
            node.input[:] = [f"{name}_back" if name in exact else name for name in node.input]
        onnx.save(graph_model([*before, *nodes], [x], [y], held), tmp_path / target)

    return write


@pytest.mark.parametrize("how", [["run", "--mark-all"], ["run", "--tolerance", "auto"], ["locate"]])
def test_weights_of_seven_bits_pass_and_a_wrong_scale_of_them_does_not(polycmp, seven_bits, how):
    words = ["-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", *how[1:]]
    seven_bits("good.onnx")
    seven_bits("bad.onnx", 1.3)
    done = polycmp(how[0], "good.onnx", *words)
    assert done.status == 0 or "UNDECIDED" in done.out, done.out
    done = polycmp(how[0], "bad.onnx", *words)
    assert done.status == 1, done.out


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (1.02, 1)])
def test_models_of_the_same_operators_whose_weights_alone_have_other_types_are_judged_by_rounding(
    polycmp, tmp_path, factor, status
):
    rows = np.random.default_rng(2).standard_normal((8, WIDTH)).astype(np.float32)

    def save(name, table):
        node = helper.make_node
        nodes = [
            node("Gather", ["table", "x"], ["row"]),
            node("Cast", ["row"], ["half"], to=TensorProto.FLOAT16),
            node("Relu", ["half"], ["y"]),
        ]
        sizes = [("x", TensorProto.INT64, [16])], [("y", TensorProto.FLOAT16, [16, WIDTH])]
        onnx.save(graph_model(nodes, *sizes, [("table", table)]), tmp_path / name)

    save("good.onnx", rows)
    save("made.onnx", (rows * factor).astype(np.float16))
    good = "onnxrt:name=old,model=good.onnx"
    done = polycmp("run", "made.onnx", "-b", "onnxrt:name=new", "-b", good, "--mark-all")
    assert done.status == status, done.out
