"""`polycmp check lint`: every fault of a model with its node, the reason, and what to do."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from lint_models import F, save
from onnx import TensorProto, helper
from small_models import save_graph


def levels(found):
    return {(entry["level"], *entry.get("nodes", [])) for entry in found["lint_entries"]}


def test_a_sound_model(lint, tmp_path):
    save(tmp_path / "model.onnx", [helper.make_node("Relu", ["x"], ["y"], "relu")])
    done, found = lint()
    assert done.status == 0
    assert found["lint_entries"] == []
    assert found["summary"] == {"passing": ["relu"], "failing": [], "skipped": []}


def test_every_node_that_fails_by_itself_is_found_and_none_that_only_follows(lint, tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "wide"], ["m"], "first"),
        helper.make_node("Relu", ["m"], ["r"], "follows"),
        helper.make_node("Add", ["x", "three"], ["a"], "second"),
        helper.make_node("Sigmoid", ["x"], ["s"], "sound"),
    ]
    weights = {"wide": np.ones((5, 3), np.float32), "three": np.ones(3, np.float32)}
    save(tmp_path / "model.onnx", nodes, ("r", "a", "s"), weights)
    done, found = lint()
    assert done.status == 1
    assert found["summary"] == {"passing": ["sound"], "failing": ["first", "second"], "skipped": ["follows"]}
    assert all(entry["message"] and entry["hint"] for entry in found["lint_entries"])
    assert "first (MatMul)" in done.out
    assert "next:" in done.out


@pytest.mark.parametrize(
    ("node", "says"),
    [
        (helper.make_node("Nonsense", ["x"], ["y"], "n"), "no such operator"),
        (helper.make_node("Relu", ["x"], ["y"], "n", slope=1.0), "slope"),
        (helper.make_node("Relu", ["nobody"], ["y"], "n"), "which nothing makes"),
        (helper.make_node("Mine", ["x"], ["y"], "n", domain="org.mine"), "no operator set of domain 'org.mine'"),
    ],
)
def test_what_onnx_forbids(lint, tmp_path, node, says):
    save(tmp_path / "model.onnx", [node])
    done, found = lint()
    assert done.status == 1
    assert says in found["lint_entries"][0]["message"]
    assert found["lint_entries"][0]["nodes"] == ["n"]


def test_nodes_in_the_wrong_order_are_named_and_run_all_the_same(lint, tmp_path):
    nodes = [helper.make_node("Relu", ["h"], ["y"], "late"), helper.make_node("Neg", ["x"], ["h"], "early")]
    save(tmp_path / "model.onnx", nodes)
    done, found = lint()
    assert done.status == 1
    assert "only a later node makes" in found["lint_entries"][0]["message"]
    assert found["summary"]["passing"] == ["early"]


def test_nodes_of_one_name(lint, tmp_path):
    save(
        tmp_path / "model.onnx",
        [helper.make_node("Neg", ["x"], ["h"], "n"), helper.make_node("Neg", ["h"], ["y"], "n")],
    )
    done, found = lint()
    assert done.status == 1
    assert found["lint_entries"][0]["message"] == (
        "Duplicate node name: 'n' for nodes with topological IDs: [0, 1] found."
    )


def test_constants_of_one_name_keep_no_runtime_from_loading_the_model(lint, tmp_path):
    nodes = [
        *(helper.make_node("Constant", [], [name], "anonymous", value_float=1.0) for name in "ab"),
        helper.make_node("Add", ["a", "b"], ["c"], "sum"),
        helper.make_node("Add", ["x", "c"], ["y"], "add"),
    ]
    save(tmp_path / "model.onnx", nodes)
    done, found = lint()
    assert (done.status, levels(found)) == (0, {("warning", "anonymous")})
    assert found["summary"]["failing"] == []


def test_custom_operators_are_information(lint, tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["h"], "known"),
        helper.make_node("Mine", ["h"], ["c"], "custom", domain="org.mine"),
        helper.make_node("Neg", ["c"], ["y"], "behind"),
    ]
    save(tmp_path / "model.onnx", nodes, opsets=(("", 20), ("org.mine", 1)))
    done, found = lint()
    assert done.status == 0
    assert levels(found) == {("info", "custom")}
    assert found["summary"] == {"passing": ["known"], "failing": [], "skipped": ["custom", "behind"]}


def test_what_nobody_uses_is_a_warning(lint, tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["y"], "used"), helper.make_node("Neg", ["x"], ["d"], "dead")]
    inputs = (("x", [2, 4]), ("z", [1]))
    save(tmp_path / "model.onnx", nodes, weights={"w": np.ones(3, np.float32)}, inputs=inputs)
    done, found = lint()
    assert done.status == 0
    assert levels(found) == {("warning",), ("warning", "dead")}
    assert {"'z'", "w"} <= {word for entry in found["lint_entries"] for word in entry["message"].split()}


def test_a_model_without_nodes_is_odd_and_not_wrong(lint, tmp_path):
    save(tmp_path / "model.onnx", [], outputs=("x",))
    done, found = lint()
    assert done.status == 0
    assert levels(found) == {("warning",)}
    assert [(entry["source"], entry["message"]) for entry in found["lint_entries"]] == [
        ("onnx_loader", "ONNX model has no nodes")
    ]


def test_a_type_that_is_no_text_is_named(lint, tmp_path):
    file = tmp_path / "model.onnx"
    save(file, [helper.make_node("Relu", ["x"], ["y"], "n")])
    file.write_bytes(file.read_bytes().replace(b"Relu", b"Re\xf5u"))
    done, found = lint()
    assert (done.status, levels(found)) == (1, {("exception", "n")})
    assert "is no text" in done.out


def test_what_only_unused_nodes_read_is_unused_too(lint, tmp_path):
    nodes = [
        helper.make_node("Neg", ["e"], ["d"], "first"),
        helper.make_node("Add", ["d", "w"], ["g"], "second"),
        helper.make_node("Relu", ["x"], ["y"], "used"),
    ]
    inputs = (("x", [2, 4]), ("e", [2, 4]))
    save(tmp_path / "model.onnx", nodes, weights={"w": np.ones(4, np.float32)}, inputs=inputs)
    done, found = lint()
    assert done.status == 0
    assert [entry.get("nodes", []) for entry in found["lint_entries"]] == [[], ["first"], ["second"], []]
    assert "Input: 'e' does not affect outputs, can be removed." in done.out
    assert "1 of the weights do not affect outputs, can be removed: w" in done.out


def test_an_output_whose_shape_is_not_noted_is_no_error(lint, tmp_path):
    made = helper.make_tensor_value_info("y", 1, None)
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], "relu")], "net", [helper.make_tensor_value_info("x", 1, [2])], [made]
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), "model.onnx")
    done, found = lint()
    assert done.status == 0, done.out
    assert [entry["level"] for entry in found["lint_entries"]] == ["info"]
    assert "the shape of the output 'y' is not noted" in done.out
    assert found["summary"]["passing"] == ["relu"]


def body(nodes, outputs, inputs=()):
    return helper.make_graph(
        nodes,
        "body",
        [helper.make_tensor_value_info(*item) for item in inputs],
        [helper.make_tensor_value_info(*item) for item in outputs],
    )


def branches(then, other="Neg"):
    """An If whose branches read `x`, which is made around it."""
    made = [body([helper.make_node(op, ["h"], ["b"], op)], [("b", F, [2, 4])]) for op in (then, other)]
    return helper.make_node("If", ["c"], ["y"], "choice", then_branch=made[0], else_branch=made[1])


B, INT = TensorProto.BOOL, TensorProto.INT64


def scan_over_x():
    nodes = [helper.make_node("Add", ["s", "row"], ["sum"]), helper.make_node("Mul", ["sum", "h"], ["seen"])]
    made = body(nodes, [("sum", F, [4]), ("seen", F, [2, 4])], [("s", F, [4]), ("row", F, [4])])
    return helper.make_node("Scan", ["start", "x"], ["last", "y"], "rows", body=made, num_scan_inputs=1)


def loop_over_x():
    made = body(
        [helper.make_node("Add", ["s", "h"], ["t"]), helper.make_node("Identity", ["go"], ["on"])],
        [("on", B, []), ("t", F, [2, 4])],
        [("i", INT, []), ("go", B, []), ("s", F, [2, 4])],
    )
    return helper.make_node("Loop", ["three", "", "x"], ["y"], "again", body=made)


@pytest.mark.parametrize(
    ("node", "shape"),
    [(branches("Relu"), [2, 4]), (loop_over_x(), [2, 4]), (scan_over_x(), [2, 2, 4])],
    ids=["If", "Loop", "Scan"],
)
def test_bodies_may_read_what_is_around_them(lint, tmp_path, node, shape):
    before = [helper.make_node("Exp", ["x"], ["h"], "before"), helper.make_node("Cast", ["three"], ["c"], "c", to=B)]
    weights = {"three": np.array(3, np.int64), "start": np.zeros(4, np.float32)}
    nodes = [*before, node]
    kept = [(name, array) for name, array in weights.items() if name == "three" or name in node.input]
    save_graph(tmp_path / "model.onnx", nodes, [("x", F, [2, 4])], [("y", F, shape)], kept)
    onnx.checker.check_model("model.onnx", full_check=True)
    done, found = lint()
    assert done.status == 0, done.out
    assert not [entry for entry in found["lint_entries"] if entry["level"] == "exception"]
    assert found["summary"]["failing"] == []


@pytest.mark.parametrize("then", ["Nonsense", "MatMul"])
def test_a_fault_in_a_body_is_found_with_its_operator(lint, tmp_path, then):
    nodes = [helper.make_node("Exp", ["x"], ["h"], "before"), branches(then)]
    save_graph(tmp_path / "model.onnx", nodes, [("x", F, [2, 4]), ("c", B, [])], [("y", F, [2, 4])])
    done, found = lint()
    assert done.status == 1
    assert ("exception", "choice") in levels(found)


def test_a_body_that_reads_what_nothing_makes(lint, tmp_path):
    save_graph(tmp_path / "model.onnx", [branches("Relu")], [("x", F, [2, 4]), ("c", B, [])], [("y", F, [2, 4])])
    done, _ = lint()
    assert done.status == 1
    assert "it reads 'h', which nothing makes" in done.out


def test_a_model_that_no_runtime_loads_though_each_node_runs_by_itself(lint, tmp_path):
    half = TensorProto.FLOAT16  # as converters to float16 leave it that forget an output
    nodes = [helper.make_node("Cast", ["x"], ["h"], "half", to=half), helper.make_node("Relu", ["h"], ["y"], "relu")]
    save_graph(tmp_path / "model.onnx", nodes, [("x", F, [2, 4])], [("y", F, [2, 4])])
    with pytest.raises(onnx.shape_inference.InferenceError):
        onnx.checker.check_model("model.onnx", full_check=True)
    done, found = lint()
    assert done.status == 1
    messages = [entry["message"] for entry in found["lint_entries"] if entry["level"] == "exception"]
    assert any("the model is not loaded" in text and "float16" in text for text in messages), messages
    assert any("Inferred elem type differs" in text or "float16" in text.lower() for text in messages), messages
    assert all(entry["hint"] for entry in found["lint_entries"])


def test_what_only_inference_refuses_is_a_warning(lint, tmp_path):
    save_graph(
        tmp_path / "model.onnx",
        [helper.make_node("Relu", ["x"], ["y"], "relu")],
        [("x", F, [2, 4])],
        [("y", F, [3, 4])],
    )
    done, found = lint()
    assert done.status == 0, done.out
    assert levels(found) == {("warning",)}
    assert "loads the model all the same" in done.out
    assert found["summary"]["passing"] == ["relu"]


def test_a_version_that_wants_weights_among_the_inputs_is_checked_as_it_is(lint, tmp_path):
    save_graph(
        tmp_path / "model.onnx",
        [helper.make_node("Add", ["x", "w"], ["y"], "add")],
        [("x", F, [4])],
        [("y", F, [4])],
        [("w", np.ones(4, np.float32))],
        opset=8,
    )
    model = onnx.load("model.onnx")
    model.ir_version = 3
    onnx.save(model, "model.onnx")
    done, _ = lint()
    assert done.status == 1
    assert "w in initializer but not in graph input" in done.out
