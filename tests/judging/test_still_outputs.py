"""Models none of whose outputs moves with the inputs, as those of detectors of one word do: no comparison is a pass."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from in_parts import a_few, each_once, spelled
from onnx import TensorProto, helper
from small_models import graph_model

node = helper.make_node
FLOAT = TensorProto.FLOAT
#: What a network ends with whose inner Relu is 0 for all inputs in use, and the type and shape of the output.
ENDS = {
    "zeros": ([node("Identity", ["z"], ["y"])], FLOAT, [2, 4]),
    "a half": ([node("Sigmoid", ["z"], ["y"])], FLOAT, [2, 4]),
    "one score": ([node("ReduceMax", ["z"], ["q"]), node("Sigmoid", ["q"], ["y"])], FLOAT, [1, 1]),
    "one byte": ([node("ReduceMax", ["z"], ["q"]), node("QuantizeLinear", ["q", "s", "zp"], ["y"])], 2, [1, 1]),
    "a class": ([node("ArgMax", ["z"], ["y"], axis=1, keepdims=0)], TensorProto.INT64, [2]),
    "a mask": ([node("Greater", ["z", "s"], ["y"])], TensorProto.BOOL, [2, 4]),
    "biases": ([node("Add", ["z", "c"], ["y"])], FLOAT, [2, 4]),
}


def network(end: str, factor: float = 1.0, bias: float = -30.0, also: bool = False) -> onnx.ModelProto:
    """Return x [2,16] -> MatMul, Add, Relu, MatMul -> an end; and the sum of x, if asked for."""
    rng = np.random.default_rng(0)
    first = rng.standard_normal((16, 8)).astype(np.float32) * np.float32(factor)
    weights = [
        ("w", first), ("b", np.full(8, bias, np.float32)), ("v", rng.random((8, 4), np.float32)),
        ("s", np.float32(1 / 255)), ("zp", np.uint8(0)), ("c", np.arange(1, 5, dtype=np.float32)),
    ]  # fmt: skip
    last, kind, shape = ENDS[end]
    nodes = [
        node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["a"]), node("Relu", ["a"], ["r"]),
        node("MatMul", ["r", "v"], ["z"]), *last,
    ]  # fmt: skip
    outputs = [("y", kind, shape)]
    if also:
        nodes.append(node("ReduceSum", ["x"], ["sum"], keepdims=0))
        outputs.append(("sum", FLOAT, []))
    used = {name for item in nodes for name in item.input}
    weights = [item for item in weights if item[0] in used]
    return graph_model(nodes, [("x", FLOAT, [2, 16])], outputs, weights)


@pytest.fixture
def against(polycmp, tmp_path):
    """Compare two models, the first with a weight that is half as large again."""

    def run(*words: str, command: str = "run", fault: float = 1.5, **kind):
        onnx.save(network(factor=fault, **kind), tmp_path / "new.onnx")
        onnx.save(network(**kind), tmp_path / "old.onnx")
        return polycmp(command, "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", *words)

    return run


@pytest.mark.parametrize(("end", "words"), each_once(ENDS, [(), ("--tolerance", "auto")]), ids=spelled)
def test_no_fault_is_passed_where_no_output_moves_with_the_inputs(against, end, words):
    said = against(*words, end=end)
    assert said.status == 3, said.out
    assert "BLIND" in said.out and "no output depends on the inputs" in " ".join(said.out.split()), said.out
    assert against(command="locate", end=end).status == 1


@pytest.mark.parametrize(
    "words",
    [("--iterations", "3"), ("--sequential-runners",), ("--iterations", "3", "--sequential-runners")],
    ids=" ".join,
)
def test_several_iterations_and_runs_one_by_one_show_it_too(against, words):
    assert against(*words, end="one score").status == 3


def test_inputs_of_a_file_are_varied_too(against, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(1).random((2, 16), np.float32))
    assert against("--load-inputs", "x.npz", end="one byte").status == 3


@pytest.mark.parametrize("words", [(), ("--sequential-runners",)], ids=" ".join)
def test_several_files_show_it_as_one_does(against, tmp_path, words):
    for index in range(2):
        np.savez(tmp_path / f"x{index}.npz", x=np.random.default_rng(index).random((2, 16), np.float32))
    said = against("--load-inputs", "x0.npz", "x1.npz", *words, end="a half")
    assert said.status == 3 and "no output depends on the inputs" in " ".join(said.out.split()), said.out


@pytest.mark.parametrize(
    ("file", "words"), each_once(["saved.npz", "saved.json", "saved"], [(), ("--iterations", "2")]), ids=spelled
)
def test_saved_outputs_say_that_no_output_moves(against, polycmp, file, words):
    assert against("--save-outputs", file, *words, end="a class").status == 3
    said = polycmp("compare", file)
    assert said.status == 3 and "no output depends on the inputs" in " ".join(said.out.split()), said.out
    assert polycmp("compare", file, "--allow-blind").status == 0


def test_outputs_that_each_side_saved_alone_say_it_too(polycmp, tmp_path):
    for name, factor in (("new", 1.5), ("old", 1.0)):
        onnx.save(network("a mask", factor), tmp_path / f"{name}.onnx")
        assert polycmp("run", f"{name}.onnx", "-b", "onnx", "--save-outputs", f"{name}.npz").status == 0
    assert polycmp("compare", "new.npz", "old.npz").status == 3


def test_outputs_that_move_are_compared_when_they_were_saved(against, polycmp):
    for fault, status in ((1.0, 0), (1.5, 1)):
        assert against("--save-outputs", "saved.npz", end="biases", bias=0.0, fault=fault).status == status
        assert polycmp("compare", "saved.npz").status == status


def many(factor: float, also: bool) -> onnx.ModelProto:
    """Return the network with eight outputs that are one score each, so that it is compared part by part."""
    model = network("one score", factor, also=also)
    for index in range(8):
        model.graph.node.append(node("Mul", ["y", "y"], [f"y{index}"]))
        model.graph.output.append(helper.make_tensor_value_info(f"y{index}", FLOAT, [1, 1]))
    return model


@pytest.mark.parametrize("also", [False, True])
def test_models_of_many_outputs_are_asked_too(polycmp, tmp_path, also):
    for name, factor in (("new", 1.5), ("old", 1.0)):
        onnx.save(many(factor, also), tmp_path / f"{name}.onnx")
    said = polycmp("run", "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx")
    assert said.status == 3, said.out
    assert words_of(said, "sum")[0] == "ok" if also else "sum" not in said.out
    assert words_of(said, "y")[0] == words_of(said, "y7")[0] == "BLIND"


def test_tensors_inside_show_a_fault_that_no_output_does(against):
    """Nothing is blind where all tensors are compared: a fault is seen in the first of them that it reaches."""
    assert [against("--mark-all", end="a half", fault=fault).status for fault in (1.0, 1.5)] == [0, 1]


@pytest.mark.parametrize(("bias", "status"), [(-30.0, 3), (0.0, 0)])
@pytest.mark.parametrize("steps", ["1", "4"])
def test_steps_of_a_state_show_it_too(polycmp, tmp_path, bias, status, steps):
    rng = np.random.default_rng(0)
    weights = [
        ("w", rng.standard_normal((4, 4)).astype(np.float32)), ("b", np.full(4, bias, np.float32)),
        ("u", rng.standard_normal((4, 4)).astype(np.float32)),
    ]  # fmt: skip
    nodes = [
        node("MatMul", ["x", "w"], ["m"]), node("MatMul", ["h", "u"], ["k"]), node("Sum", ["m", "k", "b"], ["a"]),
        node("Relu", ["a"], ["h_out"]), node("Sigmoid", ["h_out"], ["y"]),
    ]  # fmt: skip
    kinds = [("x", FLOAT, [1, 4]), ("h", FLOAT, [1, 4])], [("y", FLOAT, [1, 4]), ("h_out", FLOAT, [1, 4])]
    onnx.save(graph_model(nodes, *kinds, weights), tmp_path / "m.onnx")
    words = ["--steps", steps, "--state", "h_out=h", "--save-outputs", "saved.npz"]
    said = polycmp("run", "m.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old", *words)
    assert said.status == status, said.out
    assert polycmp("compare", "saved.npz").status == status


def words_of(said, output: str) -> list[str]:
    """Return the words of an output's row."""
    rows = (line.split() for line in said.out.splitlines())
    return next(row for row in rows if row[1:2] == [output])


@pytest.mark.parametrize("end", ["a class", "a mask", "one byte"])
def test_a_decision_beside_what_moves_may_stay_as_it_is(against, end):
    assert against(end=end, also=True, fault=1.0).status == 0


@pytest.mark.parametrize("end", ["zeros", "a half", "one score", "biases"])
@pytest.mark.parametrize("words", a_few([(), ("--iterations", "2"), ("--sequential-runners",)]), ids=" ".join)
def test_an_output_that_no_input_moves_is_blind_by_name_beside_one_that_moves(against, end, words):
    said = against(*words, end=end, also=True)
    assert said.status == 3, said.out
    assert (words_of(said, "y")[0], words_of(said, "sum")[0]) == ("BLIND", "ok"), said.out
    assert "'y' does not depend on the inputs" in " ".join(said.out.split())
    assert against(*words, "--allow-blind", "y", end=end, also=True).status == 0
    assert against(*words, end=end, also=True, bias=0.0).status == 1
    assert against(*words, end=end, also=True, bias=0.0, fault=1.0).status == 0


@pytest.mark.parametrize("file", ["saved.npz", "saved.json", "saved.safetensors", "saved"])
@pytest.mark.parametrize("words", a_few([(), ("--iterations", "2"), ("--sequential-runners",)]), ids=" ".join)
def test_saved_outputs_say_which_of_them_do_not_move(against, polycmp, file, words):
    assert against("--save-outputs", file, *words, end="a half", also=True).status == 3
    said = polycmp("compare", file)
    assert (said.status, words_of(said, "y")[0], words_of(said, "sum")[0]) == (3, "BLIND", "ok"), said.out
    assert polycmp("compare", file, "--allow-blind", "y").status == 0
    assert against("--save-outputs", file, *words, end="a half", also=True, bias=0.0, fault=1.0).status == 0
    assert polycmp("compare", file).status == 0


@pytest.mark.parametrize("words", [(), ("--sequential-runners",)], ids=" ".join)
def test_files_of_before_say_it_of_all_outputs(against, polycmp, tmp_path, words):
    import json

    against("--save-outputs", "saved.json", *words, end="a half", also=True)
    document = json.loads((tmp_path / "saved.json").read_text())
    for _, iterations in document["lst"]:
        assert [iteration["insensitive"] for iteration in iterations] == [["y"]]
        iterations[0]["insensitive"] = True
    (tmp_path / "saved.json").write_text(json.dumps(document))
    said = polycmp("compare", "saved.json")
    assert said.status == 3 and "no output depends on the inputs" in " ".join(said.out.split()), said.out


@pytest.mark.parametrize("words", [(), ("--sequential-runners",)], ids=" ".join)
def test_outputs_and_inputs_of_other_names_are_the_same_ones(polycmp, tmp_path, words):
    onnx.save(network("a half", also=True), tmp_path / "old.onnx")
    renamed = network("a half", 1.5, also=True)
    for item in (*renamed.graph.input, *renamed.graph.output):
        item.name = {"x": "image", "y": "score"}.get(item.name, item.name)
    for item in renamed.graph.node:
        for names in (item.input, item.output):
            names[:] = [{"x": "image", "y": "score"}.get(name, name) for name in names]
    onnx.save(renamed, tmp_path / "new.onnx")
    for one, two, name, pair in (("new", "old", "score", "score=y"), ("old", "new", "y", "y=score")):
        runs = ("-b", f"onnx:name={one}", "-b", f"onnx:name={two},model={two}.onnx")
        said = polycmp("run", f"{one}.onnx", *runs, "--map-output", pair, *words, "--save-outputs", "saved.npz")
        assert (said.status, words_of(said, name)[0], words_of(said, "sum")[0]) == (3, "BLIND", "ok"), (
            said.out + said.err
        )
        said = polycmp("compare", "saved.npz", "--map-output", pair)
        assert (said.status, words_of(said, name)[0], words_of(said, "sum")[0]) == (3, "BLIND", "ok"), (
            said.out + said.err
        )


def layers(*factors: float, biases: bool = False) -> onnx.ModelProto:
    """Return x [2,16] through matrices with a Relu between, without a bias or with one each."""
    rng, nodes, weights, name = np.random.default_rng(0), [], [], "x"
    for index, factor in enumerate(factors):
        shape = (16, 8) if index == 0 else (8, 8)
        weights.append((f"w{index}", (rng.standard_normal(shape) * factor).astype(np.float32)))
        weights.append((f"b{index}", rng.standard_normal(8).astype(np.float32) if biases else np.zeros(8, np.float32)))
        nodes.append(node("MatMul", [name, f"w{index}"], [f"m{index}"]))
        nodes.append(node("Add", [f"m{index}", f"b{index}"], [f"a{index}"]))
        nodes.append(node("Relu" if index + 1 < len(factors) else "Identity", [f"a{index}"], [f"r{index}"]))
        name = f"r{index}"
    return graph_model(nodes, [("x", FLOAT, [2, 16])], [(name, FLOAT, [2, 8])], weights)


@pytest.mark.parametrize(
    ("depth", "words"),
    each_once(
        [1, 2],
        [
            (),
            ("--tolerance", "auto"),
            ("--atol", "1e-5"),
            ("--sequential-runners",),
            ("--mark-all",),
            ("--iterations", "2"),
        ],
    ),
    ids=spelled,
)
def test_inputs_of_zeros_reach_no_weights(polycmp, tmp_path, depth, words):
    """Outputs that are 0 whatever the weights are do move with other inputs, which says nothing of these."""
    onnx.save(layers(*[3.0] * depth), tmp_path / "new.onnx")
    onnx.save(layers(*[1.0] * depth), tmp_path / "old.onnx")
    np.savez(tmp_path / "zeros.npz", x=np.zeros((2, 16), np.float32))
    command = ("run", "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx")
    for inputs in (("--val-range", "[0,0]"), ("--load-inputs", "zeros.npz")):
        said = polycmp(*command, *inputs, *words)
        assert said.status == 3 and "BLIND" in said.out, said.out
    assert polycmp(*command, "--val-range", "[1,1]", *words).status == 1


def test_inputs_of_zeros_compare_what_biases_make(polycmp, tmp_path):
    onnx.save(layers(1.0, 1.0, biases=True), tmp_path / "new.onnx")
    onnx.save(layers(1.0, 3.0, biases=True), tmp_path / "old.onnx")
    for old, status in (("new", 0), ("old", 1)):
        words = ("-b", "onnx:name=new", "-b", f"onnx:name=old,model={old}.onnx", "--val-range", "[0,0]")
        assert polycmp("run", "new.onnx", *words).status == status


@pytest.mark.parametrize(
    ("shape", "inputs"), each_once([(4,), (1, 4), (2, 4), (2, 1)], [(), ("--val-range", "[0,0]")]), ids=spelled
)
def test_weights_behind_a_dead_part_do_not_revive_it(against, polycmp, tmp_path, shape, inputs):
    """A bias of any shape, such as position embeddings or learnt queries, moves the output, and says nothing of it."""
    bias = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    for name, fault in (("new", 1.5), ("old", 1.0)):
        model = network("biases", fault)
        held = next(item for item in model.graph.initializer if item.name == "c")
        held.CopyFrom(onnx.numpy_helper.from_array(bias, "c"))
        onnx.save(model, tmp_path / f"{name}.onnx")
    said = polycmp("run", "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", *inputs)
    assert said.status == 3 and "BLIND" in said.out, said.out


def test_a_part_that_rounding_hides_behind_a_number_is_dead_too(polycmp, tmp_path):
    rng = np.random.default_rng(0)
    weights = [("small", np.float32(1e-7)), ("half", np.float32(0.5)), ("w", rng.random((16, 8), np.float32))]
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Mul", ["m", "small"], ["s"]), node("Add", ["s", "half"], ["y"])]
    for name, factor in (("new", 3.0), ("old", 1.0)):
        changed = [*weights[:2], ("w", weights[2][1] * np.float32(factor))]
        onnx.save(
            graph_model(nodes, [("x", FLOAT, [2, 16])], [("y", FLOAT, [2, 8])], changed), tmp_path / f"{name}.onnx"
        )
    words = ("-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx")
    assert polycmp("run", "new.onnx", *words, "--atol", "1e-5").status == 3


def test_an_output_may_be_accepted_as_it_is(against):
    said = against("--allow-blind", "y", end="a mask")
    assert said.status == 0 and "accepted: --allow-blind" in said.out, said.out


def test_indices_that_are_always_0_are_inputs_that_move_nothing(polycmp, tmp_path):
    """Ids that are drawn from 0 to 1 are all 0: what shows is one row of the table."""
    rng = np.random.default_rng(0)
    weights = [("table", rng.random((9, 8), np.float32)), ("w", rng.random((8, 4), np.float32))]
    nodes = [
        node("Cast", ["x"], ["ids"], to=TensorProto.INT64), node("Gather", ["table", "ids"], ["e"]),
        node("MatMul", ["e", "w"], ["y"]),
    ]  # fmt: skip
    for name, factor in (("new", 1.5), ("old", 1.0)):
        changed = [weights[0], ("w", weights[1][1] * np.float32(factor))]
        onnx.save(
            graph_model(nodes, [("x", FLOAT, [1, 6])], [("y", FLOAT, [1, 6, 4])], changed), tmp_path / f"{name}.onnx"
        )
    for new, words, status in (("old", (), 3), ("old", ("--val-range", "[0,8]"), 0), ("new", (), 1)):
        said = polycmp("run", f"{new}.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", *words)
        assert said.status == status, said.out


@pytest.mark.parametrize("end", ["one score", "biases"])
def test_outputs_that_move_are_compared(against, end):
    assert [against(end=end, bias=0.0, fault=fault).status for fault in (1.0, 1.5)] == [0, 1]


def test_an_operator_alone_may_make_the_same_of_all_inputs(polycmp, tmp_path):
    """A shift by 64 leaves 0 of whatever is shifted; a backend that does it wrong shows it all the same."""
    nodes, kind = [node("BitShift", ["x", "by"], ["y"], direction="RIGHT")], TensorProto.UINT64
    onnx.save(
        graph_model(nodes, [("x", kind, [4])], [("y", kind, [4])], [("by", np.array([63], np.uint64))]),
        tmp_path / "m.onnx",
    )
    np.savez(tmp_path / "x.npz", x=np.array([1000, 255, 1, 42], np.uint64))
    said = polycmp("run", "m.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old", "--load-inputs", "x.npz")
    assert said.status == 0, said.out


def test_outputs_that_follow_from_shapes_or_weights_need_not_move(polycmp, tmp_path):
    nodes = [node("Shape", ["x"], ["y"]), node("Neg", ["w"], ["v"])]
    outputs = [("y", TensorProto.INT64, [2]), ("v", FLOAT, [2])]
    weights = [("w", np.float32([1, 2]))]
    onnx.save(graph_model(nodes, [("x", FLOAT, [2, 3])], outputs, weights), tmp_path / "m.onnx")
    assert polycmp("run", "m.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old").status == 0
