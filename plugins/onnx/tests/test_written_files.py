"""Files that commands write over ONNX models: complete, and of the same meaning where that is promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from small_models import graph_model

from polycmp.errors import ModelError
from polycmp.plugins import Registry
from polycmp_onnx import save_onnx, verify
from polycmp_onnx.save import write_model
from polycmp_onnx.trial import attempt
from polycmp_onnx.verify import Verification

onnxruntime = pytest.importorskip("onnxruntime")

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


def ran(model, feed):
    """Return a model's outputs, as ONNX's reference evaluator computes them."""
    model = onnx.load(model) if not isinstance(model, onnx.ModelProto) else model
    return ReferenceEvaluator(model).run(None, feed)


def old_model():
    """Return a model as exporters wrote it up to 2019: its weights are inputs, too."""
    made = graph_model(
        [helper.make_node("MatMul", ["x", "w"], ["h"], "mm"), helper.make_node("Relu", ["h"], ["y"], "relu")],
        [("x", FLOAT, ["n", 2]), ("w", FLOAT, [2, 2])],
        [("y", FLOAT, ["n", 2])],
        [("w", np.array([[1, -2], [3, 4]], np.float32))],
        opset=9,
    )
    made.ir_version = 3
    return made


@pytest.mark.parametrize("version", [3, 8])
def test_extract_keeps_weights_that_are_inputs_too(polycmp, version):
    model = old_model()
    model.ir_version = version
    onnx.save(model, "old.onnx")
    done = polycmp("surgeon", "extract", "old.onnx", "--outputs", "h:float32", "-o", "part.onnx")
    assert done.status == 0, done.err
    part, x = onnx.load("part.onnx"), np.ones((1, 2), np.float32)
    assert [item.name for item in part.graph.initializer] == ["w"]
    onnx.checker.check_model(part)
    np.testing.assert_array_equal(ran(part, {"x": x})[0], [[4, 2]])


def test_extract_leaves_the_open_dimensions_of_other_inputs(polycmp):
    unknown = helper.make_node("Mystery", ["x1"], ["m"], domain="my")
    body = [helper.make_node("Relu", ["a"], ["b"])]
    function = helper.make_function("my", "Mystery", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    nodes = [unknown, helper.make_node("Add", ["m", "x2"], ["y"])]
    model = graph_model(nodes, [("x1", FLOAT, ["n", 4]), ("x2", FLOAT, ["n", 4])], [("y", FLOAT, ["n", 4])])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("my", 1))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, "model.onnx")
    words = ("--inputs", "m:auto:auto", "x2:auto:auto", "--outputs", "y:auto", "-o", "part.onnx")
    done = polycmp("surgeon", "extract", "model.onnx", *words)
    assert done.status == 0, done.err
    m, x2 = (item.type.tensor_type.shape.dim for item in onnx.load("part.onnx").graph.input)
    assert [dim.dim_param for dim in x2] == ["n", ""]
    assert [dim.dim_value for dim in m] == [0, 4]  # one run does not tell what the next one has


def weight_as_output():
    made = graph_model(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        [("x", FLOAT, [2])],
        [("y", FLOAT, [2]), ("w", FLOAT, [2])],
        [("w", np.array([1, 2], np.float32))],
    )
    onnx.save(made, "model.onnx")


@pytest.mark.parametrize(
    "words",
    [
        ("surgeon", "sanitize", "--cleanup"),
        ("surgeon", "sanitize", "--toposort"),
        ("surgeon", "sanitize", "--fold-constants"),
        ("convert", "--shape-inference"),
    ],
    ids=" ".join,
)
def test_an_output_that_is_a_weight_stays(polycmp, tmp_path, words):
    weight_as_output()
    split = 2 if words[0] == "surgeon" else 1
    done = polycmp(*words[:split], "model.onnx", *words[split:], "-o", "out.onnx")
    assert done.status == 0, done.err
    assert [item.name for item in onnx.load("out.onnx").graph.output] == ["y", "w"]


def test_an_output_that_is_a_weight_is_compared_after_shape_inference(polycmp):
    for name, values in (("model", [1, 2]), ("other", [1, 3])):
        made = graph_model(
            [helper.make_node("Relu", ["x"], ["y"])],
            [("x", FLOAT, [2])],
            [("y", FLOAT, [2]), ("w", FLOAT, [2])],
            [("w", np.array(values, np.float32))],
        )
        onnx.save(made, f"{name}.onnx")
    done = polycmp("run", "model.onnx", "-b", "onnx", "-b", "onnx:model=other.onnx", "--shape-inference")
    assert done.status == 1 and "w" in done.out


def function_model(name, body, nodes, weights=()):
    made = graph_model(nodes, [("x", FLOAT, [2, 3])], [("y", FLOAT, None)], weights)
    made.functions.append(helper.make_function("my", name, ["p"], ["q"], body, [helper.make_opsetid("", 17)]))
    made.opset_import.append(helper.make_opsetid("my", 1))
    return made


def test_a_function_with_the_name_of_an_operator_is_not_folded_as_that(polycmp):
    body = [helper.make_node("Shape", ["p"], ["s"]), helper.make_node("Add", ["s", "s"], ["q"])]
    nodes = [
        helper.make_node("Shape", ["x"], ["size"], domain="my"),
        helper.make_node("Cast", ["size"], ["f"], to=FLOAT),
        helper.make_node("ReduceSum", ["f"], ["sum"], keepdims=0),
        helper.make_node("Mul", ["x", "sum"], ["y"]),
    ]
    onnx.save(function_model("Shape", body, nodes), "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx")
    assert done.status == 0, done.err
    np.testing.assert_array_equal(ran("out.onnx", {"x": np.ones((2, 3), np.float32)})[0], np.full((2, 3), 10))


def test_random_numbers_drawn_in_a_function_stay_random(polycmp):
    body = [helper.make_node("RandomNormalLike", ["p"], ["q"])]
    nodes = [helper.make_node("Noise", ["w"], ["n"], domain="my"), helper.make_node("Add", ["x", "n"], ["y"])]
    model = function_model("Noise", body, nodes, [("w", np.ones((2, 3), np.float32))])
    onnx.save(model, "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx")
    assert done.status == 0, done.err
    assert [node.op_type for node in onnx.load("out.onnx").graph.node] == ["Noise", "Add"]


def test_no_weight_takes_the_name_of_the_model_or_of_another_file(tmp_path):
    names = ["out.onnx", "notes.txt", "W", "w"]
    weights = [(name, np.full(4, index, np.float32)) for index, name in enumerate(names)]
    nodes = [helper.make_node("Sum", ["x", *names], ["y"])]
    model = graph_model(nodes, [("x", FLOAT, [4])], [("y", FLOAT, [4])], weights)
    (tmp_path / "notes.txt").write_text("mine")
    for _ in range(2):  # the second time its own files are there already
        save_onnx(model, tmp_path / "out.onnx", "", size_threshold=0, all_tensors_to_one_file=False)
        assert (tmp_path / "notes.txt").read_text() == "mine"
        assert ran(tmp_path / "out.onnx", {"x": np.zeros(4, np.float32)})[0].tolist() == [6] * 4
        files = sorted(item.name.casefold() for item in tmp_path.iterdir())
        assert files == ["notes.txt", "notes.txt_", "out.onnx", "out.onnx_", "w", "w_"]


def converted(polycmp, model, *words):
    """Return what `convert` makes of a model, which ONNX and ONNX Runtime take."""
    onnx.save(model, "model.onnx")
    done = polycmp("convert", "model.onnx", *words, "-o", "made.onnx")
    assert done.status == 0, done.err
    made = onnx.load("made.onnx")
    onnx.checker.check_model(made, full_check=True)
    onnxruntime.InferenceSession("made.onnx", providers=["CPUExecutionProvider"])
    return made


def agree(model, made, feed, atol=2e-2):
    for one, other in zip(ran(model, feed), ran(made, feed), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, atol=atol)


def yolo_grid():
    """Return an anchor grid as YOLOs of dynamic size compute it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["g"]),
        helper.make_node("Cast", ["g"], ["f"], "to_float", to=FLOAT),
        helper.make_node("Range", ["start", "f", "one"], ["r"], "range"),
        helper.make_node("Mul", ["x", "r"], ["y"], "mul"),
    ]
    weights = [("zero", np.array(0)), ("start", np.float32(0)), ("one", np.float32(1))]
    weights = [(name, np.asarray(array)) for name, array in weights]
    return graph_model(nodes, [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])], weights)


@pytest.mark.parametrize("words", [(), ("--keep-float", "Range"), ("--keep-float", "mul")], ids=str)
def test_sizes_that_take_no_float16_stay_in_float32(polycmp, words):
    made = converted(polycmp, yolo_grid(), "--fp-to-fp16", *words)
    x = np.linspace(0, 0.01, 2999, dtype=np.float32)  # float16 holds 2999 as 3000: the grid would not fit
    agree(yolo_grid(), made, {"x": x}, atol=0.05)


def branching():
    branches = {}
    for name, op in (("then_branch", "Relu"), ("else_branch", "Neg")):
        output = helper.make_tensor_value_info("o", FLOAT, None)
        branches[name] = helper.make_graph([helper.make_node(op, ["x"], ["o"])], name, [], [output])
    nodes = [helper.make_node("If", ["c"], ["b"], **branches), helper.make_node("Add", ["b", "w"], ["y"])]
    inputs = [("x", FLOAT, [2]), ("c", TensorProto.BOOL, [])]
    return graph_model(nodes, inputs, [("y", FLOAT, [2])], [("w", np.ones(2, np.float32))])


def with_function():
    body = [
        helper.make_node("Constant", [], ["k"], value_float=0.5),
        helper.make_node("Constant", [], ["m"], value=numpy_helper.from_array(np.ones(2, np.float32))),
        helper.make_node("Mul", ["p", "k"], ["h"]),
        helper.make_node("Add", ["h", "m"], ["q"]),
    ]
    made = function_model("Scale", body, [helper.make_node("Scale", ["x"], ["y"], domain="my")])
    for value in (*made.graph.input, *made.graph.output):
        value.CopyFrom(helper.make_tensor_value_info(value.name, FLOAT, [2]))
    return made


def with_sequence():
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("SequenceConstruct", ["x", "r"], ["s"]),
        helper.make_node("ConcatFromSequence", ["s"], ["c"], axis=0),
        helper.make_node("Mul", ["c", "w"], ["y"]),
    ]
    return graph_model(nodes, [("x", FLOAT, [2])], [("y", FLOAT, [4])], [("w", np.array([2], np.float32))])


def with_loop():
    """Return a Loop whose body reads a weight and an input from around it."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "w"], ["h"]),
            helper.make_node("Mul", ["h", "x"], ["next"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "body",
        [helper.make_tensor_value_info(*item) for item in (("i", INT, []), ("go", 9, []), ("state", FLOAT, [2]))],
        [helper.make_tensor_value_info(*item) for item in (("on", 9, []), ("next", FLOAT, [2]))],
    )
    nodes = [helper.make_node("Loop", ["times", "", "x"], ["y"], body=body)]
    weights = [("times", np.array(3)), ("w", np.array([0.5, 0.25], np.float32))]
    return graph_model(nodes, [("x", FLOAT, [2])], [("y", FLOAT, [2])], weights)


def overridable():
    model = old_model()
    model.ir_version = 8
    return model


SMALL = np.array([0.5, -0.25], np.float32)


@pytest.mark.parametrize(
    ("model", "feed"),
    [
        (branching, {"x": SMALL, "c": np.array(True)}),
        (branching, {"x": SMALL, "c": np.array(False)}),
        (with_function, {"x": SMALL}),
        (with_sequence, {"x": SMALL}),
        (with_loop, {"x": SMALL}),
        (old_model, {"x": SMALL[None]}),
        (overridable, {"x": SMALL[None]}),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_float16_of_graphs_in_graphs_functions_sequences_and_weights_that_are_inputs(polycmp, model, feed):
    agree(model(), converted(polycmp, model(), "--fp-to-fp16"), feed)


def test_operators_kept_in_float32_compute_as_before_in_a_branch(polycmp):
    made = converted(polycmp, branching(), "--fp-to-fp16", "--keep-float", "If", "Add")
    assert not [item for item in made.graph.initializer if item.data_type == TensorProto.FLOAT16]
    feed = {"x": np.array([1 / 3, -2 / 3], np.float32), "c": np.array(True)}
    np.testing.assert_array_equal(ran(made, feed)[0], ran(branching(), feed)[0])


def verified(model, original, **options):
    """Write a model and make sure of it as commands do; return what was made sure of."""
    onnx.save(model, "written.onnx")
    verification = Verification(Registry.discover(), lambda: original, **options)
    write_model(model, Path("target.onnx"), verify=verification)
    return verification.done


def relu(name="y", shape=("n", 2), op="Relu", kind=FLOAT):
    return graph_model([helper.make_node(op, ["x"], [name])], [("x", kind, shape)], [(name, kind, shape)])


def test_a_file_that_computes_something_else_takes_no_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("target.onnx").write_bytes(b"old")
    with pytest.raises(ModelError, match=r"'y' is not what the original makes .* off by"):
        verified(relu(op="Neg"), relu(), same=True)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["target.onnx", "written.onnx"]
    assert Path("target.onnx").read_bytes() == b"old"
    done = verified(relu(), relu(), same=True)
    assert done[0] == "ONNX's rules" and done[-1] == "it computes what the model does"


def test_a_type_that_an_operator_does_not_take_is_found_without_a_backend(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    half = yolo_grid()
    half.graph.node[2].attribute[0].i = TensorProto.FLOAT16
    with pytest.raises(ModelError) as refused:
        Verification(None, yolo_grid).check(half)
    assert "node name: range" in refused.value.why and "unsupported type: tensor(float16)" in refused.value.why
    Verification(None, lambda: half).check(half)  # the original was no better


def test_results_of_other_types_are_refused_and_the_old_file_stays(polycmp):
    onnx.save(relu("h"), "model.onnx")
    Path("part.onnx").write_bytes(b"old")
    words = ("surgeon", "extract", "model.onnx", "--outputs", "h:float16", "-o", "part.onnx")
    done = polycmp(*words)
    assert (done.status, Path("part.onnx").read_bytes()) == (3, b"old")
    assert "ONNX's inference of types and shapes refuses" in done.err and "--no-verify" in done.err
    assert polycmp(*words, "--no-verify").status == 0
    assert Path("part.onnx").read_bytes() != b"old"


def test_what_was_made_sure_of_is_said(polycmp):
    onnx.save(relu(), "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--toposort", "-o", "out.onnx")
    assert "verified: ONNX's rules, onnxrt loads it, it computes what model.onnx does" in done.out
    done = polycmp("convert", "model.onnx", "--fp-to-fp16", "-o", "out.onnx")
    assert done.out.splitlines()[-1] == "verified: ONNX's rules, onnxrt loads it"


def test_a_part_is_fed_with_what_the_whole_model_makes(polycmp):
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Sqrt", ["a"], ["b"])]
    nodes.append(helper.make_node("Relu", ["b"], ["y"]))
    onnx.save(graph_model(nodes, [("x", FLOAT, ["n", 2])], [("y", FLOAT, ["n", 2])]), "model.onnx")
    done = polycmp("surgeon", "extract", "model.onnx", "--inputs", "a:auto:auto", "-o", "part.onnx")
    assert done.status == 0 and "it computes what model.onnx does" in done.out, done.err


def test_a_backend_that_dies_while_it_loads_a_file_ends_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(relu(), "model.onnx")
    with open("sitecustomize.py", "w") as file:
        file.write("import onnxruntime, os\n" + ABORTS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = attempt("onnxrt", "model.onnx")
    assert not found.loaded and "SIGABRT" in found.fault and "while loading it" in found.fault


#: Has ONNX Runtime die of models with an operator of type OPERATOR that reads float16.
DIES = """
import os, onnxruntime
Session = onnxruntime.InferenceSession

def session(source, *args, **kwargs):
    import onnx
    model = onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(source)
    types = {{item.name: item.data_type for item in model.graph.initializer}}
    if any(node.op_type in {operators} and types.get(node.input[1]) == 10 for node in model.graph.node):
        os.abort()
    return Session(source, *args, **kwargs)

onnxruntime.InferenceSession = session
"""


@pytest.mark.parametrize(
    ("operators", "status"),
    [({"Mul"}, 0), pytest.param({"Add", "Mul"}, 3, marks=pytest.mark.corpus)],
    ids=["one", "two"],
)
def test_an_operator_of_which_a_backend_dies_stays_in_float32(polycmp, tmp_path, monkeypatch, operators, status):
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Mul", ["a", "v"], ["y"])]
    weights = [(name, np.float32([1, 2])) for name in "wv"]
    onnx.save(graph_model(nodes, [("x", FLOAT, [2])], [("y", FLOAT, [2])], weights), "model.onnx")
    Path("sitecustomize.py").write_text(DIES.format(operators=operators))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = polycmp("convert", "model.onnx", "--fp-to-fp16", "-o", "half.onnx")
    assert done.status == status, done.err
    if status:
        assert "died with signal 6 (SIGABRT) while loading it" in done.err
        assert "--keep-float TYPE" in done.err and not Path("half.onnx").exists()
        return
    assert "Mul stays in float32, as by --keep-float Mul: otherwise onnxrt died" in done.err
    types = {item.name: item.data_type for item in onnx.load("half.onnx").graph.initializer}
    assert (types["w"], types["v"]) == (TensorProto.FLOAT16, FLOAT)
    assert "onnxrt loads it" in done.out


def test_operators_that_a_later_opset_lets_be_bfloat16_are_named(polycmp):
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["r"])]
    nodes.append(helper.make_node("GlobalAveragePool", ["r"], ["y"]))
    weights = [("w", np.ones((2, 3, 1, 1), np.float32))]
    model = graph_model(nodes, [("x", FLOAT, [1, 3, 4, 4])], [("y", FLOAT, [1, 2, 1, 1])], weights)
    onnx.save(model, "model.onnx")
    done = polycmp("convert", "model.onnx", "--fp-to-bf16", "-o", "brain.onnx")
    said = " ".join(done.err.split())
    assert "Conv, GlobalAveragePool stay in float32: ONNX lets them be bfloat16 from opset 22 on" in said
    assert "opset_version=22" in said
    assert [node.op_type for node in onnx.load("brain.onnx").graph.node if node.output[0] == "r"] == ["Relu"]
    assert "float32" not in polycmp("convert", "model.onnx", "--fp-to-fp16", "-o", "half.onnx").err
    model.opset_import[0].version = 22
    onnx.save(model, "newer.onnx")
    assert "from opset" not in polycmp("convert", "newer.onnx", "--fp-to-bf16", "-o", "brain.onnx").err


def differing():
    """Write two models of which one operator differs, and return the words that compare them."""
    for name, factor in (("new", 2.0), ("old", 1.0)):
        weights = [("w", np.float32([factor, 1]))]
        nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Mul", ["r", "w"], ["m"])]
        nodes.append(helper.make_node("Neg", ["m"], ["y"]))
        onnx.save(graph_model(nodes, [("x", FLOAT, ["n", 2])], [("y", FLOAT, ["n", 2])], weights), f"{name}.onnx")
    return ("new.onnx", "-b", "onnxrt", "-b", "onnx:model=old.onnx")


def test_what_shows_a_fault_is_verified_and_says_so(polycmp):
    done = polycmp("debug", "reduce", *differing(), "-o", "part.onnx", "--save-repro", "case")
    assert "part.onnx is verified: ONNX's rules, onnxrt loads it" in done.out, done.err
    done = polycmp("debug", "bundle", "case", "--keep-weights")
    assert "the model is verified: ONNX's rules, onnxrt loads it" in done.out, done.err


def test_a_part_that_breaks_the_rules_is_told_with_what_was_found(polycmp, monkeypatch):
    def spoiled(loader):
        model = loader()
        model.graph.node[0].input.append("nothing makes this")
        return model

    save = verify.save_part
    monkeypatch.setattr(verify, "save_part", lambda loader, *a, **k: save(lambda: spoiled(loader), *a, **k))
    Path("part.onnx").write_bytes(b"old")
    done = polycmp("debug", "reduce", *differing(), "-o", "part.onnx")
    assert (done.status, Path("part.onnx").read_bytes()) == (3, b"old")
    assert "The smallest part that fails" in done.out and "Mul" in done.out
    assert "ERROR: " in done.out and "ONNX's checker refuses" in done.out + done.err


def test_a_model_that_a_run_saves_is_verified(polycmp, tmp_path, monkeypatch):
    onnx.save(relu(), "model.onnx")
    done = polycmp("run", "model.onnx", "-b", "onnx", "--save-onnx", "saved.onnx")
    assert "saved.onnx is verified: ONNX's rules, onnxrt loads it, it computes what model.onnx does" in " ".join(
        done.err.split()
    )
    Path("sitecustomize.py").write_text("import onnxruntime, os\n" + ABORTS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = polycmp("run", "model.onnx", "-b", "onnx", "--onnx-outputs", "y", "--save-onnx", "saved.onnx")
    assert done.status == 0, done.err  # the original is no better
    assert "nor does it load the original" in " ".join(done.err.split())


ABORTS = "onnxruntime.InferenceSession = lambda *a, **k: os.abort()\n"


def test_weights_of_the_original_are_not_written_over(polycmp):
    model = graph_model(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [("x", FLOAT, [64])],
        [("y", FLOAT, [64])],
        [("w", np.arange(64, dtype=np.float32))],
    )
    save_onnx(model, "model.onnx", "weights.bin", size_threshold=0)
    before = Path("weights.bin").read_bytes()
    for command in (("convert", "model.onnx", "--fp-to-fp16"), ("surgeon", "sanitize", "model.onnx")):
        done = polycmp(*command, "-o", "out.onnx", "--save-external-data", "weights.bin")
        assert (done.status, "would be lost" in done.err) == (2, True)
    assert Path("weights.bin").read_bytes() == before and not Path("out.onnx").exists()


def test_a_weight_at_the_border_of_what_is_read_of_a_large_file(polycmp):
    """4096 bytes with a name are more than the structure of a file keeps, and what inference looks at."""
    weights = [("w", np.ones(1024, np.float32)), ("large", np.ones((1024, 512), np.float32))]
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("MatMul", ["a", "large"], ["y"])]
    onnx.save(graph_model(nodes, [("x", FLOAT, [1, 1024])], [("y", FLOAT, [1, 512])], weights), "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "-o", "out.onnx")
    assert done.status == 0 and "it computes what model.onnx does" in done.out, done.err


def test_a_model_without_its_weights_is_verified_as_far_as_it_is_there(polycmp):
    model = graph_model(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [("x", FLOAT, [64])],
        [("y", FLOAT, [64])],
        [("w", np.arange(64, dtype=np.float32))],
    )
    save_onnx(model, "model.onnx", "weights.bin", size_threshold=0)
    Path("weights.bin").unlink()
    words = ("surgeon", "sanitize", "model.onnx", "--ignore-external-data", "--toposort", "-o", "out.onnx")
    done = polycmp(*words)
    assert done.status == 0 and done.out.splitlines()[-1] == "verified: ONNX's rules", done.err


def test_a_rule_that_the_original_breaks_is_not_said_to_be_kept(polycmp):
    made = graph_model(
        [helper.make_node("Neg", ["h"], ["y"], "late"), helper.make_node("Relu", ["x"], ["h"], "early")],
        [("x", FLOAT, [2])],
        [("y", FLOAT, [2])],
    )
    onnx.save(made, "unsorted.onnx")
    done = polycmp("surgeon", "sanitize", "unsorted.onnx", "--override-input-shapes", "x:[2]", "-o", "same.onnx")
    assert done.status == 0, done.err
    assert "as it did before: Nodes in a graph must be topologically sorted" in done.err
    assert "is not output of any previous nodes." in done.err
    assert done.out.splitlines()[-1] == "verified: onnxrt loads it, it computes what unsorted.onnx does"
