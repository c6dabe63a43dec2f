"""`polycmp surgeon`: what it writes passes ONNX's checker, keeps what it should, and computes what the original did."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polycmp_onnx.weights import is_sparse, summed_weights

F = TensorProto.FLOAT


def value(name, shape, kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model_of(nodes, inputs, outputs, weights=(), **kwargs):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    made = helper.make_model(
        graph,
        ir_version=10,
        opset_imports=kwargs.get("opsets", [helper.make_opsetid("", 20), helper.make_opsetid("com.mine", 3)]),
        functions=kwargs.get("functions", []),
    )
    made.metadata_props.add(key="author", value="somebody")
    return made


@pytest.fixture
def chain(tmp_path):
    """x -> Shape/Gather/Concat/Reshape that folds, a MatMul with a doubled weight, and a dead node."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("Add", ["w", "w"], ["w2"], "double"),
        helper.make_node("Shape", ["x"], ["s"], "shape"),
        helper.make_node("Gather", ["s", "one"], ["d"], "gather"),
        helper.make_node("MatMul", ["x", "w2"], ["m"], "matmul"),
        helper.make_node("Relu", ["m"], ["r"], "relu"),
        helper.make_node("Concat", ["minus", "d"], ["t"], "concat", axis=0),
        helper.make_node("Reshape", ["r", "t"], ["y"], "reshape"),
        helper.make_node("Neg", ["m"], ["unused"], "dead"),
    ]
    weights = [
        weight("w", random.standard_normal((8, 8)).astype(np.float32)),
        weight("one", np.array([1])),
        weight("minus", np.array([-1])),
        weight("nobody", np.ones(3, np.float32)),
    ]
    made = model_of(nodes, [value("x", ["n", 8])], [value("y", ["n", 8])], weights)
    onnx.save(made, tmp_path / "model.onnx")
    return made


def same(first, second, feed):
    for one, other in zip(
        ReferenceEvaluator(first).run(None, feed), ReferenceEvaluator(second).run(None, feed), strict=True
    ):
        np.testing.assert_allclose(other, one, atol=1e-6)


X = {"x": np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)}


def checked(path):
    onnx.checker.check_model(str(path))
    return onnx.load(path)


def test_sanitize_folds_what_does_not_depend_on_the_inputs(polycmp, chain, tmp_path):
    done = polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx")
    assert done.status == 0, done.err
    made = checked(tmp_path / "out.onnx")
    assert [node.op_type for node in made.graph.node] == ["MatMul", "Relu", "Reshape"]  # one known dimension is enough
    assert made.opset_import == chain.opset_import
    assert made.metadata_props == chain.metadata_props
    same(chain, made, X)


def test_sanitize_leaves_shapes_and_large_results_if_told_so(polycmp, chain, tmp_path):
    words = ("--fold-constants", "--no-fold-shapes", "--fold-size-threshold", "16")
    assert polycmp("surgeon", "sanitize", "model.onnx", *words, "-o", "out.onnx").status == 0
    kinds = [node.op_type for node in checked(tmp_path / "out.onnx").graph.node]
    assert {"Shape", "Gather", "Add"} <= set(kinds)


def test_sanitize_cleans_up_and_sorts(polycmp, chain, tmp_path):
    nodes = list(chain.graph.node)
    del chain.graph.node[:]
    chain.graph.node.extend(reversed(nodes))
    onnx.save(chain, tmp_path / "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--cleanup", "--toposort", "-o", "out.onnx")
    assert done.status == 0, done.err
    made = checked(tmp_path / "out.onnx")
    assert "dead" not in {node.name for node in made.graph.node}
    assert {item.name for item in made.graph.initializer} == {"w", "one", "minus"}
    same(made, made, X)


def test_sanitize_gives_inputs_other_shapes(polycmp, chain, tmp_path):
    words = ("--override-input-shapes", "x:[4,8]", "--fold-constants")
    assert polycmp("surgeon", "sanitize", "model.onnx", *words, "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    assert [dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim] == [4, 8]
    assert [dim.dim_value for dim in made.graph.output[0].type.tensor_type.shape.dim] == [4, 8]
    done = polycmp("surgeon", "sanitize", "model.onnx", "--override-input-shapes", "z:[4]", "-o", "no.onnx")
    assert (done.status, "no input 'z'" in done.err) == (2, True)
    assert not (tmp_path / "no.onnx").exists()


def test_sanitize_finds_shapes_by_running(polycmp, chain, tmp_path):
    assert (
        polycmp("surgeon", "sanitize", "model.onnx", "--force-fallback-shape-inference", "-o", "out.onnx").status == 0
    )
    known = {item.name for item in checked(tmp_path / "out.onnx").graph.value_info}
    assert {"m", "r", "t"} <= known


def test_folding_looks_into_branches_and_keeps_their_weights(polycmp, tmp_path):
    def branch(name, op):
        nodes = [
            helper.make_node(op, ["a", "b"], [f"{name}_c"]),
            helper.make_node("Mul", ["x", f"{name}_c"], [f"{name}_y"]),
        ]
        weights = [weight("b", np.full(3, 2, np.float32))]
        return helper.make_graph(nodes, name, [], [value(f"{name}_y", [3])], weights)

    node = helper.make_node("If", ["flag"], ["y"], then_branch=branch("yes", "Add"), else_branch=branch("no", "Sub"))
    source = model_of([node], [value("x", [3]), value("flag", [], TensorProto.BOOL)], [value("y", [3])],
                      [weight("a", np.ones(3, np.float32))])  # fmt: skip
    onnx.save(source, tmp_path / "model.onnx")
    assert polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    inside = [inner.op_type for attribute in made.graph.node[0].attribute for inner in attribute.g.node]
    assert inside == ["Mul", "Mul"]
    for flag in (True, False):
        same(source, made, {"x": np.ones(3, np.float32), "flag": np.array(flag)})


def test_functions_survive(polycmp, tmp_path):
    function = helper.make_function(
        "com.mine", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 20)]
    )
    nodes = [helper.make_node("Twice", ["x"], ["t"], domain="com.mine"), helper.make_node("Relu", ["t"], ["y"])]
    source = model_of(nodes, [value("x", [4])], [value("y", [4])], functions=[function])
    onnx.save(source, tmp_path / "model.onnx")
    for words in (("sanitize", "--fold-constants"), ("extract", "--outputs", "t:float32"), ("prune",)):
        done = polycmp("surgeon", words[0], "model.onnx", *words[1:], "-o", "out.onnx")
        assert done.status == 0, done.err
        assert [item.name for item in checked(tmp_path / "out.onnx").functions] == ["Twice"]


def test_extract_cuts_a_part_out(polycmp, chain, tmp_path):
    words = ("--inputs", "m:auto:auto", "--outputs", "r:auto")
    assert polycmp("surgeon", "extract", "model.onnx", *words, "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    assert [node.name for node in made.graph.node] == ["relu"]
    assert not made.graph.initializer
    assert made.metadata_props == chain.metadata_props


def test_extract_takes_shapes_and_types_as_given(polycmp, chain, tmp_path):
    words = ("--inputs", "m:[7,height]:float32", "--outputs", "r:float32")
    assert polycmp("surgeon", "extract", "model.onnx", *words, "-o", "out.onnx").status == 0
    shape = checked(tmp_path / "out.onnx").graph.input[0].type.tensor_type.shape
    assert [dim.dim_value or dim.dim_param for dim in shape.dim] == [7, "height"]


def test_extract_up_to_an_output_and_without_inputs(polycmp, chain, tmp_path):
    assert polycmp("surgeon", "extract", "model.onnx", "--outputs", "m", "-o", "out.onnx").status == 0
    assert {node.name for node in checked(tmp_path / "out.onnx").graph.node} == {"double", "matmul"}
    done = polycmp("surgeon", "extract", "model.onnx", "--outputs", "w2:auto", "--inputs", "-o", "out.onnx")
    assert done.status == 0, done.err
    assert not checked(tmp_path / "out.onnx").graph.input


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("--outputs", "nobody_makes_it"), 2, "no tensor 'nobody_makes_it'"),
        (("--inputs", "r:auto:auto", "--outputs", "y:auto"), 3, "also needs the input 'x'"),
        (("--inputs", "m:wide:float32"), 2, "no tensor 'm:wide'"),
    ],
)
def test_extract_says_what_is_wrong(polycmp, chain, tmp_path, words, status, text):
    done = polycmp("surgeon", "extract", "model.onnx", *words, "-o", "out.onnx")
    assert (done.status, text in done.err) == (status, True), done.err
    assert not (tmp_path / "out.onnx").exists()


def test_insert_replaces_what_lies_between(polycmp, chain, tmp_path):
    words = ("--op", "Sigmoid", "--inputs", "x", "--outputs", "r", "--name", "new")
    assert polycmp("surgeon", "insert", "model.onnx", *words, "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    kinds = [node.op_type for node in made.graph.node]
    assert "Sigmoid" in kinds
    assert not {"MatMul", "Relu", "Neg"} & set(kinds)
    got = ReferenceEvaluator(made).run(None, X)[0]
    np.testing.assert_allclose(got, 1 / (1 + np.exp(-X["x"])), atol=1e-6)


@pytest.mark.parametrize(("tensor", "expected"), [("x", lambda x, f: f(x / 2)), ("y", lambda x, f: f(x) / 2)])
def test_insert_behind_an_input_and_before_an_output(polycmp, chain, tmp_path, tensor, expected):
    weights = [weight("two", np.float32(2))]
    chain.graph.initializer.extend(weights)
    onnx.save(chain, tmp_path / "model.onnx")
    words = ("--op", "Div", "--inputs", tensor, "two", "--outputs", tensor)
    assert polycmp("surgeon", "insert", "model.onnx", *words, "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    assert [item.name for item in made.graph.output] == ["y"]
    original = ReferenceEvaluator(chain)
    wanted = expected(X["x"], lambda x: original.run(None, {"x": x})[0])
    np.testing.assert_allclose(ReferenceEvaluator(made).run(None, X)[0], wanted, atol=1e-6)


def test_insert_takes_attributes_of_all_kinds_and_other_domains(polycmp, chain, tmp_path):
    pytest.importorskip("onnxruntime")  # ONNX alone loads no operators of other domains
    words = ("--op", "Mine", "--domain", "org.mine", "--inputs", "m", "--outputs", "r")
    attributes = ("--attrs", "b=1.5", "a=1", "c=text", "d=[1,2]", 'e=["u","v"]', "f=[0.5,1.5]")
    assert polycmp("surgeon", "insert", "model.onnx", *words, *attributes, "-o", "out.onnx").status == 0
    made = onnx.load(tmp_path / "out.onnx")
    node = next(item for item in made.graph.node if item.op_type == "Mine")
    got = {item.name: helper.get_attribute_value(item) for item in node.attribute}
    assert list(got) == ["b", "a", "c", "d", "e", "f"]  # the order in which they were given
    assert got == {"a": 1, "b": 1.5, "c": b"text", "d": [1, 2], "e": [b"u", b"v"], "f": [0.5, 1.5]}
    assert "org.mine" in {item.domain for item in made.opset_import}
    done = polycmp("surgeon", "insert", "model.onnx", "--op", "Fake", "--inputs", "m", "--outputs", "r", "-o", "o.onnx")
    assert (done.status, "ONNX has no operator 'Fake'" in done.err) == (0, True)


def test_insert_puts_the_node_right_behind_what_it_reads(polycmp, tmp_path):
    nodes = [
        helper.make_node("Neg", ["x"], ["h"], "first"),
        helper.make_node("Relu", ["h"], ["y"], "one"),
        helper.make_node("Abs", ["h"], ["z"], "other"),
    ]
    values = [[helper.make_tensor_value_info(name, 1, [2]) for name in side] for side in ("x", "yz")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", *values)), tmp_path / "model.onnx")
    words = ("--op", "Sin", "--inputs", "h", "--outputs", "z")
    assert polycmp("surgeon", "insert", "model.onnx", *words, "-o", "out.onnx").status == 0
    assert [node.op_type for node in checked(tmp_path / "out.onnx").graph.node] == ["Neg", "Sin", "Relu"]


def test_a_change_that_makes_an_invalid_model_writes_nothing(polycmp, chain, tmp_path):
    words = ("--op", "Relu", "--inputs", "m", "--outputs", "r", "--attrs", "nonsense=1")
    done = polycmp("surgeon", "insert", "model.onnx", *words, "-o", "out.onnx")
    assert (done.status, "checker refuses" in done.err) == (3, True)
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_prune_keeps_the_larger_two_of_four(polycmp, tmp_path, kind):
    random = np.random.default_rng(1)
    dtype = (
        helper.tensor_dtype_to_np_dtype(helper.np_dtype_to_tensor_dtype(np.dtype(kind))) if kind != "bfloat16" else None
    )
    import ml_dtypes

    dtype = dtype or np.dtype(ml_dtypes.bfloat16)
    array = random.standard_normal((8, 6)).astype(np.float32).astype(dtype)
    element = helper.np_dtype_to_tensor_dtype(dtype)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    source = model_of([node], [value("x", [2, 8], element)], [value("y", [2, 6], element)], [weight("w", array)])
    source.graph.initializer[0].doc_string = "kept"
    onnx.save(source, tmp_path / "model.onnx")
    assert "dense" in polycmp("inspect", "sparsity", "model.onnx").out
    assert polycmp("surgeon", "prune", "model.onnx", "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    got = numpy_helper.to_array(made.graph.initializer[0]).astype(np.float32)
    wanted = array.astype(np.float32)
    for column in range(6):
        for start in (0, 4):
            four = wanted[start : start + 4, column]
            kept = np.sort(np.argsort(np.abs(four))[2:])
            assert list(np.flatnonzero(got[start : start + 4, column])) == list(kept)
            np.testing.assert_array_equal(got[start : start + 4, column][kept], four[kept])
    assert made.opset_import == source.opset_import
    assert "2:4 sparse" in polycmp("inspect", "sparsity", "out.onnx").out


def test_sparsity_is_seen_behind_a_transposition(polycmp, tmp_path):
    nodes = [helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]), helper.make_node("MatMul", ["x", "t"], ["y"])]
    weights = [weight("w", np.ones((6, 8), np.float32))]
    onnx.save(model_of(nodes, [value("x", [2, 8])], [value("y", [2, 6])], weights), tmp_path / "model.onnx")
    assert polycmp("surgeon", "prune", "model.onnx", "-o", "out.onnx").status == 0
    got = numpy_helper.to_array(onnx.load(tmp_path / "out.onnx").graph.initializer[0])
    assert is_sparse(got, 1)


def test_weights_are_left_out_and_made_up_again(polycmp, chain, tmp_path):
    random = np.random.default_rng(2)
    nodes = [helper.make_node("MatMul", ["x", "a"], ["m"]), helper.make_node("MatMul", ["m", "b"], ["y"])]
    weights = [weight(name, random.standard_normal((8, 8)).astype(np.float32)) for name in "ab"]
    onnx.save(model_of(nodes, [value("x", [2, 8])], [value("y", [2, 8])], weights), tmp_path / "model.onnx")
    assert polycmp("surgeon", "prune", "model.onnx", "-o", "sparse.onnx").status == 0
    (tmp_path / "keep.txt").write_text("b\n")
    done = polycmp("surgeon", "weight-strip", "sparse.onnx", "--exclude-list", "keep.txt", "-o", "stripped.onnx")
    assert done.status == 0, done.err
    stripped = {item.name: item for item in onnx.load(tmp_path / "stripped.onnx").graph.initializer}
    assert (len(stripped["a"].raw_data), len(stripped["b"].raw_data)) == (0, 256)
    assert stripped["a"].doc_string == "TRT_WEIGHTLESS/SPARSE_2_4"
    assert polycmp("surgeon", "weight-reconstruct", "stripped.onnx", "-o", "again.onnx").status == 0
    made = checked(tmp_path / "again.onnx")
    assert all(is_sparse(numpy_helper.to_array(item.tensor), item.axis) for item in summed_weights(made))
    assert numpy_helper.to_array(made.graph.initializer[0]).any()
    first = (tmp_path / "again.onnx").read_bytes()
    assert polycmp("surgeon", "weight-reconstruct", "stripped.onnx", "-o", "again.onnx").status == 0
    assert (tmp_path / "again.onnx").read_bytes() == first  # the numbers have a seed


def test_weights_outside_stay_outside(polycmp, chain, tmp_path):
    words = ("--save-external-data", "chain.data", "--external-data-size-threshold", "16")
    assert polycmp("convert", "model.onnx", "-o", "outside.onnx", *words).status == 0
    assert (tmp_path / "chain.data").stat().st_mode & 0o777 == (tmp_path / "outside.onnx").stat().st_mode & 0o777
    words = ("--cleanup", "--external-data-size-threshold", "16")
    assert polycmp("surgeon", "sanitize", "outside.onnx", "-o", "sub/out.onnx", *words).status == 0
    made = onnx.load(tmp_path / "sub" / "out.onnx", load_external_data=False)
    assert onnx.external_data_helper.uses_external_data(made.graph.initializer[0])
    same(chain, checked(tmp_path / "sub" / "out.onnx"), X)


def test_upper_bounds_are_put_in(polycmp, tmp_path):
    nodes = [
        helper.make_node("NonZero", ["x"], ["z"]),
        helper.make_node("Shape", ["z"], ["s"]),
        helper.make_node("Squeeze", ["s1"], ["k"]),
        helper.make_node("Slice", ["s", "one", "two"], ["s1"]),
        helper.make_node("Range", ["zero", "k", "step"], ["y"]),
    ]
    weights = [weight(name, np.array(array)) for name, array in
               (("one", [1]), ("two", [2]), ("zero", 0), ("step", 1))]  # fmt: skip
    source = model_of(nodes, [value("x", [8])], [value("y", ["k"], TensorProto.INT64)], weights)
    onnx.save(source, tmp_path / "model.onnx")
    shown = polycmp("inspect", "model", "model.onnx", "--list-unbounded-dds")
    assert "    k\n" in shown.out
    words = ("--toposort", "--set-unbounded-dds-upper-bound", "3")
    done = polycmp("surgeon", "sanitize", "model.onnx", *words, "-o", "out.onnx")
    assert done.status == 0, done.err
    got = ReferenceEvaluator(checked(tmp_path / "out.onnx")).run(None, {"x": np.ones(8, np.float32)})[0]
    assert list(got) == [0, 1, 2]
    shown = polycmp("inspect", "model", "out.onnx", "--list-unbounded-dds")
    assert ("k_bounded" in shown.out, "    none" in shown.out) == (False, True), shown.out
    done = polycmp("surgeon", "sanitize", "out.onnx", "--set-unbounded-dds-upper-bound", "3", "-o", "again.onnx")
    assert [node.op_type for node in checked(tmp_path / "again.onnx").graph.node].count("Min") == 1


def test_fold_options_alone_are_told_to_do_nothing(polycmp, chain):
    done = polycmp("surgeon", "sanitize", "model.onnx", "--num-passes", "2", "-o", "out.onnx")
    assert (done.status, "no effect without --fold-constants" in done.err) == (0, True)


def test_a_model_may_be_replaced_by_what_becomes_of_it(polycmp, chain, tmp_path):
    assert polycmp("surgeon", "sanitize", "model.onnx", "--cleanup", "-o", "model.onnx").status == 0
    same(chain, checked(tmp_path / "model.onnx"), X)


def test_weights_at_the_border_of_what_a_structure_keeps_are_no_fault(polycmp, tmp_path):
    """A file's structure is read without large weights; 4096 bytes are as many as its check still took for small."""
    rng = np.random.default_rng(1)
    weights = [weight("w", rng.random((32, 32), np.float32)), weight("v", rng.random((32, 16384), np.float32))]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("MatMul", ["h", "v"], ["y"])]
    onnx.save(model_of(nodes, [value("x", [2, 32])], [value("y", [2, 16384])], weights), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").stat().st_size > 1 << 20
    done = polycmp("surgeon", "sanitize", "m.onnx", "--fold-constants", "-o", "s.onnx")
    assert done.status == 0, done.err
    assert polycmp("convert", "m.onnx", "--fp-to-fp16", "-o", "h.onnx").status == 0
