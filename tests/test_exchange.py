"""Inputs and outputs on their way between polycmp and Polygraphy.

The files in `data/polygraphy-0.53.6` were written by Polygraphy. What polycmp writes is read by a small reader that
knows nothing but the format. Where the environment variable POLYGRAPHY_PYTHON names an interpreter with Polygraphy,
the real tool reads and writes too.
"""

from __future__ import annotations

import ast
import base64
import json
import struct
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from live_polygraphy import POLYGRAPHY_PYTHON, live

from polycmp.builtin.formats.run_results import RunResults
from polycmp.errors import FileError
from polycmp.json import load_json, save_json
from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs, open_runs

SAMPLES = Path(__file__).parent / "data" / "polygraphy-0.53.6"


def check_outputs(feeds, results):
    assert len(feeds) == len(results) == 3
    for feed, result in zip(feeds, results, strict=True):
        assert list(feed) == ["x", "n"]
        assert list(result) == ["y", "z"]
        assert {array.dtype for array in (*feed.values(), *result.values())} == {np.dtype(np.float32)}
        assert np.array_equal(result["y"], feed["x"] * feed["x"])
        assert np.array_equal(result["z"], result["y"] + feed["n"])
        assert 0 < result.runtime < 1


@pytest.mark.parametrize("inputs", ["inputs.json", "inputs"])
@pytest.mark.parametrize("outputs", ["outputs.json", "outputs"])
def test_files_of_polygraphy_are_read(inputs, outputs):
    feeds = list(open_inputs([SAMPLES / inputs]))
    runs = open_runs(SAMPLES / outputs)
    assert [run.label[:16] for run in runs] == ["onnxrt-runner-N0", "onnxrt-runner-N1"][: len(runs)]
    assert len(runs) == (2 if outputs.endswith(".json") else 1)
    for run in runs:
        check_outputs(feeds, list(run.iterations))
    assert not np.array_equal(feeds[0]["x"], feeds[1]["x"])


def test_the_python_names_read_them_too():
    feeds = load_json(SAMPLES / "inputs.json")
    results = RunResults.load(str(SAMPLES / "outputs.json"))
    for name, iterations in results.items():
        assert name.startswith("onnxrt-runner-N")
        check_outputs(feeds, iterations)


# --- a reader that knows the format only -----------------------------------------------------------------------------


def strict_array(value):
    assert sorted(value) == ["array", "polygraphy_class"]
    assert value["polygraphy_class"] == "ndarray"
    raw = base64.b64decode(value["array"], validate=True)
    magic, major, minor, size = struct.unpack("<6sBBH", raw[:10])
    assert (magic, major, minor) == (b"\x93NUMPY", 1, 0)
    assert (10 + size) % 64 == 0
    header = ast.literal_eval(raw[10 : 10 + size].decode("ascii"))
    assert sorted(header) == ["descr", "fortran_order", "shape"]
    assert header["fortran_order"] is False
    kind = {"<f4": "f", "<i8": "q", "|b1": "?", "<f8": "d"}[header["descr"]]
    values = [item[0] for item in struct.iter_unpack("<" + kind, raw[10 + size :])]
    return header["descr"], header["shape"], values


def strict_run_results(text):
    top = json.loads(text)
    assert sorted(top) == ["lst", "polygraphy_class"]
    assert top["polygraphy_class"] == "RunResults"
    runs = {}
    for name, iterations in top["lst"]:
        for iteration in iterations:
            assert sorted(iteration) == ["outputs", "polygraphy_class", "runner_name", "runtime"]
            assert iteration["polygraphy_class"] == "IterationResult"
            assert iteration["runner_name"] == name
            for output in iteration["outputs"].values():
                assert sorted(output) == ["polygraphy_class", "values"]
                assert output["polygraphy_class"] == "LazyArray"
            arrays = {key: strict_array(output["values"]) for key, output in iteration["outputs"].items()}
            runs.setdefault(name, []).append((iteration["runtime"], arrays))
    return runs


def test_inputs_are_written_as_the_format_says(tmp_path):
    feeds = [{"x": np.array([[1.5, -2.0, i]], np.float32), "n": np.array([i], np.int64)} for i in range(3)]
    with InputsWriter(tmp_path / "in.json") as writer:
        for feed in feeds:
            writer.add(feed)
    save_json(feeds, tmp_path / "list.json")
    for file in ("in.json", "list.json"):
        read = json.loads((tmp_path / file).read_bytes())
        assert [strict_array(feed["x"]) for feed in read] == [("<f4", (1, 3), [1.5, -2.0, i]) for i in range(3)]
        assert [strict_array(feed["n"]) for feed in read] == [("<i8", (1,), [i]) for i in range(3)]


def test_outputs_of_two_runners_that_take_turns_are_written_as_the_format_says(tmp_path):
    with OutputsWriter(tmp_path / "out.json") as writer:
        for i in range(3):
            writer.add("a", {"y": np.array(i, np.float64), "m": np.array([True, False])}, 0.5)
            writer.add('b "2"', {"y": np.zeros((0, 2), np.float32)}, None)
    scalars = [(0.5, {"y": ("<f8", (), [float(i)]), "m": ("|b1", (2,), [True, False])}) for i in range(3)]
    empty = [(None, {"y": ("<f4", (0, 2), [])})] * 3
    assert strict_run_results((tmp_path / "out.json").read_text()) == {"a": scalars, 'b "2"': empty}
    assert [run.label for run in open_runs(tmp_path / "out.json")] == ["a", 'b "2"']


def test_nothing_at_all_leaves_no_file_that_looks_complete(tmp_path):
    with OutputsWriter(tmp_path / "out.json"), InputsWriter(tmp_path / "in.json"):
        pass
    for results in (RunResults(), RunResults([("a", [])])):
        with pytest.raises(FileError, match="there are no iterations to save"):
            results.save(tmp_path / "out.json")
    assert not list(tmp_path.iterdir())


# --- the real tool ---------------------------------------------------------------------------------------------------


def polygraphy(program: str, *arguments: object) -> str:
    done = subprocess.run(
        [POLYGRAPHY_PYTHON, "-c", program, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


RUN = "import sys; from polygraphy.tools._main import main; sys.exit(main())"


@live
@pytest.mark.parametrize("suffix", [".json", ""])
def test_live_polygraphy_reads_back_its_data_after_polycmp_rewrote_them(tmp_path, suffix):
    model, there, here = SAMPLES / "small.onnx", tmp_path / f"there{suffix}", tmp_path / "here.json"
    there_out, here_out = tmp_path / f"there_out{suffix}", tmp_path / "here_out.json"
    polygraphy(
        RUN,
        "run",
        model,
        "--onnxrt",
        "--iterations",
        3,
        "--seed",
        11,
        "--save-inputs",
        there,
        "--save-outputs",
        there_out,
    )
    feeds = list(open_inputs([there]))
    [run] = open_runs(there_out)
    check_outputs(feeds, list(run.iterations))
    with InputsWriter(here) as inputs, OutputsWriter(here_out) as outputs:
        for feed in feeds:
            inputs.add(feed)
        for result in run.iterations:
            outputs.add(run.label, result, result.runtime)
    text = polygraphy(
        RUN, "run", model, "--onnxrt", "--load-inputs", here, "--load-outputs", here_out, "--rtol", 0, "--atol", 0
    )
    assert "Passed: 3/3 iterations" in text


@live
def test_live_polygraphy_finds_the_difference_that_polycmp_wrote(tmp_path):
    [run] = open_runs(SAMPLES / "outputs")
    with OutputsWriter(tmp_path / "out.json") as outputs:
        for i, result in enumerate(run.iterations):
            outputs.add("changed", {**result, "z": result["z"] + np.float32(i == 1)}, result.runtime)
    program = (
        "import sys, numpy as np\n"
        "from polygraphy.comparator import RunResults\n"
        "from polygraphy.json import load_json\n"
        "ours, theirs = RunResults.load(sys.argv[1]), RunResults.load(sys.argv[2])\n"
        "pairs = zip(ours['changed'], list(theirs.values())[0], strict=True)\n"
        "print([[k for k in a if not np.array_equal(a[k], b[k])] for a, b in pairs])\n"
    )
    theirs = SAMPLES / "outputs.json"
    assert polygraphy(program, tmp_path / "out.json", theirs).splitlines()[-1] == "[[], ['z'], []]"


@live
def test_live_what_polygraphy_cannot_calculate_with_reaches_it_as_opaque_bytes(tmp_path):
    feed = {
        "b": np.array([1.5, np.nan], ml_dtypes.bfloat16),
        "s": np.array([["ä", "longer"]], dtype=object),
        "h": np.array([np.inf, -0.0], np.float16),
    }
    with InputsWriter(tmp_path / "in.json") as writer:
        writer.add(feed)
    program = (
        "import sys\nfrom polygraphy.json import load_json\n"
        "[feed] = load_json(sys.argv[1])\n"
        "print([(k, v.dtype.str, v.shape, v.tobytes().hex()) for k, v in feed.items() if k != 's'], feed['s'].tolist())"
    )
    assert polygraphy(program, tmp_path / "in.json").strip() == (
        f"[('b', '|V2', (2,), '{feed['b'].tobytes().hex()}'), ('h', '<f2', (2,), '007c0080')] [['ä', 'longer']]"
    )
