"""Faults on demand: the backend `faulty`, that every tool sees what it does, and `polycmp selftest`."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from in_parts import a_few
from onnx import TensorProto, helper, numpy_helper

from polycmp_checks.plugin import FATAL, FAULTS

FLOAT = TensorProto.FLOAT
VISIBLE = [fault for fault in FAULTS if fault not in FATAL]
#: Where each fault is put: the operator that it concerns, or one in the middle.
PLACE = {"ties": "round", "nan": "root"}


@pytest.fixture
def chain(tmp_path):
    """Rounding, a product, a root of numbers of both signs with its NaNs replaced, another product."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Round", ["x"], ["r"], name="round"),
        helper.make_node("MatMul", ["r", "v"], ["p"], name="product"),
        helper.make_node("Sqrt", ["p"], ["s"], name="root"),
        helper.make_node("IsNaN", ["s"], ["n"], name="is_nan"),
        helper.make_node("Where", ["n", "minus", "s"], ["z"], name="no_nan"),
        helper.make_node("Add", ["z", "p"], ["t"], name="sum"),
        helper.make_node("MatMul", ["t", "w"], ["y"], name="mix"),
    ]
    weights = {
        "v": rng.standard_normal((8, 8)).astype(np.float32),
        "w": rng.standard_normal((8, 8)).astype(np.float32),
        "minus": np.float32(-1),
    }
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", FLOAT, ["n", 8])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    halves = rng.integers(-6, 7, (4, 8)).astype(np.float32) / 2
    np.savez(tmp_path / "x.npz", x=halves)
    return "m.onnx", "--load-inputs", "x.npz"


def faulty(fault, backend="onnxrt", **options):
    rest = "".join(f",{key}={value}" for key, value in options.items())
    return "-b", f"faulty:backend={backend},fault={fault},at={PLACE.get(fault, 'product')}{rest}"


@pytest.mark.parametrize("backend", ["onnxrt", "onnx"])
@pytest.mark.parametrize("fault", VISIBLE)
def test_a_comparison_sees_each_fault(polycmp, chain, fault, backend):
    done = polycmp("run", *chain, *faulty(fault, backend), "-b", backend)
    assert done.status == 1, done.out
    assert f"({fault} at " in " ".join(done.out.split())


@pytest.mark.parametrize("mode", a_few([(), ("--bisect",)]), ids=["full", "bisect"])
@pytest.mark.parametrize("fault", VISIBLE)
def test_locate_names_the_operator_of_each_fault(polycmp, chain, tmp_path, fault, mode):
    words = ("--nan", "equal", "--report", "r.json", *mode)
    done = polycmp("locate", *chain, *faulty(fault), "-b", "onnxrt", *words)
    assert done.status == 1, done.out
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["operator"]["name"] == PLACE.get(fault, "product")


def test_without_an_effect_results_are_those_of_the_wrapped_backend(polycmp, chain):
    """The product holds no NaN, so the fault changes nothing, and cutting the model changes nothing either."""
    words = ("-b", "faulty:backend=onnxrt,fault=nan,at=product", "-b", "onnxrt", "--atol", 0, "--rtol", 0)
    done = polycmp("run", *chain, *words)
    assert done.status == 0, done.out
    assert "the fault changed no number" in done.out


def test_the_operator_may_be_named_by_what_it_makes_and_the_wrapped_backend_gets_its_options(polycmp, chain):
    words = ("-b", "faulty:backend=onnxrt,fault=fp16,at=p,wrapped=[threads:1,optimization:off]", "-b", "onnxrt")
    assert polycmp("run", *chain, *words).status == 1
    done = polycmp("run", *chain, "-b", "faulty:backend=onnxrt,fault=fp16,at=p,wrapped=[thread:1]", "-b", "onnxrt")
    assert (done.status, "did you mean 'threads'" in " ".join(done.out.split())) == (3, True)


@pytest.mark.parametrize(("fault", "text"), [("crash", "died with signal"), ("hang", "hung")])
def test_crash_and_hang_are_the_result_of_one_backend(polycmp, chain, fault, text):
    done = polycmp("run", *chain, *faulty(fault), "-b", "onnxrt", "--use-subprocess", "--timeout", 10)
    assert done.status == 3
    assert text in done.out
    assert "onnxrt (reference)" in done.out


@pytest.mark.parametrize("fault", FATAL)
def test_crash_and_hang_do_not_end_polycmp_itself(polycmp, chain, fault):
    done = polycmp("run", *chain, *faulty(fault), "-b", "onnxrt")
    assert done.status == 3
    assert "--use-subprocess" in done.out


def test_noise_that_depends_on_the_row_breaks_invariants(polycmp, chain, tmp_path):
    done = polycmp("invariants", *chain, *faulty("row-noise"), "--report", "r.json")
    assert done.status == 1
    [found] = json.loads((tmp_path / "r.json").read_text())["invariants"].values()
    failed = {name for name, check in found["checks"].items() if check["status"] == "failed"}
    assert failed == {"duplicates", "permute", "split"}


class TestWrongUsage:
    @pytest.mark.parametrize(
        ("instance", "status", "text"),
        [
            ("faulty", 2, "backend is missing"),
            ("faulty:backend=onnxrt,at=product", 2, "fault is missing"),
            ("faulty:backend=onnxrt,fault=evil,at=product", 2, "evil"),
            ("faulty:backend=onnxrt,fault=fp16,at=produkt", 3, "did you mean 'product'"),
            ("faulty:backend=onnxrt,fault=ties,at=product", 3, "does not concern MatMul 'product'"),
            ("faulty:backend=nobody,fault=fp16,at=product", 3, "no backend 'nobody'"),
            ("faulty:backend=faulty,fault=fp16,at=product", 3, "cannot be wrapped"),
        ],
    )
    def test_is_an_error_in_words(self, polycmp, chain, instance, status, text):
        done = polycmp("run", *chain, "-b", instance, "-b", "onnxrt")
        assert done.status == status
        assert text in " ".join((done.out + done.err).split())


def test_nobody_meets_it_without_asking(polycmp):
    assert "faulty" not in polycmp("plugins", "list").out
    assert "faulty" not in polycmp("run", "--help", "all").out


def test_it_needs_no_pytest(chain, tmp_path):
    code = "import sys; sys.modules['pytest'] = None; from polycmp.cli.main import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", code, "selftest", "m.onnx", "-b", "onnxrt", "--faults", "fp16", "layout"]
    done = subprocess.run(words, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED: 2 of 2 faults noticed" in done.stdout


class TestSelftest:
    def test_every_fault_is_seen_on_the_built_in_model(self, polycmp, tmp_path):
        done = polycmp("selftest", "-b", "onnxrt", "--timeout", 10, "--report", "r.json")
        assert done.status == 0, done.out
        assert f"PASSED: {len(FAULTS)} of {len(FAULTS)} faults noticed" in done.out
        report = json.loads((tmp_path / "r.json").read_text())
        found = report["selftest"]["onnxrt"]
        assert (report["verdict"], found["agrees_with_itself"]) == ("passed", True)
        assert {fault: trial["status"] for fault, trial in found["faults"].items()} == dict.fromkeys(FAULTS, "seen")

    def test_a_comparison_too_coarse_to_go_red_fails(self, polycmp):
        done = polycmp("selftest", "-b", "onnx", "--faults", "fp16", "saturate", "--atol", "0.01")
        assert done.status == 1
        assert "FAILED: 1 of 2 faults went unnoticed" in done.out
        assert "and the comparison passed" in " ".join(done.out.split())

    def test_on_a_model_of_ones_own_at_an_operator_of_ones_choice(self, polycmp, chain):
        done = polycmp("selftest", *chain, "-b", "onnxrt:threads=1", "--faults", *VISIBLE[:3], "--at", "mix")
        assert done.status == 0, done.out
        assert done.out.count("MatMul 'mix'") == 3

    def test_faults_that_cannot_show_are_told_apart_from_those_unseen(self, polycmp, model):
        done = polycmp("selftest", model, "-b", "onnxrt", "--faults", "ties", "nan", "fp16")
        assert done.status == 0, done.out
        assert "PASSED: 1 of 3 faults noticed, 2 cannot show" in done.out
        assert polycmp("selftest", model, "-b", "onnxrt", "--faults", "ties").status == 3

    def test_a_backend_that_does_not_agree_with_itself_fails(self, polycmp, tmp_path):
        nodes = [helper.make_node("RandomUniformLike", ["x"], ["z"]), helper.make_node("Add", ["x", "z"], ["y"])]
        values = [helper.make_tensor_value_info(name, FLOAT, [8]) for name in "xy"]
        graph = helper.make_graph(nodes, "g", values[:1], values[1:])
        opsets = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
        done = polycmp("selftest", "m.onnx", "-b", "onnx", "--faults", "saturate")
        assert done.status == 1
        assert "does not agree with itself" in done.out

    @pytest.mark.parametrize(
        ("words", "status", "text"),
        [
            ((), 2, "no backend given"),
            (("-b", "onnxrt", "--faults", "evil"), 2, "evil"),
            (("-b", "onnxrt", "--at", "nowhere"), 2, "no operator 'nowhere'"),
            (("-b", "onnxrt", "--report", "r.pdf"), 2, "no report is written as .pdf"),
            (("-b", "nobody"), 3, "no backend 'nobody'"),
        ],
    )
    def test_wrong_usage(self, polycmp, words, status, text):
        done = polycmp("selftest", *words)
        assert done.status == status
        assert text in done.err
