"""The backend `onnx`: its contract, its types, its errors, and operators of one's own."""

from __future__ import annotations

import gc
import itertools
import weakref

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference.op_run import OpRun

from polycmp.errors import BackendError, ModelError, UsageError
from polycmp.testing.runners import RunnerContract
from polycmp_onnx import OnnxFromPath, ReferenceRunner
from polycmp_onnx.plugin import RunnerOptions
from polycmp_onnx.runner import make_runner

F32 = TensorProto.FLOAT


def infer(model, feed, dtype="", new_ops=()):
    with ReferenceRunner(model, dtype, new_ops) as runner:
        return runner.infer(feed)


class TestContract(RunnerContract):
    capabilities = frozenset({"dynamic_shapes", "broken_model", "failing_inference"})

    @pytest.fixture(autouse=True)
    def _model(self, make_model, tmp_path):
        nodes = [
            helper.make_node("Identity", ["x"], ["same"]),
            helper.make_node("Identity", ["same"], ["again"]),
            helper.make_node("Add", ["x", "k"], ["more"]),
            helper.make_node("Identity", ["w"], ["weight"]),
        ]
        outputs = [("same", F32, ["n", 3]), ("again", F32, ["n", 3]), ("more", F32, ["n", 3]), ("weight", F32, [3])]
        inputs = [("x", F32, ["n", 3]), ("k", F32, ["m", 3])]
        self.weight = np.array([1, 2, 3], np.float32)
        model = make_model(nodes, inputs, outputs, {"w": self.weight})
        self.file = tmp_path / "model.onnx"
        onnx.save(model, str(self.file))

    def load(self):
        return onnx.load(str(self.file))

    def load_broken(self):
        return OnnxFromPath(__file__)()

    def make_runner(self, load):
        return ReferenceRunner(load)

    def feeds(self):
        return [{name: np.full((2, 3), number, np.float32) for name in "xk"} for number in (1, 2, 3)]

    def other_shapes(self):
        return {"x": np.ones((5, 3), np.float32), "k": np.ones((1, 3), np.float32)}

    def failing_feed(self):
        return {"x": np.ones((5, 3), np.float32), "k": np.ones((2, 3), np.float32)}

    def expected(self, feed):
        return {"same": feed["x"], "again": feed["x"], "more": feed["x"] + feed["k"], "weight": self.weight}


# --- types


@pytest.mark.parametrize(
    "kind",
    [
        "BFLOAT16",
        "FLOAT16",
        "DOUBLE",
        "FLOAT8E4M3FN",
        "FLOAT8E5M2",
        "INT4",
        "UINT4",
        "INT8",
        "UINT64",
        "BOOL",
        "COMPLEX64",
    ],
)
def test_tensors_of_every_type_pass(one_node, kind):
    code = getattr(TensorProto, kind)
    element = helper.tensor_dtype_to_np_dtype(code)
    x = np.array([0, 1, 1, 0]).astype(element)
    model = one_node("Identity", [x], out_type=code, opset=21)
    with ReferenceRunner(model) as runner:
        assert runner.get_input_metadata()["i0"].dtype == element
        result = runner.infer({"i0": x})["o0"]
    assert result.dtype == element
    np.testing.assert_array_equal(result.view(np.uint8), x.view(np.uint8))


def test_strings(one_node):
    x = np.array(["a", "bc"], dtype=object)
    model = one_node("StringConcat", [x, x], out_type=TensorProto.STRING, opset=20)
    y = infer(model, {"i0": x, "i1": x})["o0"]
    assert y.dtype == object
    assert list(y) == ["aa", "bcbc"]


@pytest.mark.parametrize("op_type", ["Softmax", "Exp", "GlobalAveragePool", "Erf"])
def test_bfloat16_models_run_where_numpy_cannot(one_node, op_type):
    x = np.linspace(-2, 2, 24).reshape(1, 2, 3, 4).astype(ml_dtypes.bfloat16)
    y = infer(one_node(op_type, [x], out_type=TensorProto.BFLOAT16, opset=22), {"i0": x})["o0"]
    wide = infer(one_node(op_type, [x.astype(np.float32)], opset=22), {"i0": x.astype(np.float32)})["o0"]
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(y.astype(np.float32), wide, rtol=0.02, atol=0.01)


def test_unknown_dimensions_are_names_or_minus_one(make_model):
    node = helper.make_node("Identity", ["x"], ["y"])
    model = make_model([node], [("x", F32, ["n", None, 3])], [("y", F32, None)])
    with ReferenceRunner(model) as runner:
        assert runner.get_input_metadata()["x"].shape == ("n", -1, 3)


def test_weights_listed_as_inputs_need_no_data(mlp, feed):
    mlp.graph.input.append(helper.make_tensor_value_info("w", F32, [8, 4]))
    assert infer(mlp, feed)["y"].shape == (3, 4)


# --- errors


@pytest.mark.parametrize("inside", [False, True])
def test_an_operator_that_is_lacking_is_named(make_model, inside):
    node = helper.make_node("Warp", ["x"], ["y"], name="warp_7", domain="acme")
    if inside:
        node.output[0] = "inner"
        branch = helper.make_graph([node], "b", [], [helper.make_tensor_value_info("inner", F32, None)])
        node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    inputs = [("x", F32, [1]), ("c", TensorProto.BOOL, [])]
    model = make_model([node], inputs, [("y", F32, [1])], acme=1)
    with pytest.raises(BackendError) as caught:
        ReferenceRunner(model).activate()
    for word in ("Warp", "acme", "warp_7"):
        assert word in caught.value.what
    assert caught.value.exit_code == 3


def test_a_domain_without_a_version_is_an_error(make_model):
    model = make_model(
        [helper.make_node("Warp", ["x"], ["y"], domain="acme")], [("x", F32, [1])], [("y", F32, [1])], acme=1
    )
    del model.opset_import[1]
    with pytest.raises(BackendError, match="Warp of domain acme"):
        ReferenceRunner(model).activate()


def test_an_operator_that_fails_is_named(make_model):
    node = helper.make_node("Reshape", ["x", "shape"], ["y"], name="reshape_3")
    model = make_model([node], [("x", F32, ["n"])], [("y", F32, None)], {"shape": np.array([2, 2], np.int64)})
    with pytest.raises(BackendError, match="operator Reshape") as caught:
        infer(model, {"x": np.ones(3, np.float32)})
    assert "reshape_3" in caught.value.what
    assert "cannot reshape" in caught.value.why


def test_a_sequence_as_output_is_a_list_of_arrays():
    node = helper.make_node("SequenceConstruct", ["x", "x"], ["q"])
    sequence = helper.make_tensor_sequence_value_info("q", F32, None)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", F32, [1])], [sequence])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    made = infer(model, {"x": np.ones(1, np.float32)})["q"]
    assert [item.tolist() for item in made] == [[1.0], [1.0]]


def test_a_model_without_its_weights_is_an_error(mlp, tmp_path):
    from polycmp_onnx import onnx_from_path, save_onnx

    save_onnx(mlp, tmp_path / "m.onnx", external_data_path="", size_threshold=1)
    structure = onnx_from_path(tmp_path / "m.onnx", ignore_external_data=True)
    with pytest.raises(ModelError, match="weights"):
        ReferenceRunner(structure).activate()


def test_an_unknown_precision_is_wrong_usage(mlp):
    with pytest.raises(UsageError, match="float63"):
        ReferenceRunner(mlp, "float63").activate()


# --- operators of one's own


class Warp(OpRun):
    op_domain = "acme"

    def _run(self, x, factor=1.0):
        return (x * np.float32(factor),)


def test_new_operators_work_in_graphs_and_functions(make_model):
    inner = helper.make_node("Warp", ["v"], ["out"], domain="acme", factor=3.0)
    function = helper.make_function("acme", "Twice", ["v"], ["out"], [inner], [helper.make_opsetid("acme", 1)])
    node = helper.make_node("Twice", ["x"], ["y"], domain="acme")
    model = make_model([node], [("x", F32, [1])], [("y", F32, [1])], acme=1)
    model.functions.append(function)
    assert infer(model, {"x": np.ones(1, np.float32)}, new_ops=[Warp])["y"] == 3


@pytest.mark.parametrize(
    ("op", "attribute", "kind", "value", "right"),
    [
        ("LeakyRelu", "alpha", onnx.AttributeProto.FLOAT, 0.5, [-0.5, 2]),
        ("Elu", "alpha", onnx.AttributeProto.FLOAT, 2.0, [2 * np.expm1(-1), 2]),
        ("Softmax", "axis", onnx.AttributeProto.INT, 0, [1 / (1 + np.exp(3)), 1 / (1 + np.exp(-3))]),
        ("Transpose", "perm", onnx.AttributeProto.INTS, [0], [-1, 2]),
    ],
)
def test_an_operator_of_a_function_takes_its_attribute_under_another_name(
    make_model, op, attribute, kind, value, right
):
    inner = helper.make_node(op, ["v"], ["out"])
    inner.attribute.append(onnx.AttributeProto(name=attribute, ref_attr_name="given", type=kind))
    function = helper.make_function("acme", "Own", ["v"], ["out"], [inner], [helper.make_opsetid("", 17)], ["given"])
    node = helper.make_node("Own", ["x"], ["y"], domain="acme", given=value)
    model = make_model([node], [("x", F32, [2])], [("y", F32, [2])], acme=1)
    model.functions.append(function)
    made = infer(model, {"x": np.array([-1, 2], np.float32)})["y"]
    assert made == pytest.approx(np.array(right), rel=1e-6)


def test_operators_from_a_script(make_model, tmp_path):
    script = tmp_path / "operators.py"
    script.write_text(
        "from onnx.reference.op_run import OpRun\n"
        "class Warp(OpRun):\n"
        "    op_domain = 'acme'\n"
        "    def _run(self, x):\n"
        "        return (x + 1,)\n"
        "new_ops = [Warp]\nwrong = 3\n"
    )
    model = make_model(
        [helper.make_node("Warp", ["x"], ["y"], domain="acme")], [("x", F32, [1])], [("y", F32, [1])], acme=1
    )

    class Given:
        def load(self, kind):
            assert kind == "onnx"
            return lambda: model

    for ops in (str(script), f"{script}:Warp"):
        with make_runner(Given(), RunnerOptions(ops=(ops,)), name="mine") as runner:
            assert runner.name == "mine"
            assert runner.infer({"x": np.ones(1, np.float32)})["y"] == 2
    with pytest.raises(UsageError, match="OpRun"):
        make_runner(Given(), RunnerOptions(ops=(f"{script}:wrong",)), name="")


def test_tensors_are_freed_as_soon_as_nothing_reads_them(make_model):
    seen = []

    class Watch(OpRun):
        op_domain = "acme"

        def _run(self, x):
            gc.collect()
            seen.append(sum(item() is not None for item in alive))
            y = x + 1
            alive.append(weakref.ref(y))
            return (y,)

    alive = []
    names = ["x", *(f"t{index}" for index in range(6))]
    nodes = [helper.make_node("Watch", [a], [b], domain="acme") for a, b in itertools.pairwise(names)]
    model = make_model(nodes, [("x", F32, [1])], [("t5", F32, [1])], acme=1)
    infer(model, {"x": np.ones(1, np.float32)}, new_ops=[Watch])
    assert max(seen) == 1


def test_an_output_that_nobody_names_is_no_input_that_is_left_out(make_model):
    nodes = [helper.make_node("Dropout", ["x"], ["d", ""]), helper.make_node("Clip", ["d", "", "high"], ["y"])]
    model = make_model(nodes, [("x", F32, [2])], [("y", F32, [2])], {"high": np.array(0.75, np.float32)})
    made = infer(model, {"x": np.array([0.5, 2], np.float32)})["y"]
    np.testing.assert_array_equal(made, np.array([0.5, 0.75], np.float32))
