"""A module is called as a caller would: with the strides of its inputs, and with gradients where they are asked for."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from polycmp.cli.main import main
from polycmp.results.files import open_runs
from polycmp.tensors import to_numpy

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

SCRIPT = """
import numpy as np
import torch

class Strides(torch.nn.Module):
    def forward(self, x):
        return {"strides": torch.tensor(x.stride()), "x": x + 0}

class Recording(torch.nn.Module):
    def forward(self, x):
        return {"y": x * (2.0 if torch.is_grad_enabled() else 1.0)}

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(3.0))
    def forward(self, x, places):
        return {"y": (x * self.weight)[places], "count": places.sum()}

class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 0
    @staticmethod
    def backward(ctx, gradient):
        return gradient / 2

class WrongGradient(Scaled):
    def forward(self, x, places):
        return super().forward(Halved.apply(x), places)

class Logarithm(torch.nn.Module):
    def forward(self, x):
        return torch.log(x) + 1

class InPlace(torch.nn.Module):
    def forward(self, x):
        return x.add_(1)

def contiguous(): yield {"x": np.arange(12.0, dtype=np.float32).reshape(3, 4)}
def transposed(): yield {"x": np.arange(12.0, dtype=np.float32).reshape(3, 4).T}
def sliced(): yield {"x": np.arange(24.0, dtype=np.float32).reshape(3, 8)[:, 1::2]}
def expanded(): yield {"x": np.broadcast_to(np.arange(4.0, dtype=np.float32), (3, 4))}
def backwards(): yield {"x": np.arange(12.0, dtype=np.float32).reshape(3, 4)[::-1]}
def halves(): yield {"x": np.arange(12.0).astype(np.float16).reshape(3, 4).T}
def signed(): yield {"x": np.arange(-2.0, 3.0, dtype=np.float32)}
def numbers(): yield {"x": np.arange(4.0, dtype=np.float32), "places": np.array([2, 0, 2])}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(SCRIPT)


def run(module, data, *words):
    """Run a module on the inputs of a function, and return its outputs."""
    words = ["run", f"net.py:{module}", "--model-type", "torch", "--data-loader-script", f"net.py:{data}", *words]
    status = main([*words, "--save-outputs", "o.json"])
    return status, dict(next(iter(open_runs("o.json")[0].iterations))) if status in {0, 1} else {}


@pytest.mark.parametrize(
    ("data", "strides"),
    [("contiguous", [4, 1]), ("transposed", [1, 4]), ("sliced", [8, 2]), ("expanded", [0, 1]), ("backwards", [4, 1]),
     ("halves", [1, 4])],
)  # fmt: skip
def test_inputs_keep_their_strides(data, strides):
    names = {}
    exec(SCRIPT, names)
    status, outputs = run("Strides", data, "-b", "torch")
    assert status == 0
    assert outputs["strides"].tolist() == strides
    assert np.array_equal(outputs["x"], to_numpy(next(names[data]())["x"]))


def test_gradients_are_recorded_only_if_they_are_asked_for():
    assert run("Recording", "contiguous", "-b", "torch:grad=on", "-b", "torch")[0] == 1
    assert run("Recording", "contiguous", "-b", "torch:grad=on", "-b", "torch:grad=on,name=again")[0] == 0
    assert run("Recording", "contiguous", "-b", "torch", "-b", "torch:grad=off,name=again")[0] == 0


def test_gradients_of_inputs_and_parameters_are_outputs():
    status, outputs = run("Scaled", "numbers", "-b", "torch:grad=backward")
    assert status == 0
    assert {*outputs} == {"y", "count", "x.grad", "weight.grad"}
    given = np.cos(np.arange(3))  # one number for each place: 2, 0 and 2
    assert outputs["x.grad"] == pytest.approx([3 * given[1], 0, 3 * (given[0] + given[2]), 0], abs=1e-6)
    assert outputs["weight.grad"] == pytest.approx(2 * given[0] + 2 * given[2], abs=1e-5)


def test_a_wrong_gradient_is_found_where_outputs_are_right():
    backends = ("-b", "torch:model=net.py:WrongGradient", "-b", "torch")
    assert run("Scaled", "numbers", *backends)[0] == 0
    assert run("Scaled", "numbers", *backends, "--torch-grad", "backward")[0] == 1


def test_a_module_that_writes_into_its_inputs_has_no_gradients(capsys):
    assert run("InPlace", "contiguous", "-b", "torch:grad=on")[0] == 0
    assert run("InPlace", "contiguous", "-b", "torch:grad=backward")[0] == 3
    assert "grad=on" in capsys.readouterr().out


def test_inside_a_compiled_module_nothing_is_looked_for(capsys):
    pytest.importorskip("polycmp_locate")
    words = ["net.py:Strides", "--model-type", "torch", "-b", "torch:compile,compiler=eager", "-b", "torch"]
    assert main(["locate", *words, "--data-loader-script", "net.py:contiguous"]) == 2
    assert "cannot run parts of a model" in capsys.readouterr().err


def test_inside_a_module_of_another_environment_is_looked_from_there(capsys):
    pytest.importorskip("polycmp_locate")
    words = ["net.py:Strides", "--model-type", "torch", "-b", f"torch:python={sys.executable}", "-b", "torch"]
    assert main(["locate", *words, "--data-loader-script", "net.py:contiguous"]) == 2
    assert f"next: {sys.executable} -m polycmp locate … there" in " ".join(capsys.readouterr().err.split())


def test_a_module_that_makes_nan_can_be_traced(capsys):
    pytest.importorskip("polycmp_locate")
    words = ["net.py:Logarithm", "--model-type", "torch", "-b", "torch", "-b", "torch:name=again", "--nan", "equal"]
    main(["locate", *words, "--data-loader-script", "net.py:signed"])
    printed = capsys.readouterr()
    assert "gives another" not in printed.err
    assert "return torch.log(x) + 1" in printed.out  # an operator of the trace is named by its line
