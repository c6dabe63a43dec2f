"""The backend on whole models: where plugin nodes may stand, how references get in, and what its errors say."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import BackendError, DataError
from polycmp.tensors import TensorMetadata
from polycmp_pluginref import PluginRefRunner, register
from polycmp_pluginref.plugin import Options, polycmp_runners
from polycmp_pluginref.runner import make_runner


def model(nodes, functions=(), domains=("",), inputs=("x",), outputs=("y",), initializer=(), shape=("n", 3)):
    def values(names):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]

    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), initializer=list(initializer))
    imports = [helper.make_opsetid(domain, 18 if not domain else 1) for domain in domains]
    return helper.make_model(graph, functions=list(functions), opset_imports=imports)


def leaky(source, result, domain="", slope=0.5, **more):
    return helper.make_node("LReLU_TRT", [source], [result], domain=domain, negSlope=slope, **more)


X = np.array([[-2.0, 0.0, 4.0], [1.0, -8.0, 3.0]], np.float32)
LEAKY = np.array([[-1.0, 0.0, 4.0], [1.0, -4.0, 3.0]], np.float32)


def infer(proto, x=X, **arguments):
    with PluginRefRunner(proto, **arguments) as runner:
        return runner.infer({"x": x})["y"]


@pytest.mark.parametrize("domain", ["", "trt.plugins", "my.company"])
def test_a_plugin_node_may_stand_in_any_domain(domain):
    np.testing.assert_array_equal(infer(model([leaky("x", "y", domain)], domains={"", domain})), LEAKY)


def test_plugin_and_standard_operators_mix_and_shapes_are_dynamic():
    proto = model([helper.make_node("Neg", ["x"], ["a"]), leaky("a", "b"), helper.make_node("Neg", ["b"], ["y"])])
    for rows in (1, 5):
        x = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
        np.testing.assert_array_equal(infer(proto, x), -np.where(-x > 0, -x, -x * np.float32(0.5)))


def test_plugin_nodes_in_both_branches_of_if():
    def branch(name, slope):
        result = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([leaky("x", name, slope=slope)], name, [], [result])

    total = helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0)
    positive = helper.make_node("Greater", ["s", "zero"], ["c"])
    choose = helper.make_node("If", ["c"], ["y"], then_branch=branch("t", 0.5), else_branch=branch("e", 0.25))
    zero = numpy_helper.from_array(np.float32(0), "zero")
    proto = model([total, positive, choose], initializer=[zero])
    np.testing.assert_array_equal(infer(proto, X + 10), X + 10 * np.float32(1))
    np.testing.assert_array_equal(infer(proto, X - 20), (X - 20) * np.float32(0.25))


def test_a_plugin_node_in_the_body_of_loop():
    int64, boolean, real = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT
    body = helper.make_graph(
        [leaky("v", "w"), helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [
            helper.make_tensor_value_info("i", int64, []),
            helper.make_tensor_value_info("go", boolean, []),
            helper.make_tensor_value_info("v", real, None),
        ],
        [helper.make_tensor_value_info("on", boolean, []), helper.make_tensor_value_info("w", real, None)],
    )
    weights = [numpy_helper.from_array(np.array(3, np.int64), "times"), numpy_helper.from_array(np.array(True), "yes")]
    proto = model([helper.make_node("Loop", ["times", "yes", "x"], ["y"], body=body)], initializer=weights)
    np.testing.assert_array_equal(infer(proto), np.where(X > 0, X, X / 8))


def test_a_plugin_node_in_a_function_takes_the_callers_attribute():
    inner = helper.make_node("LReLU_TRT", ["a"], ["b"])
    inner.attribute.add(name="negSlope", ref_attr_name="slope", type=1)
    function = helper.make_function(
        "local", "Wrap", ["a"], ["b"], [inner], [helper.make_opsetid("", 18)], attributes=["slope"]
    )
    call = helper.make_node("Wrap", ["x"], ["y"], domain="local", slope=0.5)
    np.testing.assert_array_equal(infer(model([call], [function], {"", "local"})), LEAKY)


def test_a_function_of_the_model_comes_before_a_reference_for_any_domain():
    body = [helper.make_node("Neg", ["a"], ["b"])]
    function = helper.make_function("local", "LReLU_TRT", ["a"], ["b"], body, [helper.make_opsetid("", 18)])
    np.testing.assert_array_equal(infer(model([leaky("x", "y", "local")], [function], {"", "local"})), -X)


def test_the_model_is_not_changed_and_not_owned():
    proto = model([leaky("x", "y")])
    before = proto.SerializeToString()
    for _ in range(2):
        infer(proto)
    assert proto.SerializeToString() == before


def test_nothing_is_loaded_before_activation():
    calls = []
    runner = PluginRefRunner(lambda: calls.append(1) or model([leaky("x", "y")]))
    assert not calls
    for count in (1, 2):
        with runner:
            assert len(calls) == count


def test_the_backend_as_the_core_makes_it():
    (spec,) = polycmp_runners()
    assert (spec.name, spec.accepts, spec.options) == ("pluginref", ("onnx",), Options)

    class Model:
        def load(self, kind):
            assert kind == "onnx"
            return lambda: model([leaky("x", "y", slope=1 / 3)])

    runner = make_runner(Model(), Options(dtype="float64"), name="mine")
    assert runner.name == "mine"
    with runner:
        metadata = runner.get_input_metadata()
        assert str(metadata) == str(TensorMetadata().add("x", "float32", ["n", 3]))
        assert runner.infer({"x": X})["y"].dtype == np.float64


def test_inputs_without_shape_and_weights_among_the_inputs():
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], inputs=("x", "w"))
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((1, 3), np.float32), "w"))
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    with PluginRefRunner(proto) as runner:
        assert str(runner.get_input_metadata()) == "{x [dtype=float32]}"
        np.testing.assert_array_equal(runner.infer({"x": X})["y"], X + 1)


def test_an_operator_without_reference_is_named_with_how_to_add_one():
    proto = model([helper.make_node("Fancy_TRT", ["x"], ["a"]), helper.make_node("Other", ["a"], ["y"])])
    with pytest.raises(BackendError) as caught:
        PluginRefRunner(proto, "ref").activate()
    assert "Fancy_TRT (domain ai.onnx), Other (domain ai.onnx)" in caught.value.what
    assert caught.value.whose == "ref"
    assert '@polycmp_pluginref.register("Fancy_TRT")' in caught.value.hint
    assert "--pluginref-ops" in caught.value.hint


def test_a_missing_operator_inside_a_subgraph_is_found_at_activation():
    result = helper.make_tensor_value_info("t", TensorProto.FLOAT, None)
    branch = helper.make_graph([helper.make_node("Fancy_TRT", ["x"], ["t"])], "b", [], [result])
    yes = numpy_helper.from_array(np.array(True), "yes")
    proto = model([helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch)], initializer=[yes])
    with pytest.raises(BackendError, match="no reference for Fancy_TRT"):
        PluginRefRunner(proto).activate()


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (helper.make_node("LReLU_TRT", ["x"], ["y"], name="here"), "'negSlope'"),
        (leaky("x", "y", name="here", slop=1), "unexpected keyword argument 'slop'"),
    ],
)
def test_an_attribute_too_many_or_too_few_names_node_and_attribute(node, reason):
    with pytest.raises(BackendError, match="'here'") as caught:
        infer(model([node]))
    assert reason in caught.value.why
    assert "negSlope" in caught.value.why


def test_a_sequence_is_a_list_of_arrays():
    made = infer(model([helper.make_node("SequenceConstruct", ["x", "x"], ["y"])]))
    assert isinstance(made, list)
    np.testing.assert_array_equal(made, [X] * 2)


SCRIPT = """
from polycmp_pluginref import register

@register("Times_TRT")
def times(x, *, by=2.0):
    return x * x.dtype.type({factor})
"""


def test_references_from_a_file_count_for_their_own_runner_only(tmp_path):
    proto = model([helper.make_node("Times_TRT", ["x"], ["y"])])
    for factor in (2, 3):
        (tmp_path / f"by{factor}.py").write_text(SCRIPT.format(factor=factor))
    runners = [PluginRefRunner(proto, ops=(str(tmp_path / f"by{factor}.py"),)) for factor in (2, 3)]
    for _ in range(2):
        for factor, runner in zip((2, 3), runners, strict=True):
            with runner:
                np.testing.assert_array_equal(runner.infer({"x": X})["y"], X * factor)


def test_a_file_that_fails_to_import_says_so(tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_module_anywhere")
    with pytest.raises(DataError, match=r"broken\.py fails to import"):
        PluginRefRunner(model([leaky("x", "y")]), ops=(str(tmp_path / "broken.py"),)).activate()
    with pytest.raises(DataError, match="no such script"):
        PluginRefRunner(model([leaky("x", "y")]), ops=("nowhere.py",)).activate()


def test_a_reference_for_one_domain_comes_before_one_for_any():
    register("Twice_TestOnly")(lambda x: x * 2)
    register("Twice_TestOnly", "my.company")(lambda x: x * 4)
    for domain, factor in (("trt.plugins", 2), ("my.company", 4)):
        node = helper.make_node("Twice_TestOnly", ["x"], ["y"], domain=domain)
        np.testing.assert_array_equal(infer(model([node], domains={"", domain})), X * factor)


def run_with_extensions(tmp_path, code):
    """Run code in a process that sees two distributions with extensions, a good and a broken one."""
    (tmp_path / "good_ext.py").write_text(SCRIPT.format(factor=7))
    (tmp_path / "bad_ext.py").write_text("raise SystemExit('no licence')")
    for name in ("good", "bad"):
        info = tmp_path / f"{name}_ext-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-ext\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[polycmp_pluginref.ops]\n{name} = {name}_ext\n")
    prelude = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    return subprocess.run(
        [sys.executable, "-c", prelude + textwrap.dedent(code)], capture_output=True, text=True, check=False
    )


def test_other_distributions_add_references_and_a_broken_one_stops_nobody(tmp_path):
    proto = model([helper.make_node("Times_TRT", ["x"], ["y"])])
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    done = run_with_extensions(
        tmp_path,
        f"""
        import numpy as np, onnx
        from polycmp_pluginref import PluginRefRunner
        assert "good_ext" not in sys.modules
        with PluginRefRunner(onnx.load({str(tmp_path / "m.onnx")!r})) as runner:
            print(runner.infer({{"x": np.ones((1, 3), np.float32)}})["y"])
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[[7. 7. 7.]]"
    assert "bad (bad_ext) is broken: SystemExit: no licence" in done.stderr


def test_a_broken_extension_is_the_reason_when_its_operator_is_missing(tmp_path):
    proto = model([helper.make_node("Licensed_TRT", ["x"], ["y"])])
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    code = f"""
        import onnx
        from polycmp_pluginref import PluginRefRunner
        PluginRefRunner(onnx.load({str(tmp_path / "m.onnx")!r})).activate()
        """
    assert "why:  the extension bad (bad_ext) is broken" in run_with_extensions(tmp_path, code).stderr


def test_describing_the_backend_imports_nothing_heavy():
    code = "import sys, polycmp_pluginref.plugin; print({'numpy', 'onnx', 'onnxruntime'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
