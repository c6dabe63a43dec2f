"""A model whose tensors move: by how much, which do, and that it still runs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from polycmp.builtin.judging.limits import SAMPLES
from polycmp.builtin.judging.samples import PerturbedRuns
from polycmp.graph import PerturbableGraph, random_inputs
from polycmp.options import OptionValues
from polycmp.plan.build import make_plan
from polycmp.plan.sections import SECTIONS
from polycmp.plugins import Registry
from polycmp.precision import UNITS
from polycmp.runs import resolve
from polycmp.tensors import TensorMetadata
from polycmp_onnx.model_graph import OnnxGraph

X = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
FED = TensorMetadata.from_feed_dict({"x": X})


def model(nodes, outputs, weights=(), *, opset=17):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def run(proto, kinds, seed=1, times=1.0):
    perturbed = OnnxGraph(proto).perturbed(kinds, seed, FED, times)
    assert perturbed is not None
    names = [value.name for value in proto.graph.output]
    return dict(
        zip(names, ReferenceEvaluator(perturbed.mark(names)()).run(names, fed(proto, perturbed, seed)), strict=True)
    )


def fed(proto, perturbed, seed=1):
    return {"x": X, **random_inputs(perturbed, OnnxGraph(proto), seed)}


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "tf32"])
def test_numbers_move_by_up_to_a_unit_and_otherwise_with_another_seed(kind):
    proto = model([helper.make_node("Exp", ["x"], ["y"])], [("y", TensorProto.FLOAT)])
    share = run(proto, {"": kind})["y"] / np.exp(X) - 1
    assert UNITS[kind] / 2 < np.abs(share).max() < 1.01 * UNITS[kind]
    assert not np.array_equal(run(proto, {"": kind})["y"], run(proto, {"": kind}, seed=2)["y"])
    assert np.array_equal(run(proto, {"y": ""})["y"], ReferenceEvaluator(proto).run(None, {"x": X})[0])


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_functions_that_kernels_approximate_are_off_by_a_rounding_of_one_however_small_they_are(kind):
    """Tables of an NPU in float16 are: Sigmoid of -7.5 is 0.0009 there in place of 0.0006."""
    nodes = [helper.make_node("Sub", ["x", "eight"], ["low"]), helper.make_node("Sigmoid", ["low"], ["y"])]
    proto = model(nodes, [("y", TensorProto.FLOAT)], [("eight", np.float32(8))])
    exact = ReferenceEvaluator(proto).run(None, {"x": X})[0]
    off = np.abs(run(proto, {"": kind, "low": ""})["y"] - exact).max()
    assert 0.9 * UNITS[kind] < off < 1.1 * max(UNITS[kind], 8 * UNITS["float32"])


def test_a_single_number_moves_in_both_directions():
    """First random numbers of ONNX Runtime go with the seed: those of small seeds are all near the lowest."""
    import onnxruntime

    nodes = [helper.make_node("ReduceMax", ["x"], ["high"], keepdims=0), helper.make_node("Exp", ["high"], ["y"])]
    proto = model(nodes, [("y", TensorProto.FLOAT)])
    shares = []
    for seed in range(1, 17):
        moved = OnnxGraph(proto).perturbed({"": "float16"}, seed, FED)
        session = onnxruntime.InferenceSession(moved.mark(["y"])().SerializeToString())
        shares.append(float(session.run(None, fed(proto, moved, seed))[0]) / float(np.exp(X.max())) - 1)
    assert min(shares) < -UNITS["float16"] / 4
    assert max(shares) > UNITS["float16"] / 4


@pytest.mark.parametrize("times", [1.0, 8.0])
def test_tensors_in_the_bodies_of_operators_move_once(times):
    def branch(operator):
        made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        return helper.make_graph([helper.make_node(operator, ["x"], ["y"])], operator, [], [made])

    yes = onnx.numpy_helper.from_array(np.array(True))
    nodes = [
        helper.make_node("Constant", [], ["yes"], value=yes),
        helper.make_node("If", ["yes"], ["z"], then_branch=branch("Exp"), else_branch=branch("Neg")),
    ]
    share = run(model(nodes, [("z", TensorProto.FLOAT)]), {"": "float16"}, times=times)["z"] / np.exp(X) - 1
    assert UNITS["float16"] / 2 < np.abs(share).max() / times < 1.01 * UNITS["float16"]


@pytest.mark.parametrize(
    ("dtype", "number", "factor", "moves"),
    [
        (np.float32, 3.0, 0.3, True),
        (np.float64, -3.0, 0.3, True),
        (np.float64, 2.0**25, 1.0, True),  # float32 does not hold the next whole number
        (np.float64, -(2.0**25), 1.0, True),
        (np.float64, 3.0, 1.0, False),
        (np.float16, 3.0, 0.3, False),  # it holds no numbers that are so near
    ],
)
def test_whole_numbers_move_in_a_product_where_its_terms_are_rounded(dtype, number, factor, moves):
    """What is left of the terms is 0, so that nothing else moves it."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    ends = [helper.make_tensor_value_info(name, element, shape) for name, shape in (("n", [8, 64]), ("y", [8, 1]))]
    weight = np.tile(np.array([factor, -factor], dtype), 32)[:, None]
    nodes = [helper.make_node("MatMul", ["n", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [onnx.numpy_helper.from_array(weight, "w")])
    plain = OnnxGraph(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    feed = {"n": np.full((8, 64), number, dtype)}
    perturbed = plain.perturbed({"": "float32"}, 1, TensorMetadata.from_feed_dict(feed))
    assert perturbed is not None
    made = perturbed.mark(["y"])()
    onnx.checker.check_model(made, full_check=True)
    moved = ReferenceEvaluator(made).run(["y"], {**feed, **random_inputs(perturbed, plain, 1)})[0]
    assert moved.any() == moves


def test_infinite_and_whole_numbers_stay():
    nodes = [
        helper.make_node("Floor", ["x"], ["whole"]),
        helper.make_node("Mul", ["x", "infinite"], ["y"]),
        helper.make_node("Mul", ["whole", "large"], ["z"]),
    ]
    weights = [("infinite", np.float32(-np.inf)), ("large", np.float32(2**12))]
    proto = model(nodes, [(name, TensorProto.FLOAT) for name in ("whole", "y", "z")], weights)
    made = run(proto, {"": "float16"})
    assert np.array_equal(made["whole"], np.floor(X))
    assert np.array_equal(made["y"], X * np.float32(-np.inf))
    assert not np.array_equal(made["z"], np.floor(X) * 2**12)  # beyond what float16 holds exactly


def test_steps_of_a_scale_move_all_numbers_by_up_to_half_a_step_of_the_range():
    proto = model([helper.make_node("Identity", ["x"], ["i"]), helper.make_node("Mul", ["i", "i"], ["y"])],
                  [("y", TensorProto.FLOAT)])  # fmt: skip
    half = (X * X).max() / 255 / 2
    perturbed = np.abs(run(proto, {"y": "int8"})["y"] - X * X)
    assert 0.9 * half < perturbed.max() < 1.01 * half


def test_weights_are_rounded_and_what_is_handed_on_is_not_moved_again():
    third = np.full((64,), 1 / 3, np.float32)
    nodes = [helper.make_node("Identity", ["w"], ["a"]), helper.make_node("Relu", ["x"], ["b"])]
    made = run(model(nodes, [("a", TensorProto.FLOAT), ("b", TensorProto.FLOAT)], [("w", third)]), {"": "bfloat16"})
    assert set(made["a"].tolist()) == {0.333984375}
    assert np.array_equal(made["b"], np.maximum(X, 0))


@pytest.mark.parametrize("held", ["initializer", "Constant"])
def test_weights_move_by_steps_wherever_a_file_holds_them(held):
    w = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)
    constant = helper.make_node("Constant", [], ["w"], value=onnx.numpy_helper.from_array(w))
    nodes = [*([constant] if held == "Constant" else []), helper.make_node("Identity", ["w"], ["y"])]
    proto = model(nodes, [("y", TensorProto.FLOAT)], [("w", w)] if held == "initializer" else [])
    half = (w.max() - w.min()) / 255 / 2
    for kind in ("int8", 2.0 * half):
        for seed in (1, 2):
            perturbed = np.abs(run(proto, {"w": kind}, seed)["y"] - w)
            assert 0.9 * half < perturbed.max() < 1.01 * half
    assert not run(proto, {"w": 10.0})["y"].any()  # all are below half a step


def test_shapes_that_are_calculated_in_real_numbers_stay_as_they_are():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "two"], ["d"]),
        helper.make_node("Floor", ["d"], ["e"]),
        helper.make_node("Cast", ["e"], ["sizes"], to=TensorProto.INT64),
        helper.make_node("Expand", ["one", "sizes"], ["y"]),
    ]
    weights = [("two", np.float32(2)), ("one", np.float32(1))]
    for kind in ("bfloat16", "float16"):
        assert run(model(nodes, [("y", TensorProto.FLOAT)], weights), {"": kind})["y"].shape == (8, 128)


def test_coarse_numbers_of_a_float16_model_move_too():
    nodes = [helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16), helper.make_node("Exp", ["h"], ["y"])]
    proto = model(nodes, [("y", TensorProto.FLOAT16)])
    exact = ReferenceEvaluator(proto).run(None, {"x": X})[0]
    assert not np.array_equal(run(proto, {"": "float16"})["y"], exact)


def test_an_old_model_cannot_be_changed_so():
    proto = model([helper.make_node("Exp", ["x"], ["y"])], [("y", TensorProto.FLOAT)], opset=7)
    assert OnnxGraph(proto).perturbed({"": "float16"}, 1, FED) is None
    assert isinstance(OnnxGraph(proto), PerturbableGraph)


@pytest.mark.parametrize(("kind", "most"), [("float32", 2**24), ("tf32", 2**11), ("bfloat16", 2**8)])
def test_whole_numbers_move_from_the_first_that_a_type_does_not_hold_with_its_neighbours(kind, most):
    nodes = [helper.make_node("Mul", ["x", "zero"], ["none"]), helper.make_node("Add", ["none", "numbers"], ["y"])]
    numbers = np.tile(np.array([most - 1, -most + 1, most, -4 * most], np.float32), (4, 16))
    proto = model(nodes, [("y", TensorProto.FLOAT)], [("zero", np.float32(0)), ("numbers", numbers)])
    moved = run(proto, {"": "", "y": kind})["y"] != numbers
    assert not moved[:, 0::4].any()
    assert not moved[:, 1::4].any()
    assert moved[:, 2::4].any()
    assert moved[:, 3::4].any()


@pytest.mark.parametrize("opset", [9, 17])
def test_each_tensor_moves_by_random_numbers_of_its_own(opset):
    nodes = [helper.make_node("Exp", ["x"], [name]) for name in ("a", "b", "c")]
    moved = run(model(nodes, [(name, TensorProto.FLOAT) for name in "abc"], opset=opset), {"": "float16"})
    errors = np.stack([(moved[name] / np.exp(X) - 1).ravel() for name in "abc"])
    assert np.abs(np.corrcoef(errors) - np.eye(3)).max() < 0.3


@pytest.mark.parametrize("opset", [12, 22])
@pytest.mark.parametrize(("most", "columns"), [(1.0, 2), (9.0, 0), (-9.0, 64)])
def test_what_has_a_shape_that_only_the_run_tells_moves_too(opset, most, columns):
    """Columns are chosen by what they hold, of 4 rows or, repeated, of more than there are random numbers."""
    onnxruntime = pytest.importorskip("onnxruntime", minversion="1.21" if opset > 21 else None)
    nodes = [
        helper.make_node("Greater", ["first", "most"], ["is_chosen"]),
        helper.make_node("Compress", ["x", "is_chosen"], ["some"], axis=1),
        helper.make_node("Tile", ["some", "times"], ["many"]),
        helper.make_node("Exp", ["many"], ["y"]),
    ]
    weights = [("first", np.r_[2.0, 2.0, np.zeros(62)].astype(np.float32)), ("most", np.float32(most))]
    proto = model(nodes, [("y", TensorProto.FLOAT)], [*weights, ("times", np.int64([1000, 1]))], opset=opset)
    for value in proto.graph.input[0].type.tensor_type.shape.dim:
        value.ClearField("dim_value")
    perturbed = OnnxGraph(proto).perturbed({"": "float16"}, 1, TensorMetadata().add("x", np.float32, None))
    session = onnxruntime.InferenceSession(perturbed.mark(["y"])().SerializeToString())
    moved = session.run(None, fed(proto, perturbed))[0]
    exact = np.exp(np.tile(X[:, np.r_[2.0, 2.0, np.zeros(62)] > most], (1000, 1)))
    assert moved.shape == exact.shape == (4000, columns)
    shares = np.abs(moved / exact - 1)
    assert not columns or UNITS["float16"] / 2 < shares.max() < 1.01 * UNITS["float16"]


def test_a_shape_that_a_file_declares_wrongly_stops_nothing():
    """ONNX infers nothing of an operator that it does not know, of which the file says what one of its inputs made."""
    import onnxruntime

    gelu = helper.make_node("Gelu", ["x"], ["g"], domain="com.microsoft")
    proto = model([gelu, helper.make_node("Exp", ["g"], ["y"])], [("y", TensorProto.FLOAT)])
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    proto.graph.value_info.append(helper.make_tensor_value_info("g", TensorProto.FLOAT, [1, 64]))
    moved = OnnxGraph(proto).perturbed({"": "float16"}, 1, FED)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(moved.mark(["y"])().SerializeToString(), options)
    assert session.run(None, fed(proto, moved))[0].shape == X.shape


def test_what_operators_of_machine_learning_make_moves_although_onnx_infers_no_types_of_it():
    """`Scaler` has no inference, so that neither its result nor what follows from it has a type."""
    scaler = helper.make_node("Scaler", ["x"], ["scaled"], domain="ai.onnx.ml", offset=[0.5], scale=[2.0])
    nodes = [scaler, helper.make_node("Tanh", ["scaled"], ["bounded"]), helper.make_node("Floor", ["bounded"], ["y"])]
    proto = model(nodes, [("y", TensorProto.FLOAT)])
    proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    perturbed = OnnxGraph(proto).perturbed({"": "float32"}, 1, FED)
    assert perturbed is not None
    names = ["scaled", "bounded"]
    scaled, bounded = ReferenceEvaluator(perturbed.mark(names)()).run(names, fed(proto, perturbed))
    assert 0.0 < np.abs(scaled / (2.0 * (X - np.float32(0.5))) - 1).max() < 4.0 * UNITS["float32"]
    assert not np.array_equal(bounded, np.tanh(scaled)), "so does what is made of it"


def test_what_follows_an_operator_of_onnx_runtime_moves_also_where_a_file_does_not_import_its_domain():
    """ONNX has no schemas of them and infers nothing of a file that imports too little, which ONNX Runtime runs."""
    onnxruntime = pytest.importorskip("onnxruntime")
    gelu = helper.make_node("QuickGelu", ["x"], ["curved"], domain="com.microsoft", alpha=1.0)
    nodes = [
        gelu,
        helper.make_node("Add", ["curved", "curved"], ["twice"]),
        helper.make_node("Floor", ["twice"], ["y"]),
    ]
    proto = model(nodes, [("y", TensorProto.FLOAT)])
    perturbed = OnnxGraph(proto).perturbed({"": "float32"}, 1, FED)
    assert perturbed is not None
    names = ["curved", "twice"]
    exact = onnxruntime.InferenceSession(OnnxGraph(proto).mark(names)().SerializeToString()).run(names, {"x": X})
    moved = onnxruntime.InferenceSession(perturbed.mark(names)().SerializeToString()).run(names, fed(proto, perturbed))
    assert 0.0 < np.abs(moved[0] / exact[0] - 1).max() < 4.0 * UNITS["float32"]
    assert not np.array_equal(moved[1], moved[0] + moved[0]), "so does what is made of it"


@pytest.mark.parametrize("opset", [8, 10, 21, 22])
def test_models_of_all_versions_move_in_onnx_runtime(opset):
    """It has no operators of version 22 that draw random numbers."""
    onnxruntime = pytest.importorskip("onnxruntime", minversion="1.21" if opset > 21 else None)
    proto = model([helper.make_node("Exp", ["x"], ["y"])], [("y", TensorProto.FLOAT)], opset=opset)
    moved = OnnxGraph(proto).perturbed({"": "float32"}, 1, FED)
    session = onnxruntime.InferenceSession(moved.mark(["y"])().SerializeToString())
    assert not np.array_equal(session.run(None, fed(proto, moved))[0], np.exp(X))


@pytest.mark.parametrize(("operator", "share"), [("ReduceMean", 4.0), ("ReduceMax", 0.0)])
def test_means_of_many_numbers_move_as_adding_them_one_after_the_other_rounds(operator, share):
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node(operator, ["a"], ["y"], axes=[1], keepdims=1)]
    proto = model(nodes, [("y", TensorProto.FLOAT)])
    perturbed = OnnxGraph(proto).perturbed({"a": "", "": "float32"}, 1, FED)
    exact = ReferenceEvaluator(proto).run(None, {"x": X})[0]
    moved = [
        ReferenceEvaluator(perturbed.mark(["y"])()).run(["y"], fed(proto, perturbed, seed))[0] / exact - 1
        for seed in range(16)
    ]
    assert share * UNITS["float32"] <= np.abs(moved).max() < 6.0 * UNITS["float32"]


def test_each_differs_where_a_backend_draws_the_same_numbers_in_each_run(tmp_path):
    """ONNX's own evaluator does, and it alone runs what draws numbers in a file of version 22."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xyz"]
    branches = [helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], name, [], value[1:2]) for name in ("a", "b")]
    nodes = [
        helper.make_node("Constant", [], ["yes"], value=onnx.numpy_helper.from_array(np.array(True))),
        helper.make_node("If", ["yes"], ["z"], then_branch=branches[0], else_branch=branches[1]),
    ]
    graph = helper.make_graph(nodes, "g", value[:1], value[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.save(model, tmp_path / "m.onnx")
    registry = Registry.discover()
    values = OptionValues({}, SECTIONS, model=str(tmp_path / "m.onnx"), backends=("onnx",))
    backend = resolve(make_plan(values, registry), registry).backends[0]
    feed = {"x": np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)}
    samples = PerturbedRuns(backend, backend.model.graph()).samples(feed, {"": "float32"})
    assert samples is not None
    assert len({tensors["z"].tobytes() for tensors in samples.perturbed()}) == SAMPLES


def test_what_follows_a_normalisation_of_an_input_moves_too():
    weights = [("scale", np.ones(64, np.float32)), ("w", np.eye(64, dtype=np.float32))]
    nodes = [
        helper.make_node("LayerNormalization", ["x", "scale"], ["n"]), helper.make_node("MatMul", ["n", "w"], ["y"]),
    ]  # fmt: skip
    proto = model(nodes, [("n", TensorProto.FLOAT), ("y", TensorProto.FLOAT)], weights)
    moved = run(proto, {"": "float16"})
    assert np.abs(moved["n"] - ReferenceEvaluator(proto).run(["n"], {"x": X})[0]).max() > UNITS["float16"] / 2
    assert np.abs(moved["y"] / moved["n"] - 1).max() > UNITS["float16"] / 2


@pytest.mark.parametrize("moves", [True, False])
def test_codes_beside_a_tie_move_where_operators_read_codes_and_make_codes(moves):
    """3 x 0.5 / (3 / 7) is 3.5: kernels in float32 make 3 or 4 of it. 4 x 0.5 / (3 / 7) is far from a tie."""
    import onnxruntime

    codes = [
        ("zero", np.int8(0)),
        ("one", np.float32(1.0)),
        ("half", np.float32(0.5)),
        ("three", np.float32(3.0 / 7.0)),
    ]
    weight = ("w", np.full((64, 1), 1, np.int8))
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "one", "zero"], ["q"]),
        helper.make_node("QLinearMatMul", ["q", "one", "zero", "w", "half", "zero", "three", "zero"], ["y"]),
    ]
    proto = model(nodes, [("y", TensorProto.INT8)], [*codes, weight])
    x = np.zeros((4, 64), np.float32)
    x[:, 0] = 3.0 if moves else 4.0
    made = set()
    for seed in range(1, 9):
        perturbed = OnnxGraph(proto).perturbed({"": "float32"}, seed, FED)
        session = onnxruntime.InferenceSession(perturbed.mark(["y"])().SerializeToString())
        made |= set(session.run(None, {"x": x, **random_inputs(perturbed, OnnxGraph(proto), seed)})[0].ravel().tolist())
    assert made == ({3, 4} if moves else {5})
