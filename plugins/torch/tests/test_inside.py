"""A module beside the ONNX files that both exporters make of it: its tensors are paired and compared with theirs."""

from __future__ import annotations

import json
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp._script import load_script
from polycmp.cli.main import main

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

SCRIPT = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(16, 16) for _ in range(3))
        self.norm, self.drop = nn.LayerNorm(16), nn.Dropout(0.1)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def heads(self, x):
        return x.view(x.shape[0], -1, 4, 4).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        weights = self.drop(torch.softmax(torch.matmul(q, k.transpose(2, 3)) * 0.5, dim=-1))
        x = x + torch.matmul(weights, v).transpose(1, 2).contiguous().reshape(x.shape)
        return self.norm(x + self.down(nn.functional.gelu(self.up(x))))

class Net(nn.Module):
    def __init__(self, relu=False):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(50, 16)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(16, 5)
        self.relu = nn.ReLU(inplace=True) if relu else nn.Identity()

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.relu(x))

class Mean(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.head = nn.Embedding(50, 16), nn.Linear(16, 5)

    def forward(self, ids):
        x = torch.relu(self.embed(ids))
        return self.head(x.sum(1) / int(x.shape[1]))

class Branch(Mean):
    def forward(self, ids):
        x = self.embed(ids)
        return self.head(x.sum(1) if x.sum() > 0 else -x.sum(1))

def load_model():
    return Net()

def in_place():
    return Net(relu=True)

def mean():
    return Mean()

def branch():
    return Branch()
"""
VALUES = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.one, self.two = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)

class Number(Net):
    def forward(self, x):
        return self.two(torch.relu(self.one(x)) / float(x.abs().max()))

class Way(Net):
    def forward(self, x):
        h = self.one(x)
        if x.min() > 0:
            h = torch.relu(h) * 2
        return self.two(h)

class Array(Net):
    def forward(self, x):
        shift = torch.from_numpy(x.detach().numpy().mean(axis=0, keepdims=True))
        return self.two(torch.relu(self.one(x)) + shift)

class Listed(Net):
    def forward(self, x):
        return self.two(torch.relu(self.one(x)) + torch.tensor(x.mean(dim=0).tolist()))

number, way, array, listed = (lambda kind=kind: kind() for kind in (Number, Way, Array, Listed))
"""
INPUTS = ("--input-shapes", "ids:[2,7]")


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "load.py").write_text(SCRIPT)


def make(name):
    return load_script("load.py", name)().eval()


def export(name="load_model", dynamo=False):
    """Write m.onnx."""
    ids = torch.ones(3, 12, dtype=torch.int64)
    sizes = (
        {"dynamic_shapes": ({0: "batch", 1: "length"},), "external_data": False}
        if dynamo
        else {"dynamic_axes": {"ids": {0: "batch", 1: "length"}}, "opset_version": 17}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(make(name), (ids,), "m.onnx", dynamo=dynamo, input_names=["ids"], output_names=["y"], **sizes)


def polycmp(*words):
    return main([str(word) for word in words])


def locate(*words, name="load_model"):
    """The exit status of `locate`, and its report."""
    status = polycmp("locate", "m.onnx", "-b", "onnxrt", "-b", f"torch:script=load.py:{name}", *INPUTS, *words,
                     "--report", "r.json")  # fmt: skip
    with open("r.json", encoding="utf-8") as file:
        return status, json.load(file)


@pytest.mark.parametrize("dynamo", [False, True], ids=["older exporter", "dynamo"])
def test_tensors_of_a_module_are_paired_with_those_of_its_export(dynamo):
    export(dynamo=dynamo)
    status, found = locate()
    assert status == 0, found["sentence"]
    assert found["pairing"]["share"] >= 0.95
    assert len(found["tensors"]) > 60
    counterparts = {row["counterpart"] for row in found["tensors"]}
    assert {"blocks.1.query/linear_5", "blocks.2/softmax_2"} <= counterparts


def test_names_of_the_exported_program_are_used_first():
    export(dynamo=True)
    _, found = locate()
    rows = {row["tensor"]: row for row in found["tensors"]}
    assert found["pairing"]["methods"]["name"] > len(rows) / 2
    assert (rows["softmax_2"]["counterpart"], rows["softmax_2"]["matched_by"]) == ("blocks.2/softmax_2", "name")
    assert rows["linear_5"]["matched_by"] == "name"


def test_a_name_of_the_program_in_another_module_is_no_evidence():
    export(dynamo=True)
    model = onnx.load("m.onnx")
    new = {"softmax_1": "softmax_2", "softmax_2": "softmax_1"}
    for node in model.graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
    del model.graph.value_info[:]
    onnx.save(model, "m.onnx")
    status, found = locate()
    assert status == 0, found["sentence"]
    rows = {row["tensor"]: row for row in found["tensors"]}
    assert (rows["softmax_1"]["counterpart"], rows["softmax_1"]["matched_by"]) == ("blocks.2/softmax_2", "structure")


def test_a_saved_program_is_paired_by_name_with_the_file_that_was_made_of_it(tmp_path):
    export(dynamo=True)
    length = torch.export.Dim.DYNAMIC
    ids = torch.ones(3, 12, dtype=torch.int64)
    program = torch.export.export(make("load_model"), (ids,), dynamic_shapes=({0: length, 1: length},))
    torch.export.save(program, "m.pt2")
    words = ("-b", "onnxrt", "-b", "torch:script=m.pt2", *INPUTS, "--report", "r.json")
    assert polycmp("locate", "m.onnx", *words) == 0
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["pairing"]["methods"]["name"] > len(found["tensors"]) / 2


def test_a_module_that_writes_in_place_is_followed():
    export("in_place")
    status, found = locate(name="in_place")
    assert status == 0, found["sentence"]
    assert found["pairing"]["share"] >= 0.95


@pytest.mark.parametrize("dynamo", [False, True], ids=["older exporter", "dynamo"])
def test_a_wrong_cast_in_an_export_is_named_with_its_module_and_line(dynamo):
    export(dynamo=dynamo)
    model = onnx.load("m.onnx")
    (_, target, _) = (node for node in model.graph.node if node.op_type == "Softmax")
    at = list(model.graph.node).index(target)
    casts = [helper.make_node("Cast", [target.input[0]], ["whole"], "down", to=TensorProto.INT32),
             helper.make_node("Cast", ["whole"], ["back"], "up", to=TensorProto.FLOAT)]  # fmt: skip
    target.input[0] = "back"
    for offset, cast in enumerate(casts):
        model.graph.node.insert(at + offset, cast)
    onnx.save(model, "m.onnx")
    status, found = locate()
    assert status == 1
    row = next(row for row in found["tensors"] if row["tensor"] == found["first_bad"])
    assert {"Cast", "Softmax"} >= set(row["candidate_operators"]) > {"Softmax"}
    assert "module blocks.1" in found["sentence"]
    assert "weights = self.drop(torch.softmax(" in found["sentence"]


def test_a_wrong_weight_in_an_export_is_named_with_its_module():
    export()
    model = onnx.load("m.onnx")
    bias = next(tensor for tensor in model.graph.initializer if tensor.name == "blocks.2.up.bias")
    bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias) * np.float32(1.5), bias.name))
    onnx.save(model, "m.onnx")
    status, found = locate()
    assert status == 1
    row = next(row for row in found["tensors"] if row["tensor"] == found["first_bad"])
    assert row["counterpart"] == "blocks.2.up/linear_13"
    assert "module blocks.2.up" in found["sentence"]


def test_operators_of_the_module_run_alone_in_float64_as_well():
    export()
    model = onnx.load("m.onnx")
    bias = next(tensor for tensor in model.graph.initializer if tensor.name == "blocks.2.up.bias")
    bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias) * np.float32(1.5), bias.name))
    onnx.save(model, "m.onnx")
    _, found = locate()
    (row,) = (row for row in found["tensors"] if row["tensor"] == found["first_bad"])
    assert row["own_error"]["relative_error"] > 0.01
    assert row["float64"]["reference"] < 1e-6 < row["float64"]["candidate"]


def test_a_run_with_all_tensors_names_the_command_that_compares_them(capsys):
    export()
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "torch:script=load.py", "--mark-all", *INPUTS) == 3
    streams = capsys.readouterr()
    assert "makes the whole module" in " ".join((streams.out + streams.err).split())


def test_a_size_that_an_export_froze_is_named():
    export("mean")
    status, found = locate(name="mean")
    assert status == 1
    cause = next(note for note in found["notes"] if note.startswith("cause:"))
    assert "calculates with 12 where the module has 7, which is dimension 1 of 'ids'" in cause


def test_a_batch_size_that_an_export_froze_is_named_although_the_file_cannot_run(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(make("load_model"), (torch.ones(3, 7, dtype=torch.int64),), "m.onnx", dynamo=False,
                          input_names=["ids"], output_names=["y"], opset_version=17)  # fmt: skip
    model = onnx.load("m.onnx")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, "m.onnx")
    status, found = locate()
    assert status == 1
    assert found["operator"]["type"] == "Reshape"
    assert "blocks.0" in found["operator"]["name"]
    assert "its sizes are a constant in the file" in found["sentence"] or "frozen to" in found["sentence"]


def test_an_export_in_training_mode_is_named(tmp_path):
    (tmp_path / "norm.py").write_text(
        "import torch\ndef load_model():\n    torch.manual_seed(0)\n    return torch.nn.Sequential("
        "torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU())\n"
    )
    net = load_script("norm.py", "load_model")()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net.train(), (torch.randn(5, 6),), "m.onnx", dynamo=False, input_names=["x"],
                          output_names=["y"], training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, opset_version=17)  # fmt: skip
    reference = ("-b", "torch:script=norm.py")
    assert polycmp("locate", "m.onnx", "-b", "onnx", *reference, "--report", "r.json") == 1
    found = json.loads((tmp_path / "r.json").read_text())
    assert any("exported in training mode; call eval()" in note for note in found["notes"])


def causes(found):
    return [note for note in found["notes"] if note.startswith("cause:")]


def values_found(tmp_path, name):
    """Export a module of VALUES with other inputs than those of the search, and locate."""
    (tmp_path / "values.py").write_text(VALUES)
    net = load_script("values.py", name)().eval()
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (torch.randn(3, 16),), "m.onnx", dynamo=False,
                          input_names=["x"], output_names=["y"], opset_version=17)  # fmt: skip
    words = ("-b", "onnxrt", "-b", f"torch:script=values.py:{name}", "--input-shapes", "x:[3,16]")
    status = polycmp("locate", "m.onnx", *words, "--report", "r.json")
    with open("r.json", encoding="utf-8") as file:
        return status, json.load(file)


def test_the_number_that_an_export_kept_of_its_example_inputs_is_told(tmp_path):
    status, found = values_found(tmp_path, "number")
    assert status == 1
    assert found["operator"]["type"] == "Div"
    torch.manual_seed(1)
    kept = float(torch.randn(3, 16).abs().max())
    assert "a number leaves the tensors in values.py:" in causes(found)[0]
    assert f"and with {kept:.4g}" in causes(found)[0]
    assert "the module makes exactly what the export makes" in causes(found)[0]


def test_the_way_that_an_export_kept_of_its_example_inputs_is_confirmed_by_going_the_other(tmp_path):
    status, found = values_found(tmp_path, "way")
    assert status == 1
    assert "decide which way the module goes in values.py:" in causes(found)[0]
    assert "going the other way it makes exactly what the export makes" in causes(found)[0]


def test_an_array_that_changes_with_the_inputs_is_told(tmp_path):
    status, found = values_found(tmp_path, "array")
    assert status == 1
    assert found["operator"]["type"] == "Add"
    assert "a value leaves the tensors in values.py:" in causes(found)[0]
    assert "an export keeps that of its example inputs" in causes(found)[0]


def test_a_constant_in_place_of_what_the_module_reads_is_confirmed_by_other_values(tmp_path):
    status, found = values_found(tmp_path, "listed")
    assert status == 1
    assert any("with other values of 'x'" in cause and "a constant stands there" in cause for cause in causes(found))


def test_control_flow_that_goes_the_same_way_is_no_fault():
    export("branch")
    status, found = locate(name="branch")
    assert status == 0, found["sentence"]
    assert found["pairing"]["share"] > 0.5
