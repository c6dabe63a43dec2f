"""What of torch.compile can be left out, and that a search finds which compiler is wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest

from polycmp.cli.main import main
from polycmp.tensors import TensorMetadata
from polycmp_torch import TorchModel, TorchRunner
from polycmp_torch.compiled import OPTIMIZATIONS, compile_arguments, optimizations
from polycmp_torch.options import Options
from polycmp_torch.unwritten import find_unwritten

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

SCRIPT = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return {"y": torch.relu(x - 0.5) * 2 + 1}

def load_model():
    return Net(), {"x": torch.ones(4, 8)}
"""


@pytest.fixture
def net(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(SCRIPT)
    return ("net.py", "--model-type", "torch")


def test_optimizations_are_those_that_this_release_knows_and_only_where_they_are_used():
    known = [*optimizations(None, Options(compile=True))]
    assert {"pattern_matcher", "epilogue_fusion"} <= {*known} <= {*OPTIMIZATIONS}
    assert [*optimizations(None, Options())] == []
    assert [*optimizations(None, Options(compile=True, compiler="eager"))] == []


def test_what_is_left_out_is_an_argument_of_torch_compile():
    options = Options(compile=True, disable=("pattern_matcher",))
    assert compile_arguments(options) == {"backend": "inductor", "options": {"pattern_matcher": False}}
    assert compile_arguments(Options(compile=True, compiler="aot_eager")) == {"backend": "aot_eager"}
    assert compile_arguments(Options(compile=True, dynamic=True)) == {"backend": "inductor", "dynamic": True}


@pytest.mark.parametrize(
    "spec", ["torch:compiler=eager", "torch:disable=a", "torch:dynamic", "torch:compile,compiler=eager,disable=a"]
)
def test_options_without_an_effect_are_refused(net, spec, capsys):
    assert main(["run", *net, "-b", spec, "-b", "torch"]) == 2, capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words", "missing"),
    [
        ("", (), "contiguous inputs, no gradients, static shapes; for others: --stress-layouts"),
        (",dynamic", (), "contiguous inputs, no gradients; "),
        (",grad=on", (), "contiguous inputs, static shapes; "),
        ("", ("--data-loader", "stress", "--stress-layouts", "transposed"), "no gradients, static shapes; "),
        (",dynamic,grad=on", ("--data-loader", "stress", "--stress-layouts", "transposed"), ""),
    ],
)
def test_a_compiled_module_tells_how_it_was_not_called(net, capsys, options, words, missing):
    kinds = ("--stress-kinds", "signed", "--stress-seeds", "1") if words else ()
    backends = ("-b", f"torch:compile,compiler=eager{options}", "-b", "torch")
    assert main(["run", *net, *backends, *words, *kinds]) == 0, capsys.readouterr().err
    printed = " ".join(capsys.readouterr().out.split())
    assert (f"asked only with {missing}" in printed) if missing else ("asked only" not in printed)


class Asking(torch.nn.Module):
    """Adds 1 where it is compiled."""

    def forward(self, x):
        return x + 1 if torch.compiler.is_compiling() else x


@torch._dynamo.config.patch(recompile_limit=2)
def test_each_of_many_runs_of_a_module_is_compiled():
    """Dynamo compiles the code of a module a few times, and leaves it as it is after that."""
    model = TorchModel(Asking(), TensorMetadata().add("x", "float32", [2]), ("y",))
    for left_out in ((), ("pattern_matcher",), ("split_reductions",), ("epilogue_fusion",)):
        with TorchRunner(model, options=Options(compile=True, disable=left_out)) as runner:
            [result] = runner.infer({"x": np.zeros(2, np.float32)}).values()
        assert result.tolist() == [1, 1], left_out


def test_the_compiler_that_is_wrong_is_named(net, tmp_path, monkeypatch, capsys):
    pytest.importorskip("polycmp_bisect")
    from torch._inductor import config

    monkeypatch.setattr(config.cpp, "inject_relu_bug_TESTING_ONLY", "accuracy")
    backends = ("-b", "torch:compile", "-b", "torch")
    status = main(["bisect", *net, *backends, "--over", "passes", "--report", "r.json"])
    assert status == 1, capsys.readouterr().err
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["switch"]["words"] == "-b torch:compile,compiler=aot_eager"
    assert "with compiler=aot_eager torch:compile is right" in found["sentence"]
    assert main(["run", *net, "-b", "torch:compile,disable=pattern_matcher", "-b", "torch"]) == 1


DRAWING = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        torch.manual_seed(0)
        return x * torch.rand(4, 8)

def load_model():
    return Net().eval(), {"x": torch.ones(4, 8)}
"""


def test_a_module_that_draws_random_numbers_says_so(net, tmp_path, capsys):
    """Inductor draws others of one seed, on purpose: pytorch#118735."""
    (tmp_path / "net.py").write_text(DRAWING)
    assert main(["run", *net, "-b", "torch:compile", "-b", "torch"]) == 1, capsys.readouterr().err
    printed = " ".join(capsys.readouterr().out.split())
    assert "torch: the module draws random numbers, others in each backend and run" in printed
    assert "-b torch:compile,fallback_random draws those of the module uncompiled" in printed
    assert main(["run", *net, "-b", "torch:compile,fallback_random", "-b", "torch"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("returned", "is_told"),
    [
        ("torch.empty_like(x)", True),
        ("torch.cat([x, torch.empty(2, 8)])", True),
        ("torch.empty(2, 8, dtype=torch.int32)", True),
        ("torch.empty(2, 8, dtype=torch.bool)", True),
        ("x.new_empty(2, 8) + torch.nan", False),
        ("torch.empty_like(x).copy_(x)", False),
        ("torch.empty_like(x).fill_(3)", False),
        ("x / (x - x)", False),
        ("x.log() + torch.rand(4, 8)", False),
    ],
)
def test_memory_that_nobody_wrote_is_told(returned, is_told):
    """pytorch#113272: what empty_like holds differs under torch.compile, and is nobody's result."""

    class Net(torch.nn.Module):
        def forward(self, x):
            return eval(returned)

    module, x = Net(), torch.full((4, 8), -1.0)
    assert bool(find_unwritten(torch, module, [x], {})) == is_told


def test_a_compiled_module_says_what_nobody_wrote(net, tmp_path, capsys):
    (tmp_path / "net.py").write_text(SCRIPT.replace("torch.relu(x - 0.5) * 2 + 1", "torch.empty_like(x)"))
    main(["run", *net, "-b", "torch:compile", "-b", "torch"])
    assert "32 of 32 elements of 'y' are memory that nobody wrote" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("returned", "kind", "is_told"),
    [
        ("x.exp().log()", torch.float32, True),
        ("x.square().sqrt()", torch.float16, True),
        ("self.scale * x.exp() / self.scale", torch.bfloat16, True),
        ("(x - x).log()", torch.float32, False),
        ("x.exp().log() * torch.nan", torch.float32, False),
        ("x.exp().log()", torch.float64, False),
        ("torch.full_like(x, torch.nan)", torch.float32, False),
    ],
)
def test_numbers_beyond_the_type_inside_are_told(returned, kind, is_told):
    """As of jax#38099: infinite in eager mode, and a number where a compiler keeps float32, or leaves steps out."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.tensor(1e-3))

        def forward(self, x):
            return eval(returned)

    model = TorchModel(Net().to(kind), TensorMetadata().add("x", None, (2,)))
    x = np.array([1, 300], np.float64)
    with TorchRunner(lambda: model, options=Options(dtype=str(kind).removeprefix("torch."))) as runner:
        runner.infer({"x": x.astype(np.float32) if kind != torch.float64 else x})
        told = [note for note in runner.notes if "a number inside is beyond" in note]
    assert bool(told) == is_told, told


def test_buffers_that_a_module_changes_are_told(net, tmp_path, capsys):
    script = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(8))
        self.register_buffer("coarse", torch.zeros(8).to(torch.float8_e4m3fn))

    def forward(self, x):
        self.state += x.sum(0) * SHARE
        return x + self.state

def load_model():
    return Net().eval(), {"x": torch.ones(4, 8)}
"""
    for share, is_told in (("1", True), ("0", False)):
        (tmp_path / "net.py").write_text(script.replace("SHARE", share))
        main(["run", *net, "-b", "torch"])
        said = " ".join(capsys.readouterr().out.split())
        assert ("keeps 'state' from one call to the next" in said) == is_told, said


def test_a_module_whose_buffers_have_no_shape_before_its_first_call_runs():
    module = torch.nn.Sequential(torch.nn.LazyInstanceNorm1d(track_running_stats=True), torch.nn.ReLU()).eval()
    inputs = TensorMetadata().add("x", np.float32, (2, 3, 8))
    model = TorchModel(module, inputs)
    with TorchRunner(lambda: model, options=Options()) as runner:
        x = np.random.default_rng(0).standard_normal((2, 3, 8)).astype(np.float32)
        (y,) = runner.infer({"x": x}).values()
    assert np.allclose(y, np.maximum(x, 0), atol=1e-4)


def test_a_search_names_the_random_numbers_and_not_the_compiler(net, tmp_path, capsys):
    pytest.importorskip("polycmp_bisect")
    (tmp_path / "net.py").write_text(DRAWING)
    status = main(["bisect", *net, "-b", "torch:compile", "-b", "torch", "--over", "passes", "--report", "r.json"])
    assert status == 1, capsys.readouterr().err
    assert json.loads((tmp_path / "r.json").read_text())["switch"]["words"] == "-b torch:compile,fallback_random"


@pytest.mark.parametrize("spec", ["torch", "torch:compile,compiler=eager"])
def test_a_module_that_draws_nothing_is_not_said_to(net, capsys, spec):
    assert main(["run", *net, "-b", spec, "-b", "torch"]) == 0, capsys.readouterr().err
    assert "random" not in capsys.readouterr().out
