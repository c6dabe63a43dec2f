"""Rounding inside a module without a graph is measured by moving what its operators make, gradients included."""

from __future__ import annotations

import json

import numpy as np
import pytest

from polycmp.cli.main import main
from polycmp.tensors import TensorMetadata
from polycmp_torch.model import TorchModel
from polycmp_torch.options import Options
from polycmp_torch.perturbation import PerturbedRunner

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

#: Modules that torch.compile runs right, and that amplify rounding: its tanh rounds otherwise, its sums have another
#: order.
MODULES = """
import torch
from torch.compiler import is_compiling

FAULT = 0.0

class Shrunk(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.tanhshrink(x / 5) * (1 + FAULT * is_compiling())

class Angle(torch.nn.Module):
    def forward(self, x):
        shrunk = torch.nn.functional.tanhshrink(x)
        return torch.atan2(shrunk, shrunk)

class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(3))

    def forward(self, x):
        query, key, value = (layer(x).permute(0, 2, 1, 3) for layer in self.layers)
        scores = torch.matmul(query, key.transpose(-2, -1)) / 0.35
        return scores.softmax(dim=-1).matmul(value) * (1 + FAULT * is_compiling())

def shrunk():
    return Shrunk().eval(), {"x": torch.zeros(1, 2, 40, 40)}

def angle():
    return Angle().eval(), {"x": torch.zeros(1, 2, 40, 40)}

def attention():
    return Attention().eval(), {"x": torch.zeros(1, 16, 64, 64)}
"""


@pytest.fixture
def verdicts(tmp_path, monkeypatch):
    """Run a module compiled and in eager mode; return the report."""
    pytest.importorskip("polycmp_checks")
    monkeypatch.chdir(tmp_path)

    def run(name, fault, *words, kind="signed"):
        (tmp_path / "net.py").write_text(MODULES.replace("FAULT = 0.0", f"FAULT = {fault}"))
        model = (f"net.py:{name}", "--model-type", "torch", "-b", "torch:compile", "-b", "torch")
        stress = ("--data-loader", "stress", "--stress-kinds", kind, "--stress-seeds", "1")
        main(["run", *model, *stress, *words, "--report", "r.json"])
        return json.loads((tmp_path / "r.json").read_text())

    return run


@pytest.mark.parametrize(("fault", "verdict"), [("0.0", "passed"), ("1e-3", "failed")])
def test_what_rounding_inside_explains_passes_and_a_fault_does_not(verdicts, fault, verdict):
    report = verdicts("shrunk", fault)
    assert report["verdict"] == verdict
    assert "float32 measured with torch" in json.dumps(report)


def test_signs_that_are_nothing_but_rounding_are_not_accused(verdicts):
    assert verdicts("angle", "0.0", kind="tiny")["verdict"] == "undecided"


@pytest.mark.parametrize(("fault", "verdict"), [("0.0", "undecided"), ("1e-3", "failed")])
def test_a_gradient_that_is_nothing_but_rounding_is_not_accused(verdicts, fault, verdict):
    """That of the keys' bias is 0: softmax does not depend on what is added to all scores of a row."""
    report = verdicts("attention", fault, "--torch-grad", "backward")
    assert report["verdict"] == verdict
    assert "float32 measured with torch" in json.dumps(report)


class Everything(torch.nn.Module):
    """Operators that calculate, hand on, write in place, and hold other numbers than real ones."""

    def forward(self, x):
        added = torch.zeros_like(x)
        added += x  # in place: it calculates
        return {
            "handed": torch.relu(x).transpose(0, 1).reshape(-1)[2:],
            "written": added,
            "counted": torch.arange(4) * 3,
            "complex": torch.fft.fft(x.flatten()),
            "zeros": torch.where(x > 0, -torch.zeros_like(x), torch.inf) * 3,
            "half": x.to(torch.float16) * 3,
        }


def outputs(kind, seed, module=None, times=1.0):
    inputs = TensorMetadata().add("x", np.dtype("float32"), (4, 8))
    runner = PerturbedRunner(TorchModel(module or Everything(), inputs), "torch", Options(), kind, seed, times)
    feed = {"x": np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)}
    with runner:
        return runner.infer(feed), runner.infer(feed)


def relative(one, two):
    return float(np.max(np.abs(one.astype(np.complex128) - two) / np.max(np.abs(two))))


def test_what_is_calculated_moves_by_up_to_two_roundings_and_nothing_else():
    drawn = torch.random.get_rng_state()
    (first, second), (again, _), (other, _) = outputs("float32", 1), outputs("float32", 1), outputs("float32", 2)
    assert torch.equal(drawn, torch.random.get_rng_state())
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    assert np.array_equal(first["handed"], np.maximum(x, 0).T.reshape(-1)[2:])
    assert np.array_equal(first["counted"], np.arange(4) * 3)
    zeros = first["zeros"][x > 0]
    assert np.isinf(first["zeros"][x <= 0]).all()
    assert not zeros.any()
    assert np.signbit(zeros).all()
    assert 0 < relative(first["written"], x) <= 2 * np.finfo(np.float32).eps
    assert 0 < relative(first["complex"], second["complex"]) <= 4 * np.finfo(np.float32).eps
    assert 0 < relative(first["half"], second["half"]) <= 3 * np.finfo(np.float16).eps
    for name in ("written", "complex", "half"):
        assert np.array_equal(first[name], again[name])
        assert not np.array_equal(first[name], other[name])


def test_a_coarser_type_moves_more_and_a_finer_one_no_less_than_a_tensors_own():
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    assert 2.0**-10 < relative(outputs("bfloat16", 1)[0]["written"], x) <= 2.0**-8 + 2.0**-20
    assert relative(outputs("float64", 1)[0]["written"], x) > np.finfo(np.float32).eps / 8


def test_results_move_so_many_times_as_far():
    exact = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    near, far = (relative(outputs("float32", 1, times=times)[0]["written"], exact) for times in (1.0, 8.0))
    assert 6.0 * near < far < 10.0 * near


def test_weights_are_rounded_to_a_coarser_type_while_the_module_runs():
    module = torch.nn.Embedding(4, 8)
    module.forward = lambda x: module.weight.clone()
    exact = module.weight.detach().clone()
    (tensors, _), (same, _) = outputs("bfloat16", 1, module), outputs("float32", 1, module)
    assert np.array_equal(tensors["output"], exact.to(torch.bfloat16).float().numpy())
    assert np.array_equal(same["output"], exact.numpy())
    assert torch.equal(module.weight, exact)
