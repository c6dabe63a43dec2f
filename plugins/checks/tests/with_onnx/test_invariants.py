"""`polycmp invariants`: models that break an invariant for real, and what is said where a check does not apply."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from decoders import STATE, decoder, recurrent, save_all
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def save(path, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def checks(tmp_path, label="onnxrt"):
    found = json.loads((tmp_path / "r.json").read_text())["invariants"][label]["checks"]
    return {name: check["status"] for name, check in found.items()}


REPORT = ("--report", "r.json")
ALL = ["repeat", "restart", "other-shape", "duplicates", "permute", "neighbours", "split", "fixed-shapes", "threads"]


def test_a_sound_model_passes_on_two_backends(polycmp, model, tmp_path):
    done = polycmp("invariants", model, "-b", "onnxrt", "-b", "onnx", *REPORT)
    assert done.status == 0, done.out
    assert checks(tmp_path) == dict.fromkeys(ALL, "passed")
    assert checks(tmp_path, "onnx") == {**dict.fromkeys(ALL, "passed"), "threads": "skipped"}
    assert "no option for threads" in done.out
    assert "PASSED: 17 invariants hold, 1 does not apply" in done.out


def test_rows_that_depend_on_each_other(polycmp, tmp_path):
    """x minus its mean over the batch."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0], keepdims=1),
        helper.make_node("Sub", ["x", "mean"], ["y"]),
    ]
    save(tmp_path / "m.onnx", nodes, [("x", ["n", 8])], [("y", ["n", 8])])
    done = polycmp("invariants", "m.onnx", "-b", "onnxrt", *REPORT)
    assert done.status == 1
    failed = {name for name, status in checks(tmp_path).items() if status == "failed"}
    assert failed == {"neighbours", "split"}
    assert "FAILED: 2 of 9" in done.out


def test_rows_that_depend_on_their_place(polycmp, tmp_path):
    """x plus a running sum over ones: row i gets i + 1 more."""
    nodes = [
        helper.make_node("Mul", ["x", "zero"], ["zeros"]),
        helper.make_node("Add", ["zeros", "one"], ["ones"]),
        helper.make_node("CumSum", ["ones", "axis"], ["place"]),
        helper.make_node("Add", ["x", "place"], ["y"]),
    ]
    weights = [
        ("zero", np.zeros((), np.float32)),
        ("one", np.ones((), np.float32)),
        ("axis", np.zeros((), np.int64)),
    ]
    save(tmp_path / "m.onnx", nodes, [("x", ["n", 8])], [("y", ["n", 8])], weights)
    done = polycmp("invariants", "m.onnx", "-b", "onnxrt", *REPORT)
    assert done.status == 1
    failed = {name for name, status in checks(tmp_path).items() if status == "failed"}
    assert failed == {"duplicates", "permute", "split"}


def test_answers_that_change_from_call_to_call(polycmp, tmp_path):
    nodes = [helper.make_node("RandomUniformLike", ["x"], ["noise"]), helper.make_node("Add", ["x", "noise"], ["y"])]
    save(tmp_path / "m.onnx", nodes, [("x", ["n", 8])], [("y", ["n", 8])])
    done = polycmp("invariants", "m.onnx", "-b", "onnxrt", "--checks", "repeat", *REPORT)
    assert done.status == 1
    assert "the same inputs 5 times: output 'y'" in done.out


def test_the_last_bit_matters_only_when_asked_for(polycmp, tmp_path):
    weight = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    save(tmp_path / "m.onnx", [node], [("x", ["n", 300])], [("y", ["n", 300])], [("w", weight)])
    words = ("invariants", "m.onnx", "-b", "onnx", "--checks", "split", "--batch", 16, *REPORT)
    assert polycmp(*words).status == 0
    found = json.loads((tmp_path / "r.json").read_text())["invariants"]["onnx"]["checks"]["split"]
    assert polycmp(*words, "--exact").status == int(found["max_error"] > 0)


class TestWhatIsTheBatch:
    def test_fixed_sizes_have_none_until_told(self, polycmp, tmp_path):
        save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", [3, 4])], [("y", [3, 4])])
        done = polycmp("invariants", "m.onnx", "-b", "onnxrt", *REPORT)
        assert done.status == 0
        assert "--batch-axis says which axis it is" in done.out
        assert {name for name, status in checks(tmp_path).items() if status == "skipped"} == {*ALL[2:8]}
        assert polycmp("invariants", "m.onnx", "-b", "onnxrt", "--batch-axis", 0, *REPORT).status == 0
        skipped = {name for name, status in checks(tmp_path).items() if status == "skipped"}
        assert skipped == {"other-shape", "split", "fixed-shapes"}

    def test_a_batch_that_is_not_the_first_axis_needs_its_name(self, polycmp, tmp_path):
        shape = [("x", ["time", "n", 4])]
        save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], shape, [("y", ["time", "n", 4])])
        done = polycmp("invariants", "m.onnx", "-b", "onnxrt", "--batch-dim", "n", *REPORT)
        assert done.status == 0
        assert "dimension 'n' of x" in done.out
        wrong = polycmp("invariants", "m.onnx", "-b", "onnxrt", "--batch-dim", "m")
        assert (wrong.status, "no input has a dimension 'm'" in wrong.err) == (2, True)

    def test_several_names_are_ambiguous(self, polycmp, tmp_path):
        nodes = [helper.make_node("Relu", ["a"], ["y"]), helper.make_node("Relu", ["b"], ["z"])]
        values = [("a", ["n", 2]), ("b", ["m", 2])], [("y", ["n", 2]), ("z", ["m", 2])]
        save(tmp_path / "m.onnx", nodes, *values)
        done = polycmp("invariants", "m.onnx", "-b", "onnxrt")
        assert (done.status, "several names: m, n; see --batch-dim" in done.out) == (0, True)

    def test_an_output_without_rows_is_left_out(self, polycmp, tmp_path):
        nodes = [
            helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
            helper.make_node("Relu", ["x"], ["y"]),
        ]
        save(tmp_path / "m.onnx", nodes, [("x", ["n", 4])], [("total", []), ("y", ["n", 4])])
        assert polycmp("invariants", "m.onnx", "-b", "onnxrt").status == 0


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        ((), 2, "no backend given"),
        (("-b", "onnxrt", "--checks", "everything"), 2, "everything"),
        (("-b", "onnxrt", "--batch", "0"), 2, "1 or more"),
        (("-b", "onnxrt", "--batch-axis", "5"), 2, "no input has an axis 5"),
        (("-b", "onnxrt", "--batch-axis", "0", "--batch-dim", "n"), 2, "give only one"),
        (("-b", "onnxrt", "--report", "r.pdf"), 2, "no report is written as .pdf"),
        (("-b", "nobody"), 3, "no backend 'nobody'"),
    ],
)
def test_wrong_usage(polycmp, model, words, status, text):
    done = polycmp("invariants", model, *words)
    assert done.status == status
    assert text in done.err


def test_a_backend_that_fails_is_exit_3_and_the_others_are_checked(polycmp, model):
    done = polycmp("invariants", model, "-b", "onnxrt:op_libs=/nowhere.so", "-b", "onnx", "--checks", "repeat")
    assert done.status == 3
    assert "/nowhere.so" in done.out
    assert "the same inputs 5 times" in done.out
    assert "ERROR: " in done.out


def test_a_batch_that_the_backend_cannot_take_is_no_pass(polycmp, tmp_path):
    """A model that says that its batch is open and fixes it inside, as exporters make them."""
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    weights = [("shape", np.array([4, 2, 2], np.int64))]
    save(tmp_path / "m.onnx", [node], [("x", ["n", 4])], [("y", [4, 2, 2])], weights)
    done = polycmp("invariants", "m.onnx", "-b", "onnxrt", *REPORT)
    assert done.status == 3
    assert checks(tmp_path)["split"] == "error"
    assert checks(tmp_path)["repeat"] == "passed"


def test_a_backend_that_returns_nan_everywhere(polycmp, tmp_path):
    nodes = [helper.make_node("Neg", ["x"], ["less"]), helper.make_node("Sqrt", ["less"], ["y"])]
    save(tmp_path / "m.onnx", nodes, [("x", ["n", 8])], [("y", ["n", 8])])
    done = polycmp("invariants", "m.onnx", "-b", "onnx")
    assert done.status == 1
    assert "NaN" in done.out
    forgiven = polycmp("invariants", "m.onnx", "-b", "onnx", "--nan", "equal")
    assert forgiven.status == 0
    assert "NaN count as equal" in " ".join(forgiven.out.split())


STEPS = ("--steps", 5, "--state", STATE)


def test_a_sound_decoder_is_the_same_without_its_cache_and_behind_padding(polycmp, tmp_path):
    list(save_all(tmp_path, good=decoder()))
    done = polycmp("invariants", "good.onnx", "-b", "onnxrt", "-b", "onnx", *STEPS, *REPORT)
    assert done.status == 0, done.out
    for label in ("onnxrt", "onnx"):
        found = checks(tmp_path, label)
        assert (found["cached"], found["left-padded"]) == ("passed", "passed")
    assert "5 steps with the cache against 12 tokens at once" in " ".join(done.out.split())


@pytest.mark.parametrize(("wrong", "failed"), [("offset", {"cached", "left-padded"}), ("padding", {"left-padded"})])
def test_a_decoder_that_counts_without_its_cache_or_sees_padding(polycmp, tmp_path, wrong, failed):
    list(save_all(tmp_path, bad=decoder(wrong=wrong)))
    done = polycmp("invariants", "bad.onnx", "-b", "onnxrt", *STEPS, *REPORT)
    assert done.status == 1, done.out
    assert {name for name, status in checks(tmp_path).items() if status == "failed"} == failed


def test_checks_of_decoders_say_what_they_need(polycmp, model, tmp_path):
    done = polycmp("invariants", model, "-b", "onnxrt", "--checks", "repeat", "cached", *REPORT)
    assert done.status == 0, done.out
    assert checks(tmp_path) == {"repeat": "passed", "cached": "skipped"}
    assert "it needs --steps N --state" in " ".join(done.out.split())
    list(save_all(tmp_path, rnn=recurrent()))
    words = ("--steps", 3, "--state", "new_h=h", "--checks", "repeat", "cached")
    done = polycmp("invariants", "rnn.onnx", "-b", "onnxrt", *words, *REPORT)
    assert "no input gets tokens: --feed 'INPUT=argmax(OUTPUT)' says which one does" in " ".join(done.out.split())


def test_a_state_has_its_batch_where_its_name_stands(polycmp, tmp_path):
    """As recurrent models have it: the batch first in the input, second in the state."""
    nodes = [
        helper.make_node("ReduceSum", ["state", "first"], ["s"], keepdims=0),
        helper.make_node("Add", ["x", "s"], ["y"]),
        helper.make_node("Identity", ["state"], ["next"]),
    ]
    weights = [("first", np.array([0], np.int64))]
    for name in ("batch", None):
        given = [("x", [name, 8]), ("state", [2, name, 8])]
        save(tmp_path / "m.onnx", nodes, given, [("y", [name, 8]), ("next", [2, name, 8])], weights)
        done = polycmp("invariants", "m.onnx", "-b", "onnxrt", *REPORT)
        assert done.status == 0, done.out
        assert checks(tmp_path) == dict.fromkeys(ALL, "passed")
        assert ("batch: axis 0 of x; axis 1 of state" in done.out) == (name is None)


def test_a_batch_that_only_the_file_speaks_of(polycmp, tmp_path):
    """An exporter left the batch open, and wrote the one row that it saw into a Reshape."""
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    weights = [("shape", np.array([1, 2, 4], np.int64))]
    save(tmp_path / "m.onnx", nodes, [("x", ["batch", 8])], [("y", ["batch", 2, 4])], weights)
    done = polycmp("invariants", "m.onnx", "-b", "onnxrt", *REPORT)
    assert done.status == 3, done.out
    assert {name for name, status in checks(tmp_path).items() if status == "passed"} >= {"repeat", "restart"}
    assert checks(tmp_path)["split"] == "error"
    assert "it runs with one row and not with 4" in " ".join(done.out.split())
    assert "if it is meant for one alone: --batch 1" in " ".join(done.out.split())
    assert polycmp("invariants", "m.onnx", "-b", "onnxrt", "--batch", "1", *REPORT).status == 0
