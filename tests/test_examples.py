"""Every example runs and says what it promises; programs written for Polygraphy run with other import lines."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import onnx
import pytest
from tutorial_folders import identity_model, script

EXAMPLES = Path(__file__).parents[1] / "examples"

PROMISED = {
    "compare_runners": "OnnxrtRunner against ReferenceRunner: 3 of 3 iterations passed",
    "save_and_load": "now against before: 2 of 2 iterations passed",
    "validate_on_a_data_set": "32 images are right",
    "extend_a_loader": "outputs now: stem.relu, logits",
    "immediate_evaluation": "34 tensors can be compared",
    "custom_data": "optimization all [(1, 10), (3, 10)]",
    "write_a_runner": "numpy against onnxrt: 1 of 1 iterations passed",
    "own_compare_function": "same_ranking: float16 against float32: 1 of 1 iterations passed",
}

#: Where the names that programs import from Polygraphy are.
MODULES = {
    "polygraphy.backend.onnxrt": "polycmp_onnxrt",
    "polygraphy.backend.onnx": "polycmp_onnx",
    "polygraphy.backend.pluginref": "polycmp_pluginref",
    "polygraphy.backend.trt": "polycmp_trt",
    "polygraphy.backend.common": "polycmp.loader",
    "polygraphy.comparator": "polycmp.comparator",
    "polygraphy.json": "polycmp.json",
    "polygraphy.logger": "polycmp.logger",
    "polygraphy": "polycmp",
}

COMPARING = """
from polygraphy import func
from polygraphy.backend.common import BytesFromPath, bytes_from_path
from polygraphy.backend.onnx import OnnxFromPath, onnx_from_path
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc, DataLoader, PostprocessFunc, RunResults
from polygraphy.json import load_json, save_json
from polygraphy.logger import G_LOGGER


@func.extend(OnnxFromPath("identity.onnx"))
def load_model(model):
    model.graph.name = "extended"


def main():
    runners = [OnnxrtRunner(SessionFromOnnx("identity.onnx")), OnnxrtRunner(SessionFromOnnx(load_model))]
    with G_LOGGER.verbosity(G_LOGGER.WARNING):
        run_results = Comparator.run(runners, data_loader=DataLoader(iterations=2), warm_up=1)
    assert bool(Comparator.compare_accuracy(run_results, compare_func=CompareFunc.simple(atol=1e-8)))
    assert Comparator.validate(run_results, check_inf=True, check_nan=True)
    run_results.save("inference_results.json")
    assert [name for name, _ in RunResults.load("inference_results.json").items()] == [r.name for r in runners]
    ranked = Comparator.postprocess(run_results, PostprocessFunc.top_k(k=1))
    assert Comparator.compare_accuracy(ranked, compare_func=CompareFunc.indices())
    save_json([{"x": run_results[0][1][0]["y"]}], "inputs.json")
    assert load_json("inputs.json")[0]["x"].shape == (1, 1, 2, 2)
    assert bytes_from_path("identity.onnx") == BytesFromPath("identity.onnx")()
    assert onnx_from_path("identity.onnx").graph.name == "identity"
    print("all is well")


if __name__ == "__main__":
    main()
"""


def ported(program: str) -> str:
    """Return a program for Polygraphy with the modules in its import lines exchanged, and nothing else."""
    return re.sub(r"(?m)^from (polygraphy[.\w]*) import", lambda found: f"from {MODULES[found[1]]} import", program)


def test_every_example_is_tested():
    scripts = {path.stem for path in EXAMPLES.glob("*.py")} - {"make_demo_model"}
    assert scripts == set(PROMISED)


@pytest.mark.parametrize("name", PROMISED)
def test_an_example_runs(name, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert PROMISED[name] in capsys.readouterr().out


def test_the_data_example_serves_the_command_line_too(polycmp, tmp_path):
    make_model = runpy.run_path(str(EXAMPLES / "make_demo_model.py"))["make_model"]
    onnx.save(make_model(), tmp_path / "demo.onnx")
    done = polycmp(
        "run", "demo.onnx", "-b", "onnxrt", "-b", "onnxrt:optimization=off",
        "--data-loader-script", EXAMPLES / "custom_data.py", "--save-inputs", "in.json",
        "--compare-func-script", EXAMPLES / "own_compare_function.py",
    )  # fmt: skip
    assert done.status == 0, done.out + done.err


def test_a_program_that_loads_results_runs_after_changing_its_imports(polycmp, tmp_path, capfd):
    onnx.save(identity_model("x", [1, 1, 2, 2], "y"), tmp_path / "identity.onnx")
    saving = ["--save-inputs", "inputs.json", "--save-outputs", "outputs.json"]
    assert polycmp("run", "identity.onnx", "--onnxrt", "--onnxrt", *saving).status == 0
    (tmp_path / "program.py").write_text(ported(script("load_results.py")))
    runpy.run_path(str(tmp_path / "program.py"), run_name="__main__")
    out = capfd.readouterr().out
    assert "Input: 'x' | Values:" in out
    assert out.count("Output: 'y' | Values:") == 2


def test_a_program_that_compares_runs_after_changing_its_imports(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(identity_model("x", [1, 1, 2, 2], "y"), tmp_path / "identity.onnx")
    (tmp_path / "program.py").write_text(ported(COMPARING))
    runpy.run_path(str(tmp_path / "program.py"), run_name="__main__")
    assert "all is well" in capsys.readouterr().out
