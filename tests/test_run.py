"""`polycmp run` as a user sees it: what it says, and with which exit status."""

from __future__ import annotations

import json
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import small_model, unary_model

BOTH = ("-b", "onnxrt", "-b", "onnx")


def test_two_backends_that_agree(polycmp, model):
    done = polycmp("run", model, *BOTH, "--input-shapes", "x:[3,8]")
    assert done.status == 0
    assert "PASSED: 1 output within tolerance" in done.out
    assert "float32[3,8]" in done.out
    assert done.err == ""


def test_the_report_has_the_documented_keys(polycmp, model, tmp_path):
    done = polycmp("run", model, *BOTH, "--iterations", 3, "--report", "r.json", "-q")
    assert done.status == 0
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["schema"], report["verdict"], report["reference"]) == (1, "passed", "onnx")
    run = report["inference_results"]["onnxrt"]
    assert run["iterations"] == 3
    assert run["outputs"] == {"y": {"dtype": "float32", "shape": [1, 8]}}
    assert 0 < run["runtime"]["median"] <= run["runtime"]["p99"]
    assert run["error"] is None
    [pair] = report["comparison_results"]
    assert (pair["candidate"], pair["reference"], pair["passed"]) == ("onnxrt", "onnx", True)
    output = pair["outputs"]["y"]
    assert 0 <= output["mean_error"] <= output["max_error"] < 1e-5
    assert output["error_distribution"]["p90"] <= output["error_distribution"]["p99"]
    assert sum(output["error_distribution"]["histogram"]["counts"]) == 8
    assert set(output["required_tolerance"]) == {"abs", "rel"}


def test_different_weights_differ_and_the_reason_is_in_words(polycmp, model, other):
    done = polycmp("run", model, "-b", "onnxrt", "-b", f"onnxrt:model={other}")
    assert done.status == 1
    assert "FAILED: 1 of 1 output differs" in done.out
    assert "8 of 8 elements" in done.out


def test_one_backend_compares_nothing_and_says_so(polycmp, model):
    done = polycmp("run", model, "-b", "onnxrt")
    assert done.status == 0
    assert "no second run to compare it with" in done.out


def test_order_of_backends_is_the_order_typed_and_the_last_is_the_reference(polycmp, model, tmp_path):
    polycmp("run", model, "--onnx", "-b", "onnxrt:threads=1", "--onnxrt", "--report", "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    assert list(report["inference_results"]) == ["onnx", "onnxrt:threads=1", "onnxrt"]
    assert report["reference"] == "onnxrt"
    assert [pair["candidate"] for pair in report["comparison_results"]] == ["onnx", "onnxrt:threads=1"]


def test_equal_instances_get_different_labels_and_reference_can_be_named(polycmp, model, tmp_path):
    polycmp(
        "run",
        model,
        "-b",
        "onnxrt",
        "-b",
        "onnxrt",
        "-b",
        "onnx:name=truth",
        "--reference",
        "onnxrt#2",
        "--report",
        "r.json",
    )
    report = json.loads((tmp_path / "r.json").read_text())
    assert list(report["inference_results"]) == ["onnxrt", "onnxrt#2", "truth"]
    assert report["reference"] == "onnxrt#2"


def test_a_run_compared_with_itself_says_that_this_proves_little(polycmp, model):
    assert "repeats itself" in polycmp("run", model, "--onnxrt", "--onnxrt").out
    assert "repeats itself" not in polycmp("run", model, "--onnxrt", "-b", "onnxrt:threads=1").out


def test_defaults_of_a_backend_and_options_of_an_instance(polycmp, model, tmp_path):
    words = ("--onnxrt-threads", 1, "-b", "onnxrt", "-b", "onnxrt:threads=2,optimization=off", "--report", "r.json")
    polycmp("run", model, *words)
    results = json.loads((tmp_path / "r.json").read_text())["inference_results"]
    assert results["onnxrt"]["options"] == {"threads": "1"}
    assert results["onnxrt:threads=2,optimization=off"]["options"] == {"threads": "2", "optimization": "off"}


@pytest.mark.parametrize("spelling", [("x:[2,8]",), ("x:[2,8]", "--rtol", "1e-4", "y:1e-3")])
def test_values_may_stand_before_the_model(polycmp, model, spelling):
    done = polycmp("run", *BOTH, "--input-shapes", *spelling, model)
    assert done.status == 0
    assert "float32[2,8]" in done.out


def test_repeating_the_option_is_the_same_as_several_values(polycmp, tmp_path):
    node = helper.make_node("Add", ["a", "b"], ["y"])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "aby"]
    graph = helper.make_graph([node], "add", values[:2], values[2:])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "add.onnx"
    )
    one = polycmp("run", "add.onnx", *BOTH, "--input-shapes", "a:[5]", "b:[5]")
    two = polycmp("run", "add.onnx", *BOTH, "--input-shapes", "a:[5]", "--input-shapes", "b:[5]")
    assert (one.status, two.status) == (0, 0)
    assert "float32[5]" in one.out
    assert "float32[5]" in two.out


class TestWrongUsage:
    """Exit 2, before any backend starts."""

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (("--input-shapes", "z:[1,8]"), "no input 'z'"),
            (("--input-shapes", "x:[1,9]"), "--input-shapes x:[1,8]"),
            (("--input-shapes", "x:1,8"), "is not"),
            (("--input-shapes", "x:[a,8]"), "is not a shape"),
            (("--atol", "abc"), "--atol: 'abc' is not a value"),
            (("--atol", "q:1"), "no output 'q'"),
            (("--rtol", "-1"), "negative"),
            (("--val-range", "z:[0,1]"), "no input 'z'"),
            (("--val-range", "[1,0]"), "empty"),
            (("--check-error-stat", "mode"), "not a statistic"),
            (("--iterations", "two"), "whole number"),
            (("--map-output", "y"), "CANDIDATE=REFERENCE"),
            (("--reference", "nobody"), "no run is called 'nobody'"),
            (("--compare", "simple", "--simple-nan", "maybe"), "maybe"),
            (("--report", "r.pdf"), "r.pdf"),
            (("--nonsense",), "--nonsense"),
            (("-b", "onnxrt:thread=1"), "did you mean 'threads'"),
            (("-b", "onnxrt:threads=many"), "whole number"),
            (("-b", ":x=1"), "does not name a backend"),
            (("-b", "onnxrt:providers=[cpu"), "unbalanced"),
        ],
    )
    def test_says_what_is_wrong(self, polycmp, model, words, text):
        done = polycmp("run", model, *BOTH, *words)
        assert done.status == 2, done.err
        assert text in done.err
        assert done.out == ""

    def test_no_backend(self, polycmp, model):
        done = polycmp("run", model)
        assert (done.status, "no backend given" in done.err) == (2, True)
        assert f"next: polycmp run {model} -b onnxrt -b onnx\n" in done.err

    def test_no_model(self, polycmp):
        done = polycmp("run", "-b", "onnxrt")
        assert (done.status, "no model given" in done.err) == (2, True)


class TestCouldNotCompare:
    """Exit 3, with one clear error."""

    @pytest.mark.parametrize(
        ("name", "content", "text"),
        [
            ("text.onnx", b"hello, I am no model\n", "text file"),
            ("empty.onnx", b"", "empty"),
            ("model.weights", b"\x00\x01", "no installed loader reads"),
            ("other.onnx", b"PK\x03\x04 this is an archive", "not a readable ONNX model"),
        ],
    )
    def test_a_file_that_is_no_model(self, polycmp, tmp_path, name, content, text):
        (tmp_path / name).write_bytes(content)
        done = polycmp("run", name, *BOTH)
        assert done.status == 3
        assert text in done.err
        assert name in done.err

    def test_a_truncated_model(self, polycmp, model):
        model.write_bytes(model.read_bytes()[:150])
        done = polycmp("run", model, *BOTH)
        assert done.status == 3
        assert "it ends in the middle of a field" in done.err
        assert f"next: ls -l {model}" in done.err

    def test_a_pointer_of_git_lfs(self, polycmp, tmp_path):
        (tmp_path / "m.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
        done = polycmp("run", "m.onnx", *BOTH)
        assert done.status == 3
        assert "Git LFS pointer" in done.err
        assert "next: git lfs pull\n" in done.err

    def test_a_missing_model_names_its_neighbour(self, polycmp, model):
        done = polycmp("run", "modell.onnx", *BOTH)
        assert done.status == 3
        assert "no such model file: modell.onnx" in done.err
        assert "model.onnx" in done.err

    def test_an_operator_that_a_backend_lacks_is_that_backends_result(self, polycmp, tmp_path):
        node = helper.make_node("Frobnicate", ["x"], ["y"], name="f", domain="acme")
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
        graph = helper.make_graph([node], "custom", values[:1], values[1:])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "custom.onnx")
        done = polycmp("run", "custom.onnx", *BOTH)
        assert done.status == 3
        assert "Frobnicate" in done.out
        assert "ERROR" in done.out

    def test_an_unknown_backend(self, polycmp, model):
        done = polycmp("run", model, "-b", "onnxruntime2", "-b", "onnx")
        assert done.status == 3
        assert "no backend 'onnxruntime2'" in done.err

    def test_no_output_in_common(self, polycmp, model, tmp_path):
        onnx.save(small_model(output="z"), tmp_path / "renamed.onnx")
        done = polycmp("run", model, "-b", "onnxrt:model=renamed.onnx", "-b", "onnxrt")
        assert done.status == 3
        assert "no output in common" in done.out
        mapped = polycmp("run", model, "-b", "onnxrt:model=renamed.onnx", "-b", "onnxrt", "--map-output", "z=y")
        assert mapped.status == 0


class TestOutputsThatDoNotMatch:
    """Exit 1 and the reason."""

    def test_an_output_on_one_side_only(self, polycmp, tmp_path):
        two = small_model()
        two.graph.output.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, ["n", 8]))
        onnx.save(two, tmp_path / "two.onnx")
        onnx.save(small_model(), tmp_path / "one.onnx")
        for candidate, reference in (("one", "two"), ("two", "one")):
            done = polycmp("run", f"{reference}.onnx", "-b", f"onnxrt:model={candidate}.onnx", "-b", "onnxrt")
            assert done.status == 1
            assert "has no output 'r'" in done.out

    def test_another_kind_of_type(self, polycmp, tmp_path):
        onnx.save(unary_model("Cast", TensorProto.FLOAT, TensorProto.INT32, to=TensorProto.INT32), tmp_path / "i.onnx")
        onnx.save(unary_model("Identity"), tmp_path / "f.onnx")
        done = polycmp("run", "f.onnx", "-b", "onnxrt:model=i.onnx", "-b", "onnxrt")
        assert done.status == 1
        assert "holds int32 instead of float32" in done.out

    def test_another_shape(self, polycmp, tmp_path):
        flat = unary_model("Identity")
        wide = unary_model("Unsqueeze")
        wide.graph.node[0].input.append("axes")
        wide.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0], np.int64), "axes"))
        wide.graph.output[0].type.tensor_type.shape.dim.insert(0, onnx.TensorShapeProto.Dimension(dim_value=1))
        onnx.save(flat, tmp_path / "flat.onnx")
        onnx.save(wide, tmp_path / "wide.onnx")
        words = ("run", "flat.onnx", "-b", "onnxrt:model=wide.onnx", "-b", "onnxrt")
        done = polycmp(*words)
        assert done.status == 1
        assert "shape [1,4] instead of [4]" in done.out
        assert polycmp(*words, "--no-shape-check").status == 0


def test_a_backend_that_fails_does_not_stop_the_others(polycmp, model):
    done = polycmp("run", model, "-b", "onnxrt:providers=cpu", "-b", "onnxrt:op_libs=/nowhere.so", "-b", "onnx")
    assert done.status == 3
    assert "/nowhere.so" in done.out
    assert "onnxrt:providers=cpu against onnx" in done.out


def test_if_the_reference_fails_another_stands_in(polycmp, model):
    done = polycmp("run", model, "-b", "onnxrt", "-b", "onnx", "-b", "onnxrt:op_libs=/nowhere.so")
    assert done.status == 3
    assert "so the others are compared with onnx" in " ".join(done.out.split())
    assert "onnxrt against onnx" in done.out


@pytest.mark.parametrize("mode", [(), ("--sequential-runners",)])
def test_warm_up_counts_no_iteration_in_both_modes(polycmp, model, tmp_path, mode):
    words = ("--warm-up", 2, "--iterations", 3, "--report", "r.json", *mode)
    assert polycmp("run", model, *BOTH, *words).status == 0
    results = json.loads((tmp_path / "r.json").read_text())["inference_results"]
    assert results["onnxrt"]["iterations"] == 3


def test_nan_on_both_sides_fails_unless_allowed(polycmp, tmp_path):
    onnx.save(unary_model("Log"), tmp_path / "log.onnx")
    words = ("run", "log.onnx", *BOTH, "--val-range", "[-1,1]")
    done = polycmp(*words)
    assert done.status == 1
    assert "NaN" in done.out
    assert polycmp(*words, "--nan", "equal").status == 0
    validated = polycmp(*words, "--nan", "equal", "--validate")
    assert validated.status == 1
    assert re.search(r"holds [1-3] NaN", validated.out), validated.out


def test_data_from_a_script_whatever_it_is_called(polycmp, model, tmp_path):
    (tmp_path / "json.py").write_text(
        "import numpy as np\ndef feeds():\n    for n in (1, 2):\n        yield {'x': np.full((n, 8), n, np.float32)}\n"
    )
    done = polycmp("run", model, *BOTH, "--data-loader-script", "json.py:feeds", "--report", "r.json")
    assert done.status == 0
    assert json.loads((tmp_path / "r.json").read_text())["inference_results"]["onnx"]["iterations"] == 2
    missing = polycmp("run", model, *BOTH, "--data-loader-script", "nowhere.py")
    assert (missing.status, "no such script: nowhere.py" in missing.err) == (3, True)
    nameless = polycmp("run", model, *BOTH, "--data-loader-script", "json.py")
    assert (nameless.status, "has no 'load_data'" in nameless.err) == (3, True)


def test_fail_fast_stops_at_the_first_difference(polycmp, model, other, tmp_path):
    words = ("run", model, "-b", "onnxrt", "-b", f"onnxrt:model={other}", "--iterations", 4, "--report", "r.json")
    assert polycmp(*words, "--fail-fast").status == 1
    assert json.loads((tmp_path / "r.json").read_text())["inference_results"]["onnxrt"]["iterations"] == 1
