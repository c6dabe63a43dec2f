"""What users see of the backend `executorch`."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("executorch", reason="needs ExecuTorch: make test-executorch")

import torch
from executorch.exir import to_edge_transform_and_lower

from polycmp.cli.main import main
from polycmp_executorch.program import PteProgram
from polycmp_executorch.pte import PteFile


class _Net(torch.nn.Module):
    """A convolution, a linear layer on three dimensions, and views between them."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8)
        self.first, self.second = torch.nn.Linear(36, 16), torch.nn.Linear(16, 4)

    def forward(self, image):
        x = torch.nn.functional.relu(self.norm(self.conv(image))).flatten(2)
        return self.second(torch.tanh(self.first(x)))


class _Branching(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def export(module, example, path):
    program = torch.export.export(module.eval(), example)
    torch.export.save(program, path.with_suffix(".pt2"))
    path.with_suffix(".pte").write_bytes(to_edge_transform_and_lower(program).to_executorch().buffer)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    torch.manual_seed(0)
    export(_Net(), (torch.rand(1, 3, 8, 8),), folder / "net")
    export(_Branching(), (torch.rand(2, 3),), folder / "branching")
    file = PteFile.read(str(folder / "net.pte"))
    program = PteProgram(file, "net.pte")
    linear = [call for call in program.calls if call.operator == "aten::addmm"]
    _halve(file, linear[0].args[0])
    (folder / "wrong.pte").write_bytes(file.write())
    return folder


def _halve(file, place):
    """Halve the numbers of a constant."""
    tensor = file.program["execution_plan"][0]["values"][place]["val"]
    start = file.program["constant_segment"]["offsets"][tensor["data_buffer_idx"]]
    data = bytearray(file.segments[0])
    np.frombuffer(data, np.float32, tensor["sizes"][0], start)[:] *= 0.5
    file.segments[0] = bytes(data)


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def polycmp(*words):
    return main(list(words))


def printed(capsys):
    out, err = capsys.readouterr()
    return " ".join((out + err).split())


def located(*words):
    """Return the exit status and the report of a search."""
    status = polycmp("locate", *words, "--report", "report.json")
    with open("report.json", encoding="utf-8") as file:
        return status, json.load(file)


def test_a_program_takes_the_names_of_the_model_that_it_was_exported_from(folder, capsys):
    assert polycmp("run", "net.pt2", "-b", "executorch:program=net.pte", "-b", "torch") == 0
    assert "PASSED" in printed(capsys)


def test_a_model_is_exported_for_the_run_with_and_without_a_delegate(folder, capsys):
    backends = ("-b", "executorch", "-b", "executorch:delegate=xnnpack", "-b", "torch")
    assert polycmp("run", "net.pt2", *backends) == 0
    assert "delegate=xnnpack against torch" in printed(capsys)


def test_a_module_of_a_script_is_exported_with_the_names_that_torch_gives(folder, capsys):
    lines = "    torch.manual_seed(0)\n    return torch.nn.Linear(3, 2), torch.ones(1, 3)\n"
    (folder / "net.py").write_text(f"import torch\n\n\ndef load_model():\n{lines}", encoding="utf-8")
    script = ("run", "net.py", "--model-type", "torch")
    assert polycmp(*script, "-b", "executorch", "-b", "executorch:delegate=xnnpack", "-b", "torch") == 0
    assert "output " in printed(capsys)


def test_all_operators_inside_agree(folder):
    status, report = located("net.pt2", "-b", "executorch:program=net.pte", "-b", "torch")
    assert status == 0
    assert len(report["tensors"]) > 6


def test_a_wrong_weight_is_found_at_its_layer(folder):
    status, report = located("net.pt2", "-b", "executorch:program=wrong.pte", "-b", "torch")
    assert status == 1
    assert report["operator"]["type"] == "Add"
    assert "module first" in report["sentence"]


def test_two_programs_are_held_beside_each_other(folder):
    status, report = located("wrong.pte", "net.pte", "-b", "executorch")
    assert status == 1
    assert report["operator"]["type"] == "Add"


def test_a_delegate_is_one_operator(folder):
    status, report = located("net.pt2", "-b", "executorch:delegate=xnnpack", "-b", "torch")
    assert status == 0
    assert [row["operator"] for row in report["tensors"]] == ["XnnpackBackend"]


def test_the_wrong_output_of_a_delegate_is_its_own(folder):
    torch.manual_seed(1)
    export(_Net(), (torch.rand(1, 3, 8, 8),), folder / "other")
    assert polycmp("convert", "other.pt2", "-o", "delegated.pte", "--executorch-delegate", "xnnpack") == 0
    status, report = located("net.pt2", "-b", "executorch:program=delegated.pte", "-b", "torch")
    assert status == 1
    assert "XnnpackBackend" in report["sentence"]


def test_a_branch_is_told_where_operators_are_asked_for(folder, capsys):
    assert polycmp("run", "branching.pt2", "-b", "executorch:program=branching.pte", "-b", "torch") == 0
    capsys.readouterr()
    assert polycmp("locate", "branching.pte", "-b", "executorch", "-b", "executorch:delegate=xnnpack") == 3
    assert "a branch or a loop" in printed(capsys)


@pytest.mark.parametrize("content", [b"", b"a text", b"\x20\0\0\0ET12 and no program", None])
def test_what_is_no_program_is_refused_in_words(folder, capsys, content):
    data = (folder / "net.pte").read_bytes()
    (folder / "bad.pte").write_bytes(data[: len(data) // 2] if content is None else content)
    assert polycmp("run", "bad.pte", "-b", "executorch") == 3
    assert "is not a program of ExecuTorch" in printed(capsys)


def test_a_delegate_that_is_not_here_is_named(folder, capsys):
    assert polycmp("convert", "net.pt2", "-o", "delegated.pte", "--executorch-delegate", "xnnpack") == 0
    file = PteFile.read("delegated.pte")
    file.program["execution_plan"][0]["delegates"][0]["id"] = "ChipBackend"
    (folder / "chip.pte").write_bytes(file.write())
    assert polycmp("run", "chip.pte", "-b", "executorch") == 3
    assert "no delegate ChipBackend" in printed(capsys)
