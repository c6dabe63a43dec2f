"""`polycmp run` on the toy box: inputs, running, comparing, results, and the words that go wrong."""

from __future__ import annotations

import pytest
from toymodels import node, number, small, write

from polycmp.cli.completion import completion_command
from polycmp.results.files import open_inputs, open_runs

TWO = ("-b", "toy", "-b", "plain")


def shape_of(found, label="plain"):
    return found["inference_results"][label]["outputs"]["y"]["shape"]


# --- comparing


def test_equal_backends(run):
    done, found = run(*TWO)
    assert (done.status, found["verdict"], found["reference"]) == (0, "passed", "plain")
    assert "PASSED: 1 output within tolerance" in done.out
    assert found["inference_results"]["toy"]["version"] == "toy 1"


def test_backends_as_flags_with_options_of_their_own(run):
    _, found = run("--toy", "--toy-dtype", "float16", "--toy-workers", "2", "--plain")
    assert found["inference_results"]["toy"]["options"] == {"dtype": "float16", "threads": "2"}
    assert found["inference_results"]["toy"]["precision"] == "float16"


def test_a_difference(run):
    done, found = run("-b", "toy:fault=add,at=y,amount=0.5", "-b", "plain")
    assert (done.status, found["exit_code"]) == (1, 1)
    [pair] = found["comparison_results"]
    assert pair["outputs"]["y"]["max_error"] == pytest.approx(0.5)
    assert "FAILED: 1 of 1 output differs" in done.out


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--atol", "0.4"), 1),
        (("--atol", "0.6"), 3),
        (("--atol", "0.6", "--allow-blind"), 0),
        (("--atol", "y:0.6", "--allow-blind", "y"), 0),
        (("--atol", "0.6", "--allow-blind", "z"), 2),
        (("--atol", "z*:0.6"), 2),
        (("--rtol", "100", "--allow-blind", "[x-z]"), 0),
        (("--check-error-stat", "mean", "--atol", "0.4"), 1),
        (("--compare", "gap", "--gap-allowed", "0.6", "--allow-blind"), 0),
        (("--compare", "gap", "simple", "--gap-allowed", "0.6"), 1),
        (("--compare", "signs"), 3),
        (("--compare", "simpel"), 2),
        (("--compare-func-script", "c.py"), 3),
        (("--compare-func-script", "c.py", "--allow-blind"), 0),
        (("--compare-func-script", "c.py:never"), 1),
        (("--map-output", "y=z"), 3),
    ],
)
def test_how_it_is_compared(polycmp, tmp_path, words, status):
    small(tmp_path / "m.toy")
    (tmp_path / "c.py").write_text(
        "def compare_outputs(result, other):\n    return {name: True for name in result}\n"
        "def never(result, other):\n    return {name: False for name in result}\n"
    )
    done = polycmp("run", "m.toy", "-b", "toy:fault=add,at=y,amount=0.5", "-b", "plain", *words)
    assert done.status == status, done.out + done.err


def test_a_run_that_could_not_fail_names_the_package_of_real_inputs(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    (tmp_path / "c.py").write_text("def compare_outputs(result, other):\n    return {name: True for name in result}\n")
    done = polycmp("run", "m.toy", "-b", "toy", "-b", "plain", "--compare-func-script", "c.py")
    assert (done.status, "pip install polycmp-samples" in done.out) == (3, True), done.out + done.err


def test_the_reference_may_be_named_and_may_not_be_unknown(run, polycmp):
    _, found = run(*TWO, "--reference", "toy")
    assert found["comparison_results"][0]["candidate"] == "plain"
    done = polycmp("run", "m.toy", *TWO, "--reference", "tony")
    assert (done.status, "did you mean 'toy'" in done.err) == (2, True)


def test_nan_is_a_failure_of_its_own_if_asked_for(run):
    bad = "toy:name=bad,fault=nan,at=y"
    done, found = run("-b", bad, "-b", f"{bad.replace('bad', 'worse')}", "--nan", "equal")
    assert done.status == 0
    done, found = run("-b", bad, "-b", f"{bad.replace('bad', 'worse')}", "--nan", "equal", "--validate")
    assert done.status == 1
    assert len(found["invalid_outputs"]) == 2
    assert "NaN" in done.out


def test_several_iterations_stop_at_the_first_failure_if_asked_to(run):
    bad = ("-b", "toy:name=bad,fault=add,at=y,amount=1e-4,after=2", "-b", "plain", "--iterations", "8", "--rtol", "0")
    done, found = run(*bad)
    assert (done.status, found["comparison_results"][0]["outputs"]["y"]["failed_iterations"]) == (1, 6)
    _, found = run(*bad, "--fail-fast")
    assert found["inference_results"]["bad"]["iterations"] == 3


# --- inputs


def test_shapes_and_ranges_of_inputs(run):
    words = ("--input-shapes", "x:[3,8]", "--val-range", "x:[5,6]", "--seed", "3", "--save-inputs", "i.box")
    _, found = run(*TWO, *words)
    assert shape_of(found) == [3, 8]
    [feed] = open_inputs(["i.box"])
    array = feed["x"]
    assert 5 <= array.min() <= array.max() < 6


def test_several_shapes_take_turns(run):
    _, found = run(*TWO, "--input-shapes", "x:[2,8]", "x:[5,8]", "--iterations", "2")
    assert shape_of(found) == [5, 8]
    assert found["comparison_results"][0]["iterations"] == 2


def test_data_loaders(run):
    _, found = run(*TWO, "--data-loader", "ramp", "--ramp-count", "4", "--input-shapes", "x:[2,8]")
    assert found["inference_results"]["toy"]["iterations"] == 4


@pytest.mark.parametrize(
    "words", [("--data-loader", "stress"), ("--stress-kind", "signed")], ids=lambda words: words[0]
)
def test_the_data_loader_of_a_package_that_is_not_installed_is_answered_with_the_package(polycmp, words):
    done = polycmp("run", "m.toy", *TWO, *words)
    assert (done.status, done.out) == (3, "")
    assert "'stress'" in done.err
    assert "pip install polycmp-checks" in done.err


def test_a_script_as_data_loader(run, polycmp, tmp_path):
    (tmp_path / "d.py").write_text(
        "import numpy as np\n\ndef load_data():\n    yield {'x': np.ones((6, 8), np.float32)}\n\n"
        "def breaks():\n    raise OSError('no disk')\n"
    )
    assert shape_of(run(*TWO, "--data-loader-script", "d.py")[1]) == [6, 8]
    done = polycmp("run", "m.toy", *TWO, "--data-loader-script", "d.py:breaks")
    assert done.status == 3
    assert "no disk" in done.err


# --- saved inputs and outputs


def test_inputs_and_outputs_saved_are_what_is_loaded(run, tmp_path):
    name = "i.box"
    words = ("--iterations", "2", "--input-shapes", "x:[3,8]", "--save-inputs", name, "--save-outputs", f"out_{name}")
    assert run(*TWO, *words)[0].status == 0
    done, found = run("-b", "plain:name=again", "--load-inputs", name, "--load-outputs", f"out_{name}")
    assert done.status == 0
    assert {pair["iterations"] for pair in found["comparison_results"]} == {2}
    assert shape_of(found, "again") == [3, 8]
    assert [item.label for item in open_runs(tmp_path / f"out_{name}")] == ["toy", "plain"]


def test_saved_runs_are_compared_without_a_model(run, polycmp):
    run("-b", "toy:name=one", "--save-outputs", "one.box")
    run("-b", "toy:name=two,fault=add,at=y", "--save-outputs", "two.box")
    done = polycmp("run", "--load-outputs", "one.box", "two.box")
    assert (done.status, "FAILED" in done.out) == (1, True)


def test_raw_inputs_and_inputs_that_would_be_overwritten(run, polycmp, tmp_path):
    run(*TWO, "--save-input-blob", "blobs", "--save-inputs", "i.box")
    assert sum(path.stat().st_size for path in (tmp_path / "blobs").rglob("*") if path.is_file()) == 8 * 4
    done = polycmp("run", "m.toy", *TWO, "--load-inputs", "i.box", "--save-inputs", "i.box")
    assert (done.status, "would overwrite" in done.err) == (2, True)


# --- running


def test_notes_of_a_backend_reach_the_report(run):
    done, found = run("-b", "toy:threads=9", "-b", "plain")
    assert found["inference_results"]["toy:threads=9"]["notes"] == ["only 8 threads are used"]
    assert "only 8 threads are used" in done.words


def test_logging(run, tmp_path):
    done, _ = run(*TWO, "-vv", "--log-file", "log.txt", "--log-format", "timestamp", "no-colors")
    assert "inputs: x:[1,8]" in (tmp_path / "log.txt").read_text()
    done, _ = run(*TWO, "-vv", "--silent")
    assert done.err == ""
    done, _ = run(*TWO, "--verbosity", "error")
    assert "inputs: x:[1,8]" not in done.err


# --- wrong words


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("m.toy",), 2, "no backend given"),
        (("-b", "toy"), 2, "no model given"),
        (("no.toy", "-b", "toy"), 3, "no such model file: no.toy"),
        (("m.xyz", "-b", "toy"), 3, "no installed loader reads m.xyz"),
        (("m.xyz", "-b", "toy", "--model-type", "toy"), 3, "m.xyz is no toy"),
        (("m.toy", "-b", "tony"), 3, "did you mean 'toy'"),
        (("m.toy", "-b", "onnx"), 3, "pip install polycmp-onnx"),
        (("m.toy", "-b", "toy", "--data-loader", "sample"), 3, "pip install polycmp-samples"),
        (("m.toy", "-b", "needy"), 3, "a_library_that_nobody_has"),
        (("m.toy", "-b", "toy:dtype=float8"), 2, "float8"),
        (("m.toy", "-b", "toy:thread=2"), 2, "did you mean 'threads'"),
        (("m.toy", "-b", "toy", "--input-shapes", "z:[1]"), 2, "z"),
        (("m.toy", "-b", "toy", "--atol", "much"), 2, "--atol"),
        (("m.toy", "-b", "toy", "--report", "r.doc"), 2, "r.doc"),
        (("m.toy", "-b", "toy", "--toy-outputs", "nobody"), 3, "no tensor is called 'nobody'"),
        (("m.toy", "-b", "packs", "--model-type", "packed"), 3, "incorrect header check"),
        (("m.toy", "-b", "toy", "--nonsense"), 2, "nonsense"),
        (("m.onnx", "-b", "toy"), 3, "pip install polycmp-onnx"),
        (("saved", "-b", "toy"), 3, "pip install 'polycmp-tf[tf]'"),
        (("empty", "-b", "toy"), 3, "no installed loader reads empty"),
    ],
)
def test_what_cannot_be_run(polycmp, tmp_path, words, status, says):
    small(tmp_path / "m.toy")
    for name in ("saved", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    for name in ("m.xyz", "m.onnx"):
        (tmp_path / name).write_text("nothing")
    done = polycmp("run", *words)
    assert done.status == status, done.out + done.err
    assert says in done.out + done.err


def test_a_model_that_is_one_number(polycmp, tmp_path):
    write(tmp_path / "m.toy", [node("Add", "x k", "y")], {"k": number(1)}, {"x": ["float32", []]})
    assert polycmp("run", "m.toy", *TWO).status == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_completes_commands_is_printed(polycmp, shell):
    assert shell in completion_command.params[0].type.choices
    done = polycmp("completion", shell)
    assert done.status == 0
    assert f"_POLYCMP_COMPLETE={shell}_complete" in done.out
    assert polycmp("completion", "tcsh").status == 2
