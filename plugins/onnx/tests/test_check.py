"""`polycmp check lint`: its words, files that are no models, and inputs that were made up."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import save_graph

F = TensorProto.FLOAT


def levels(found):
    """Return the level of each finding with its nodes."""
    return {(entry["level"], *entry.get("nodes", [])) for entry in found["lint_entries"]}


@pytest.mark.parametrize("content", [b"", b"no model at all", b"\x08\x07"])
def test_a_file_that_is_no_model(lint, tmp_path, content):
    (tmp_path / "model.onnx").write_bytes(content)
    done, found = lint()
    assert done.status == 1
    assert levels(found) == {("exception",)}
    assert found["lint_entries"][0]["source"] == "onnx_loader"


def test_no_file_is_no_finding(polycmp):
    assert polycmp("check", "lint", "nowhere.onnx").status == 3


def test_open_dimensions_have_the_sizes_that_a_run_gives_them(lint, tmp_path):
    nodes = [
        helper.make_node("Unsqueeze", ["x", "one"], ["u"], "u"),
        helper.make_node("Conv", ["u", "w"], ["y"], "conv", strides=[160]),
    ]
    weights = [("w", np.ones((1, 1, 512), np.float32)), ("one", np.array([1]))]
    save_graph(tmp_path / "model.onnx", nodes, [("x", F, ["b", "samples"])], [("y", F, ["b", 1, "frames"])], weights)
    done, found = lint()
    assert done.status == 0, done.out
    assert found["summary"] == {"passing": ["u", "conv"], "failing": [], "skipped": []}


def test_sizes_that_were_made_up_make_no_model_wrong(lint, tmp_path):
    shape = np.array([1, 7, 1000003])  # a size that nobody would try
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], "reshape")]
    save_graph(tmp_path / "model.onnx", nodes, [("x", F, [1, "n"])], [("y", F, [1, 7, 1000003])], [("shape", shape)])
    done, found = lint()
    assert done.status == 0, done.out
    assert levels(found) == {("warning", "reshape")}
    assert "--input-shapes" in done.out
    assert found["summary"]["failing"] == ["reshape"]
    done, found = lint("--input-shapes", "x:[1,8]")  # these are the user's
    assert done.status == 1
    assert ("exception", "reshape") in levels(found)


def test_whole_numbers_that_were_made_up_make_no_model_wrong_and_saved_ones_do(lint, tmp_path):
    nodes = [helper.make_node("Gather", ["table", "x"], ["y"], "lookup")]
    inputs, outputs = [("x", TensorProto.INT64, [3])], [("y", F, [3])]
    save_graph(tmp_path / "model.onnx", nodes, inputs, outputs, [("table", np.ones(0, np.float32))])
    done, found = lint()
    assert (done.status, levels(found)) == (0, {("warning", "lookup")}), done.out
    np.savez(tmp_path / "in.npz", x=np.array([0, 1, 2]))
    done, found = lint("--load-inputs", "in.npz")
    assert done.status == 1
    assert ("exception", "lookup") in levels(found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--providers", "abacus"), "ONNX Runtime has no execution provider 'abacus'"),
        (("--graph-optimization-level", "most"), "enable_all"),
    ],
)
def test_settings_that_onnx_runtime_lacks_are_wrong_usage(polycmp, model, words, said):
    pytest.importorskip("onnxruntime")
    done = polycmp("check", "lint", model, *words)
    assert (done.status, said in done.err) == (2, True), done.err
