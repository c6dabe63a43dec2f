"""`polycmp bisect --over passes`: the optimisation of a backend that a fault hangs on, and what to type until then."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import numpy as np
import pytest
from fakes import FakeSite
from onnx import TensorProto, helper
from small_models import save_graph

pytest.importorskip("polycmp_onnxrt")

REPORT = ("--report", "found.json")

LIGHT = """
from __future__ import annotations
from dataclasses import dataclass
from polycmp.spec import RunnerSpec, RunnerTools, Switch, hookimpl, opt

@dataclass(frozen=True)
class Options:
    without: tuple[str, ...] = opt((), help="Passes to leave out.")
    broken: bool = opt(False, help="Wrong whatever is left out.")
    kernel: bool = opt(False, help="Wrong with the kernels of any source, not with a pass.")
    sources: tuple[str, ...] | None = opt(None, help="The only sources of kernels.", bare="")

@hookimpl
def polycmp_runners():
    yield RunnerSpec(name="optimising", summary="Adds 1 unless two passes are left out.",
                     factory="optimising_heavy:make", options=Options, tools=f"{__name__}:Tools")

class Tools(RunnerTools):
    switches = (Switch("without", tuple(f"Pass{number}" for number in range(20))), Switch("sources", ((),)))
"""
HEAVY = """
import numpy as np
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata

class Optimising(Runner):
    def __init__(self, options, name):
        super().__init__(name)
        passes = {"Pass3", "Pass11"} <= set(options.without)
        self.right = (options.sources == () if options.kernel else passes) and not options.broken
    def activate_impl(self):
        pass
    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", np.float32, (3,))
    def infer_impl(self, feed):
        return {"y": feed["x"] + (0 if self.right else 1)}
    def deactivate_impl(self):
        pass

def make(model, options, *, name):
    return Optimising(options, name)
"""


@pytest.fixture
def same(tmp_path, tmp_path_factory, monkeypatch):
    """A model that gives back its input, and a backend with two passes that together do not."""
    site = FakeSite(tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(str(site.folder))
    site.install(
        "fake-optimising",
        {"optimising": "optimising_light"},
        {"optimising_light.py": LIGHT, "optimising_heavy.py": HEAVY},
    )
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    ends = [("x", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, [3])]
    yield save_graph(tmp_path / "same.onnx", nodes, *ends, [])
    for name in ("optimising_light", "optimising_heavy"):
        sys.modules.pop(name, None)


def test_the_smallest_set_of_passes_is_named_with_the_way_round(polycmp, same, tmp_path):
    done = polycmp("bisect", same, "-b", "optimising", "-b", "onnx", "--over", "passes", *REPORT)
    found = json.loads((tmp_path / "found.json").read_text())
    assert done.status == 1, done.err
    assert found["switch"]["value"] == ["Pass3", "Pass11"]
    assert "without Pass3, Pass11 optimising is right" in found["sentence"]
    words = found["switch"]["words"].split()
    assert polycmp("run", same, *words, "-b", "onnx").status == 0
    assert polycmp("run", same, "-b", "optimising", "-b", "onnx").status == 1


def test_a_backend_that_was_typed_with_options_keeps_them_and_no_name_in_the_way_round(polycmp, same, tmp_path):
    backend = f"optimising:without=Pass3,model={same.name}"
    done = polycmp("bisect", same, "-b", backend, "-b", "onnx", "--over", "passes", *REPORT)
    found = json.loads((tmp_path / "found.json").read_text())
    assert done.status == 1, done.err
    assert found["switch"]["words"] == f"-b optimising:without=[Pass3,Pass11],model={same.name}"


def test_the_passes_of_the_reference_are_not_searched_where_its_backend_is_named(polycmp, same, tmp_path):
    words = ("-b", "onnxrt:name=exact", "-b", "optimising", "--reference", "onnxrt", "--over", "passes", *REPORT)
    done = polycmp("bisect", same, *words)
    found = json.loads((tmp_path / "found.json").read_text())
    assert done.status == 1, done.err
    assert found["switch"]["value"] == ["Pass3", "Pass11"]


def test_a_way_round_can_be_pasted_where_a_value_has_quotes(polycmp, same, tmp_path):
    (tmp_path / "a b.onnx").write_bytes((tmp_path / "same.onnx").read_bytes())
    polycmp(
        "bisect", same, "-b", "optimising:without=Pass3,model='a b.onnx'", "-b", "onnx", "--over", "passes", *REPORT
    )
    words = json.loads((tmp_path / "found.json").read_text())["switch"]["words"]
    assert polycmp("run", same, *shlex.split(words), "-b", "onnx").status == 0, words


def test_an_option_that_names_what_stays_is_set_to_nothing(polycmp, same, tmp_path):
    done = polycmp("bisect", same, "-b", "optimising:kernel", "-b", "onnx", "--over", "passes", *REPORT)
    found = json.loads((tmp_path / "found.json").read_text())
    assert done.status == 1, done.err
    assert (found["switch"]["option"], found["switch"]["value"]) == ("sources", [])
    assert found["switch"]["words"] == "-b optimising:kernel,sources=[]"
    assert "with sources=none" in found["sentence"]
    assert polycmp("run", same, *found["switch"]["words"].split(), "-b", "onnx").status == 0
    given = "optimising:kernel,sources=a"  # what the user chose is no reason to add to it
    assert polycmp("bisect", same, "-b", given, "-b", "onnx", "--over", "passes").status == 1


def test_no_pass_is_blamed_for_a_fault_that_stays(polycmp, same):
    done = polycmp("bisect", same, "-b", "optimising:broken", "-b", "onnx", "--over", "passes")
    assert done.status == 1
    assert "FAILED" in done.out and "none of them is to blame" in done.out


def test_no_pass_is_acquitted_where_the_reference_differs_from_itself(polycmp, same, tmp_path):
    data = tmp_path / "data.py"
    data.write_text("import numpy as np\n\ndef load_data():\n    yield {'x': np.float32([np.nan, 1, 2])}\n")
    words = ("bisect", same, "-b", "optimising", "-b", "onnx", "--data-loader-script", data, "--over", "passes")
    done = polycmp(*words)
    assert done.status == 3, done.out
    assert "optimising cannot be judged, since onnx differs from itself" in done.err
    assert "--nan equal" in done.err
    done = polycmp(*words, "--nan", "equal")
    assert (done.status, "without Pass3, Pass11 optimising is right" in done.out) == (1, True), done.out


def test_a_backend_that_is_right_ends_the_search_at_once(polycmp, same):
    backend = "optimising:without=[Pass3,Pass11]"
    done = polycmp("bisect", same, "-b", backend, "-b", "onnx", "--over", "passes")
    assert (done.status, "NO FAULT" in done.out) == (0, True)


def test_a_backend_without_passes_is_refused(polycmp, same):
    done = polycmp("bisect", same, "-b", "onnx", "-b", "pluginref", "--over", "passes")
    assert done.status == 2
    assert "no passes that can be switched off" in done.err and "onnxrt" in done.err


@pytest.mark.corpus  # every pass of ONNX Runtime, and a page
def test_a_pass_of_onnx_runtime_that_breaks_a_model_is_named(polycmp, tmp_path):
    """Relu and Clip of float64, which ONNX Runtime's rule joins into what it cannot run."""
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"], name="sigmoid"),
        helper.make_node("Relu", ["s"], ["r"], name="relu"),
        helper.make_node("Clip", ["r", "low", "two"], ["y"], name="clip"),
    ]
    ends = [("x", TensorProto.DOUBLE, [3, 4])], [("y", TensorProto.DOUBLE, [3, 4])]
    weights = [("two", np.float64(2)), ("low", np.float64(-1))]
    path = save_graph(tmp_path / "m.onnx", nodes, *ends, weights)
    if polycmp("run", path, "-b", "onnxrt", "-b", "onnx").status == 0:
        pytest.skip("this ONNX Runtime joins Relu and Clip of float64")
    words = ("-b", "onnxrt", "-b", "onnx", "--over", "passes", "--explain", "page")
    done = polycmp("bisect", path, *words, *REPORT)
    found = json.loads((tmp_path / "found.json").read_text())
    assert done.status == 1
    assert found["switch"]["words"] == "-b onnxrt:disable_optimizers=FuseReluClip"
    assert [item["name"] for item in found["together"]] == ["relu", "clip"]
    assert "it runs Relu 'relu' and Clip 'clip' one by one, but not together" in found["sentence"]
    page = (tmp_path / "page/issue.md").read_text()
    assert page.startswith("# onnxruntime cannot run a model; without FuseReluClip it is right\n")
    assert "**Workaround:** `-b onnxrt:disable_optimizers=FuseReluClip`" in page
    script = (tmp_path / "page/repro.py").read_text()
    assert script in page and len(script.splitlines()) <= 6
    words, run = [sys.executable, "repro.py"], {"cwd": tmp_path / "page", "capture_output": True, "text": True}
    shown = subprocess.run(words, check=False, **run)
    assert "Unexpected data type for Clip" in shown.stderr and shown.stderr.splitlines()[-1] in page
    without = script.replace('Provider"])', 'Provider"], disabled_optimizers=["FuseReluClip"])')
    (tmp_path / "page/repro.py").write_text(without)
    shown = subprocess.run(words, check=False, **run)
    assert shown.returncode == 0 and shown.stdout.endswith(" off by 0.0\n")
