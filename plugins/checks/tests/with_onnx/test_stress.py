"""`--data-loader stress` as a user meets it: bugs that the default misses, and a command that repeats each failure."""

from __future__ import annotations

import html
import json
import shlex

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model, small_model, unary_model

STRESS = ("--data-loader", "stress")


def save(path, nodes, inputs, outputs, weights=(), opset=17):
    onnx.save(graph_model(nodes, inputs, outputs, weights, opset), path)


@pytest.fixture
def pool(tmp_path):
    """Pad and MaxPool: some versions of ONNX Runtime fuse them, though one pads with 0 and the other with -inf."""
    save(
        tmp_path / "pool.onnx",
        [
            helper.make_node("Pad", ["x", "pads"], ["p"]),
            helper.make_node("MaxPool", ["p"], ["y"], kernel_shape=[2, 2], strides=[1, 1]),
        ],
        [("x", TensorProto.FLOAT, [1, 1, 3, 3])],
        [("y", TensorProto.FLOAT, [1, 1, 4, 4])],
        [("pads", np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64))],
        opset=13,
    )
    return "pool.onnx"


@pytest.fixture
def tokens(tmp_path):
    """Token numbers through a Cast into a table of 30 rows, and a mask."""
    table = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
    save(
        tmp_path / "tokens.onnx",
        [
            helper.make_node("Cast", ["ids"], ["wide"], to=TensorProto.INT64),
            helper.make_node("Gather", ["table", "wide"], ["e"]),
            helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["m", "axes"], ["m3"]),
            helper.make_node("Mul", ["e", "m3"], ["y"]),
        ],
        [("ids", TensorProto.INT32, ["batch", "seq"]), ("attention_mask", TensorProto.INT64, ["batch", "seq"])],
        [("y", TensorProto.FLOAT, ["batch", "seq", 4])],
        [("table", table), ("axes", np.array([2], np.int64))],
    )
    return "tokens.onnx"


def fails_on_minus_one(path):
    """Whether the installed ONNX Runtime has the fault, asked without polycmp."""
    import onnxruntime

    found = []
    for level in (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    ):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        found.append(session.run(None, {"x": np.full((1, 1, 3, 3), -1, np.float32)})[0])
    return not np.array_equal(*found)


def test_a_miscompile_that_the_default_inputs_hide(polycmp, pool, tmp_path):
    backends = ("-b", "onnxrt:optimization=all", "-b", "onnxrt:optimization=off")
    assert polycmp("run", pool, *backends).status == 0
    assert polycmp("run", pool, *backends, *STRESS).status == int(fails_on_minus_one(tmp_path / pool))


@pytest.fixture
def squashing(tmp_path):
    """Two models that agree on [0, 1] and differ below 0."""
    onnx.save(unary_model("Identity"), tmp_path / "identity.onnx")
    onnx.save(unary_model("Relu"), tmp_path / "relu.onnx")
    return "relu.onnx", ("-b", "onnxrt", "-b", "onnxrt:model=identity.onnx")


def test_the_report_says_on_which_inputs_it_failed_and_how_to_repeat_that(polycmp, squashing, tmp_path):
    model, backends = squashing
    assert polycmp("run", model, *backends).status == 0
    done = polycmp("run", model, *backends, *STRESS, "--report", "r.json")
    assert done.status == 1
    assert "signed, seed 1" in done.out
    repeats = json.loads((tmp_path / "r.json").read_text())["repeats"]
    assert {item["inputs"].partition(",")[0] for item in repeats} >= {"signed", "large", "boundary"}
    assert all(item["command"] in done.out for item in repeats)


def test_the_command_repeats_that_feed_and_its_failure(polycmp, tmp_path, monkeypatch):
    onnx.save(small_model(), tmp_path / "a.onnx")
    onnx.save(small_model(seed=1), tmp_path / "b.onnx")
    words = ["run", "--stress-sizes", "2", "3", "--inputs", "x:[5,8]", "a.onnx"]
    words = [*words[:4], *words[6:], "-b", "onnxrt", "-b", "onnxrt:model=b.onnx", *STRESS]
    words += ["--save-inputs", "all", "--report=r.json", "--stress-kinds", "signed", "large"]
    monkeypatch.setattr("sys.argv", ["polycmp", *words])
    assert polycmp(*words).status == 1
    repeats = json.loads((tmp_path / "r.json").read_text())["repeats"]
    assert len(repeats) == 6
    for item in repeats[:4]:
        again = [*shlex.split(item["command"])[1:], "--save-inputs", "one.npz", "--report", "one.json"]
        assert "all" not in again
        assert "r.json" not in item["command"]
        monkeypatch.setattr("sys.argv", ["polycmp", *again])
        assert polycmp(*again).status == 1
        [only] = json.loads((tmp_path / "one.json").read_text())["repeats"]
        assert item["inputs"].startswith(only["inputs"])
        np.testing.assert_array_equal(saved(tmp_path / "one.npz")[0], folder(tmp_path / "all")[item["iteration"]])


def saved(path):
    return [np.load(path)[key] for key in np.load(path)]


def folder(path):
    return [saved(item)[0] for item in sorted(path.rglob("*.npz"))]


def test_token_numbers_stay_inside_the_table_and_reach_its_last_row(polycmp, tokens, tmp_path):
    done = polycmp("run", tokens, "-b", "onnxrt", "-b", "onnx", *STRESS, "--save-inputs", "in.npz")
    assert done.status == 0, done.out
    assert "become 1" not in done.err
    assert "NaN at the same place on both sides is equal" in " ".join(done.out.split())
    arrays = np.load(tmp_path / "in.npz")
    ids = [arrays[key] for key in arrays if key.endswith("ids")]
    masks = [arrays[key] for key in arrays if key.endswith("mask")]
    assert (min(item.min() for item in ids), max(item.max() for item in ids)) == (0, 29)
    assert all(one.shape == other.shape for one, other in zip(ids, masks, strict=True))
    assert len({item.shape for item in ids}) == 5
    assert any(not item.any() for item in masks)


def test_overflow_on_both_sides_is_agreement_unless_asked_otherwise(polycmp, tmp_path):
    onnx.save(unary_model("Exp"), tmp_path / "exp.onnx")
    words = ("run", "exp.onnx", "-b", "onnxrt", "-b", "onnx", *STRESS, "--stress-kinds", "limits", "large")
    assert polycmp(*words).status == 0
    assert polycmp(*words, "--nan", "forbid").status == 0  # it overflows, but to no NaN
    onnx.save(unary_model("Log"), tmp_path / "log.onnx")
    words = ("run", "log.onnx", "-b", "onnxrt", "-b", "onnx", *STRESS, "--stress-kinds", "signed")
    assert polycmp(*words).status == 0
    assert polycmp(*words, "--nan", "differ").status == 1


def test_rounding_of_numbers_that_cancel_is_no_difference_unless_a_tolerance_is_given(polycmp, tmp_path):
    weight = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    save(
        tmp_path / "mm.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, ["n", 256])],
        [("y", TensorProto.FLOAT, ["n", 256])],
        [("w", weight)],
    )
    words = ("run", "mm.onnx", "-b", "onnxrt", "-b", "onnx:dtype=float64", *STRESS, "--stress-kinds", "large")
    assert polycmp(*words).status == 0
    assert polycmp(*words, "--atol", "1e-5").status == 1


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("--stress-kinds", "huge"), 2, "not a kind of input"),
        (("--stress-kinds", "masked"), 3, "leave --stress-kinds out"),
        (("--stress-seeds", "-1"), 2, "-1"),
        (("--stress-val-range", "z:[0,1]"), 2, "no input 'z'"),
    ],
)
def test_wrong_options_are_errors_in_words(polycmp, model, words, status, text):
    done = polycmp("run", model, "-b", "onnxrt", "-b", "onnx", *STRESS, *words)
    assert done.status == status
    assert text in done.err


def test_options_of_another_data_loader_are_wrong_usage(polycmp, model):
    for words in ((*STRESS, "--seed", "3"), ("--stress-seeds", "3")):
        done = polycmp("run", model, "-b", "onnxrt", *words)
        assert done.status == 2
        assert "would have no effect" in done.err


def test_every_report_says_how_to_repeat_a_failure(polycmp, squashing, tmp_path):
    model, backends = squashing
    words = ("--report", "r.json", "--report", "r.xml", "--report", "r.html", "--stress-kinds", "signed")
    assert polycmp("run", model, *backends, *STRESS, *words).status == 1
    [first, *_] = json.loads((tmp_path / "r.json").read_text())["repeats"]
    assert first["failed"] == "onnxrt: output 'y'"
    assert "signed, seed" in (tmp_path / "r.xml").read_text()
    assert "repeat: polycmp" in (tmp_path / "r.xml").read_text()
    page = (tmp_path / "r.html").read_text()
    assert "to repeat it:" in page
    assert html.escape(first["command"]) in page


def test_one_backend_whose_outputs_are_not_finite(polycmp, tmp_path):
    onnx.save(unary_model("Log"), tmp_path / "log.onnx")
    done = polycmp(
        "run", "log.onnx", "-b", "onnxrt", "--validate", *STRESS, "--stress-kinds", "signed", "--report", "r.json"
    )
    assert done.status == 1
    repeats = json.loads((tmp_path / "r.json").read_text())["repeats"]
    assert {item["failed"] for item in repeats} == {"onnxrt: output 'y' is not finite"}


def test_a_backend_that_cannot_run_a_shape(polycmp, tmp_path):
    """The model says that its batch is open and fixes it inside."""
    save(
        tmp_path / "m.onnx",
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [("x", TensorProto.FLOAT, ["n", 4])],
        [("y", TensorProto.FLOAT, [2, 4])],
        [("shape", np.array([2, 4], np.int64))],
    )
    words = ("--stress-sizes", "2", "3", "--report", "r.json")
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", *STRESS, *words)
    assert done.status == 3
    [item] = json.loads((tmp_path / "r.json").read_text())["repeats"]
    assert "x:[3,4]" in item["inputs"]
    assert "could not run it" in item["failed"]


def test_shapes_that_take_turns_are_repeated_one_at_a_time(polycmp, tmp_path, monkeypatch):
    onnx.save(small_model(), tmp_path / "a.onnx")
    onnx.save(small_model(seed=1), tmp_path / "b.onnx")
    words = ["run", "a.onnx", "-b", "onnxrt", "-b", "onnxrt:model=b.onnx", *STRESS, "--stress-kinds", "signed"]
    words += ["--input-shapes", "x:[2,8]", "x:[5,8]", "--report", "r.json"]
    monkeypatch.setattr("sys.argv", ["polycmp", *words])
    assert polycmp(*words).status == 1
    commands = [item["command"] for item in json.loads((tmp_path / "r.json").read_text())["repeats"]]
    shapes = [[word for word in shlex.split(command) if word.startswith("x:")] for command in commands]
    assert shapes == [["x:[2,8]"], ["x:[5,8]"], ["x:[2,8]"]]
    assert all(polycmp(*shlex.split(command)[1:]).status == 1 for command in commands[:2])


@pytest.mark.parametrize("mode", [("--mark-all",), ("--mark-all", "--max-memory", "1K"), ("--sequential-runners",)])
def test_labels_survive_every_way_of_running(polycmp, tmp_path, mode):
    onnx.save(small_model(), tmp_path / "a.onnx")
    onnx.save(small_model(seed=1), tmp_path / "b.onnx")
    words = ("-b", "onnxrt", "-b", "onnxrt:model=b.onnx", *STRESS, "--stress-kinds", "signed", "--report", "r.json")
    assert polycmp("run", "a.onnx", *words, *mode).status == 1
    repeats = json.loads((tmp_path / "r.json").read_text())["repeats"]
    assert [item["iteration"] for item in repeats] == [0, 1, 2]


INT64, UINT64, FLOAT = TensorProto.INT64, TensorProto.UINT64, TensorProto.FLOAT
node = helper.make_node
#: Publicly reported faults: what is right, and the same as the faulty release calculated it.
REPORTED = {
    "Min drops NaN": (
        FLOAT,
        [node("Min", ["x", "half"], ["y"])],
        [node("IsNaN", ["x"], ["n"]), node("Where", ["n", "half", "x"], ["z"]), node("Min", ["z", "half"], ["y"])],
    ),
    "ReduceMax drops NaN": (
        FLOAT,
        [node("ReduceMax", ["x"], ["y"], axes=[1])],
        [
            node("IsNaN", ["x"], ["n"]),
            node("Where", ["n", "low", "x"], ["z"]),
            node("ReduceMax", ["z"], ["y"], axes=[1]),
        ],
    ),
    "Clip in 32 bits": (
        INT64,
        [node("Add", ["x", "one"], ["a"]), node("Clip", ["a", "least", "most"], ["y"])],
        [
            node("Cast", ["x"], ["c"], to=TensorProto.INT32),
            node("Cast", ["c"], ["d"], to=INT64),
            node("Add", ["d", "one"], ["a"]),
            node("Clip", ["a", "least", "most"], ["y"]),
        ],
    ),
    "a Cast to unsigned is left out": (
        TensorProto.INT32,
        [node("Cast", ["x"], ["u"], to=TensorProto.UINT32), node("Cast", ["u"], ["y"], to=INT64)],
        [node("Cast", ["x"], ["y"], to=INT64)],
    ),
    "a shift by all bits is one by none": (
        UINT64,
        [node("BitShift", ["x", "n"], ["y"], direction="RIGHT")],
        [node("BitwiseAnd", ["n", "bits"], ["m"]), node("BitShift", ["x", "m"], ["y"], direction="RIGHT")],
    ),
    "Mod in 32 bits": (
        INT64,
        [node("Mod", ["x", "n"], ["y"])],
        [node("Cast", ["x"], ["c"], to=TensorProto.INT32), node("Cast", ["c"], ["d"], to=INT64),
         node("Mod", ["d", "n"], ["y"])],
    ),
    "Div in 32 bits": (
        INT64,
        [node("Div", ["x", "n"], ["y"])],
        [node("Cast", ["x"], ["c"], to=TensorProto.INT32), node("Cast", ["c"], ["d"], to=INT64),
         node("Div", ["d", "n"], ["y"])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REPORTED)
def test_publicly_reported_faults_are_seen_without_the_report(polycmp, tmp_path, case):
    kind, right, wrong = REPORTED[case]
    weights = [
        ("half", np.array(0.5, np.float32)),
        ("low", np.array(-np.inf, np.float32)),
        ("one", np.array(1, np.int64)),
        ("least", np.array(-(2**40), np.int64)),
        ("most", np.array(2**40, np.int64)),
        ("bits", np.array(63, np.uint64)),
    ]
    for path, nodes in (("right.onnx", right), ("wrong.onnx", wrong)):
        read = {name for item in nodes for name in item.input}
        inputs = [("x", kind, [8, 9]), *([("n", kind, [8, 9])] if "n" in right[0].input else [])]
        made = {"a Cast": INT64}.get(case[:6], kind)
        save(tmp_path / path, nodes, inputs, [("y", made, None)], [item for item in weights if item[0] in read])
    loaders = [polycmp("run", "wrong.onnx", "right.onnx", "-b", "onnx", *more) for more in ((), STRESS)]
    assert 1 in {done.status for done in loaders}, loaders[-1].out + loaders[-1].err
    if "shift" not in case and "ReduceMax" not in case:  # ONNX Runtime's releases up to 1.32 have these two faults
        good = polycmp("run", "right.onnx", "-b", "onnxrt", "-b", "onnx", *STRESS)
        assert good.status == 0, good.out + good.err


def test_sizes_are_those_that_the_operators_take(polycmp, tmp_path):
    """A detector halves a picture, doubles it and adds both: sizes that are odd do not fit, and its rows may be any."""
    weights = [("w", np.ones((3, 3, 3, 3), np.float32)), ("up", np.ones((3, 3, 2, 2), np.float32))]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["half"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("ConvTranspose", ["half", "up"], ["whole"], strides=[2, 2]),
        helper.make_node("Add", ["x", "whole"], ["y"]),
    ]
    pictures = [("x", TensorProto.FLOAT, ["batch", 3, "height", "width"])]
    save(tmp_path / "unet.onnx", nodes, pictures, [("y", TensorProto.FLOAT, None)], weights)
    save(
        tmp_path / "conv.onnx",
        [helper.make_node("Conv", ["x", "kernel"], ["y"])],
        [("x", TensorProto.FLOAT, ["batch", 3, "length"])],
        [("y", TensorProto.FLOAT, None)],
        [("kernel", np.ones((2, 3, 5), np.float32))],
    )
    for name in ("unet.onnx", "conv.onnx"):
        done = polycmp("run", name, "-b", "onnxrt", "-b", "onnx", *STRESS, "--save-inputs", f"{name}.npz")
        assert done.status == 0, done.out + done.err
    fed = {
        name: {array.shape for array in np.load(f"{name}.npz").values() if not isinstance(array, bytes)}
        for name in ("unet.onnx", "conv.onnx")
    }
    assert {shape[1:] for shape in fed["unet.onnx"]} == {(3, 64, 64)}
    assert {shape[0] for shape in fed["unet.onnx"]} == {1, 2, 3, 7, 8}
    assert {shape[2] for shape in fed["conv.onnx"]} == {7, 8}
