"""Truth of others: the measures beside polycmp's verdicts, worked out by hand, and what is skipped in words."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polycmp._toml import parse_toml
from polycmp.testing.nodes import NodeCase
from truth.history.environments import NotMadeError
from truth.outside import (
    is_it_a_bug,
    looping,
    mixed_precision,
    optimiser_tools,
    ort_optimiser,
    ort_passes,
    plain_loop,
    torch_compile,
)
from truth.outside.backends_table import BACKENDS
from truth.outside.is_it_a_bug_cases import IR, REPORTS, SCRIPT
from truth.outside.is_it_a_bug_page import is_right
from truth.outside.is_it_a_bug_page import page as page_of_reports
from truth.outside.torch_compile_cases import AOT, CASES, DYNAMO, INDUCTOR, Case
from truth.outside.torch_compile_page import layer_said, layer_seen, page
from truth.outside.torch_releases import FromDebian
from truth.outside.ulp import ulp_error

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "found, truth, ulp",
    [
        # Neighbours of 1 in float32 are 2^-23 apart above it.
        (np.float32([1.0 + 2.0**-23]), np.float64([1.0]), 1.0),
        (np.float32([1.0]), np.float64([1.0 + 2.0**-25]), 0.25),
        # In float16 neighbours of 1024 are 1 apart.
        (np.float16([1027.0]), np.float64([1024.5]), 2.5),
        (np.float32([np.nan, np.inf]), np.float64([np.nan, np.inf]), 0.0),
        (np.float32([np.inf]), np.float64([1.0]), math.inf),
        (np.float32([1.0]), np.float64([np.nan]), math.inf),
        (np.float32([[1.0]]), np.float64([1.0]), math.inf),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3)), 0.0),
    ],
)
def test_errors_in_ulp(found, truth, ulp):
    assert ulp_error(found, truth) == ulp


def write_model(path: Path) -> None:
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def test_files_are_stamped_for_old_releases_and_bad_ones_stay(tmp_path):
    write_model(tmp_path / "m.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    assert ort_optimiser.copy_files(tmp_path, tmp_path / "copy") == 2
    assert onnx.load(tmp_path / "copy" / "m.onnx").ir_version == 9
    assert (tmp_path / "copy" / "bad.onnx").read_bytes() == b"no model"


def test_the_plain_loop_says_what_is_equal_and_what_does_not_run(tmp_path):
    pytest.importorskip("onnxruntime")
    ort_optimiser.copy_files(_folder(tmp_path), tmp_path / "copy")
    done = subprocess.run(
        [sys.executable, plain_loop.__file__, str(tmp_path / "copy")],
        input="bad.onnx\nm.onnx",
        capture_output=True,
        text=True,
        check=True,
    )
    said = {line["file"]: line for line in map(json.loads, done.stdout.splitlines()) if "begun" not in line}
    assert ort_optimiser.class_of(said["m.onnx"]) == "equal"
    assert ort_optimiser.class_of(said["bad.onnx"]) == "not run"


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    write_model(folder / "m.onnx")
    (folder / "bad.onnx").write_bytes(b"no model")
    return folder


def test_without_the_data_it_says_so_and_does_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ORT_OPTIMISER_FILES", raising=False)
    page = tmp_path / "page.md"
    assert ort_optimiser.main(["--output", str(page)]) == 0
    assert "skipped: ORT_OPTIMISER_FILES does not name" in capsys.readouterr().out
    assert ort_optimiser.main(["--data", str(tmp_path / "none"), "--output", str(page)]) == 0
    assert "skipped: there is no folder" in capsys.readouterr().out
    assert not page.exists()


def test_the_page_names_what_changed_and_what_is_doubtful():
    def release(name, verdicts):
        cases = {
            file: {"case": file, "state": state, "reason": "why", "max_error": error}
            for file, (state, error, _) in verdicts.items()
        }
        plain = {
            file: {"error": seen, "equal": seen == 0.0} if seen is not None else {"refused": "no"}
            for file, (_, _, seen) in verdicts.items()
        }
        return ort_optimiser.Release(name, cases, plain, 1.0)

    old = release("1.0", {"a": ("failed", 0.9, 0.5), "b": ("passed", 0.1, 0.02), "c": ("error", None, None)})
    new = release("2.0", {"a": ("passed", 0.0, 0.0), "b": ("passed", 0.1, 0.02), "c": ("error", None, None)})
    lines = ort_optimiser.page([old, new], 3).splitlines()
    assert "| a | FAILED 0.5 | – |" in lines
    assert "| 2.0 | failed | passed | 1 | a |" in lines
    assert "| b | PASSED | 1.0 to 2.0: 2 of 2 | 0.02 | 0.1 |" in lines
    assert "| passed | 1 |  |  |  | 1 |  |" in lines
    assert "| c | why |" in lines


def test_each_silent_bug_has_its_module_and_each_module_its_bug():
    folder = Path(torch_compile.__file__).parent / "torch_compile_cases"
    files = {path.stem: path.read_text("utf-8") for path in folder.glob("*.py") if path.stem != "__init__"}
    assert sorted(files) == sorted(case.name for case in CASES)
    for name, text in files.items():
        kind, number = name.split("_")
        assert text.startswith(f'"""{kind.capitalize()} {number}'), name
        assert "def load_model(" in text, name
        assert "def load_data(" in text, name


@pytest.mark.parametrize(
    ("words", "layer"),
    [
        ("-b torch:compile,disable=use_joint_graph_passes", INDUCTOR),
        ("-b torch:compile,compiler=aot_eager,dynamic", INDUCTOR),
        ("-b torch:compile,compiler=eager", AOT),
        ("-b torch:compile,compiler=eager,grad=on,name=torch:compile", AOT),
        ("-b torch", DYNAMO),
        ("", ""),
    ],
)
def test_the_layer_that_a_search_accuses_is_what_is_left_out(words, layer):
    assert layer_said(words) == layer


@pytest.mark.parametrize(
    ("wrong", "layer"),
    [(["inductor"], INDUCTOR), (["aot_eager", "inductor"], AOT), (["eager", "inductor"], DYNAMO), ([], "none")],
)
def test_the_layer_that_is_wrong_is_the_first_that_gives_something_else(wrong, layer):
    assert layer_seen(wrong) == layer


def answers(verdict, switch, control="passed"):
    asked = ("stress", "layouts", "recording", "backward", "inputs")
    bug = {name: {"verdict": verdict if name in {"stress", "inputs"} else "passed"} for name in asked}
    bug |= {"passes": {"verdict": "failed", "switch": switch}, "locate": {"status": 2}}
    return {"plain": ["inductor"], "bug": bug, "control": {name: {"verdict": control} for name in asked}}


def test_a_miss_and_an_accused_control_are_named_on_the_page_and_counted():
    found, missed = Case("issue_174371", INDUCTOR), Case("reproducer_3", INDUCTOR)
    said = {
        found.name: answers("failed", "-b torch:compile,compiler=aot_eager", "failed"),
        missed.name: answers("passed", "-b torch"),
    }
    text = page([found, missed], said)
    assert "| all | 2 | 1 (50%) | 1 (50%) | 1 (50%) | 1 of 2 |" in text
    assert "- no. 3: knowing nothing and with the inputs" in text
    assert "control accused" in text


def test_what_is_still_wrong_is_no_control():
    case = Case("issue_145379", INDUCTOR, mended=True, remark="Gives 0.", is_still_wrong=True)
    said = answers("failed", "-b torch:compile,compiler=aot_eager")
    said["mended"] = {name: {"verdict": "failed"} for name in said["control"]}
    text = page([case], {case.name: said})
    assert "| all | 1 | 1 (100%) | 1 (100%) | 1 (100%) | 0 of 1 |" in text
    assert "not accused; 2.13.0 still wrong" in text
    assert f"- {case.link}: Gives 0." in text


def test_without_a_release_of_pytorch_it_says_so_and_does_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(torch_compile, "RELEASES", (FromDebian("2.6.0", "trixie"),))
    monkeypatch.setattr(torch_compile, "_WORK", tmp_path)
    assert torch_compile.main(["--output", str(tmp_path / "page.md")]) == 0
    said = capsys.readouterr().out
    assert "PyTorch 2.6.0: left out, since it cannot be installed here: it takes mmdebstrap, and root" in said
    assert "skipped: no release of PyTorch" in said
    assert not (tmp_path / "page.md").exists()


def said(status, text=""):
    return {"plain": "wrong", "asked": {"run": {"status": status, "sentence": "", "text": text}}}


def test_a_confirmed_report_has_to_be_accused_and_one_that_is_no_bug_told_or_let_alone():
    bug = next(report for report in REPORTS if report.number == 25169)
    none = next(report for report in REPORTS if report.number == 21168)
    assert is_right(bug, said(1))
    assert not is_right(bug, said(0))
    assert not is_right(bug, said(3))
    assert is_right(none, said(0))
    assert is_right(none, said(3))
    assert is_right(none, said(1, "openvino has no operator TreeEnsembleClassifier"))
    assert not is_right(none, said(1, "openvino is wrong"))
    text = page_of_reports([bug, none], {"25169": said(0), "21168": said(0)})
    assert "| all | 2 | 1 (50%) | 1 (50%) |" in text
    assert f"- {bug.link}: expected {bug.expected}" in text


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.number)
def test_each_report_has_a_model_and_inputs_and_says_what_to_expect(report, tmp_path):
    net = report.make().net
    missing = {value.name for value in net.model.graph.input} ^ set(net.feed)
    assert bool(missing) is ("which input is missing" in report.expected)
    assert net.write(tmp_path).is_file()
    assert report.expected
    assert bool(report.writes) is (report.how == IR)
    if report.confirmed:
        assert report.make().expected()
    else:
        assert report.how != SCRIPT


def test_without_a_release_of_openvino_it_says_so_and_does_nothing(tmp_path, capsys, monkeypatch):
    def lacking(environment):
        raise NotMadeError("no index here")

    monkeypatch.setattr(is_it_a_bug, "make", lacking)
    monkeypatch.setattr(is_it_a_bug, "_WORK", tmp_path / "work")
    assert is_it_a_bug.main(["--cases", "25169", "--output", str(tmp_path / "page.md")]) == 0
    printed = capsys.readouterr().out
    assert "25169: left out, since OpenVINO 2024.1.0 cannot be installed here: no index here" in printed
    assert "skipped: no release of OpenVINO" in printed
    assert not (tmp_path / "page.md").exists()


@pytest.mark.parametrize(
    "run, inside, located, is_contrary",
    [
        ("passed", "passed", "passed", False),
        ("failed", "failed", "failed", False),
        ("passed", "failed", "failed", False),  # a tensor inside is wrong, and the outputs do not show it
        ("open", "open", "passed", False),
        ("failed", "failed", "passed", True),
        ("failed", "passed", "failed", True),
        ("passed", "failed", "passed", True),
    ],
)
def test_what_contradicts_looking_inside(run, inside, located, is_contrary):
    said = {"run": run, "run --mark-all": inside, "locate": located}
    assert bool(ort_passes.contradiction(said)) is is_contrary


def test_passes_are_sufficient_and_minimal_by_onnx_runtime_alone(tmp_path):
    pytest.importorskip("onnxruntime")
    write_model(tmp_path / "m.onnx")
    found = ort_passes.check(tmp_path / "m.onnx", {"x": np.float32([-1, 1])}, "passed", ["ConstantSharing"])
    assert found.sufficient
    assert not found.minimal  # all bits are equal with it as well


def node_case(operator: str, feed: dict[str, np.ndarray], expected: np.ndarray) -> NodeCase:
    """Return a case like those of the package `onnx`, which takes 5 s to make all of its own."""
    inputs = [from_array(name, array) for name, array in feed.items()]
    node = helper.make_node(operator, list(feed), ["out"])
    graph = helper.make_graph([node], "case", inputs, [from_array("out", expected)])
    return NodeCase(f"test_{operator}", helper.make_model(graph), feed, {"out": expected}, 1e-6, 1e-6)


def from_array(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def test_a_frozen_model_computes_the_case_and_one_more():
    x, y = np.float32([[1, 2]]), np.float32([[3, 5]])
    case = node_case("Add", {"x": x, "y": y}, x + y)
    frozen = optimiser_tools.freeze(case)
    assert [item.name for item in frozen.graph.input] == ["polycmp_added"]
    (output,) = ReferenceEvaluator(frozen).run(None, {"polycmp_added": np.float32(1)})
    np.testing.assert_allclose(output, x + y + 1, 1e-6)


def test_what_makes_no_real_numbers_is_not_frozen():
    x, y = np.array([[True, False]]), np.array([[True, True]])
    assert optimiser_tools.freeze(node_case("And", {"x": x, "y": y}, x & y)) is None


def test_what_a_script_dies_of_is_refused_and_it_goes_on_behind_it(tmp_path):
    script = tmp_path / "loop.py"
    script.write_text(
        "import json, os, sys\n"
        "for name in sys.stdin.read().splitlines():\n"
        "    print(json.dumps({'file': name, 'begun': True}), flush=True)\n"
        "    if name == 'bad': os._exit(7)\n"
        "    print(json.dumps({'file': name, 'size': len(name)}), flush=True)\n",
        "utf-8",
    )
    said = looping.ask_each([sys.executable, str(script)], ["one", "bad", "three"], 60)
    assert said["bad"] == {"refused": "the process died: 7"}
    assert [said[name]["size"] for name in ("one", "three")] == [3, 5]


def test_layers_of_which_an_operand_is_no_code_are_left_in_float(tmp_path):
    pytest.importorskip("onnxruntime")
    from truth.outside import mixed_loop

    codes = [helper.make_node("DequantizeLinear", [f"{name}_q", "scale"], [name]) for name in ("a", "b")]
    layers = [
        helper.make_node("QuantizeLinear", ["x", "scale"], ["x_q"]),
        helper.make_node("DequantizeLinear", ["x_q", "scale"], ["x_d"]),
        helper.make_node("MatMul", ["x_d", "a"], ["m"]),
        helper.make_node("MatMul", ["m", "b"], ["y"]),
    ]
    weights = [numpy_helper.from_array(np.eye(2, dtype=np.uint8), f"{name}_q") for name in ("a", "b")]
    weights.append(numpy_helper.from_array(np.float32(0.5), "scale"))
    value = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]) for name in "xy")
    graph = helper.make_graph([*codes, *layers], "g", [next(value)], [next(value)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    path = str(tmp_path / "m.onnx")
    found = mixed_loop.measure(path, np.ones((2, 1, 2), np.float32), path)
    assert (found["layers"], found["kept"], found["snr"]) == (2, 1, 100.0)


def test_a_search_that_misses_its_target_is_behind_one_that_meets_it():
    def kept(tool, snr, layers):
        figures = {"snr": snr, "kept": layers, "layers": 9, "bytes": 1_000_000, "seconds": 1.0, "models": 5}
        return mixed_precision.Kept(tool, "model", 20.0, figures)

    text = mixed_precision.page(
        [kept("NNCF", 19.0, 1), kept("polycmp", 20.0, 5), kept("NNCF", 21.0, 3), kept("polycmp", 22.0, 4)]
    )
    assert "or meets a target that it misses, in 1; as many in\n0; more in 1 of 2." in text
    assert "| model | NNCF | 20.0 dB | 19.0 dB, **missed** | 1 | 9 | 1.00 | 1.0 | 5 |" in text


def test_the_table_has_every_backend_of_ours():
    known = parse_toml((ROOT / "core/src/polycmp/plugins/known.toml").read_text("utf-8"))
    assert {item.name for item in BACKENDS} == set(known["backend"]) - {"faulty"}  # which is wrong on purpose
    assert all((ROOT / "plugins" / item.package / "pyproject.toml").exists() for item in BACKENDS)
