"""A session: what makes a result of an earlier run count, and memory that does not grow."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import suite_memory
from suite_texts import CASE, DIFFER, HEAD, case


def external_model(path: Path, scale: float, location: str) -> None:
    """Write y = x * weights, the weights in a file of their own."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        "external",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(np.full((1, 4), scale, np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save_model(model, path, save_as_external_data=True, location=location, size_threshold=0)


class TestResume:
    @pytest.mark.parametrize("location", ["weights.bin", "e.weight", "folder.d/w"])
    def test_weights_under_any_name_count(self, suite, location):
        (suite.folder / "folder.d").mkdir()
        external_model(suite.folder / "e.onnx", 2.0, location)
        external_model(suite.folder / "ref.onnx", 2.0, "ref.bin")
        suite.write('[[case]]\nname = "e"\nmodel = "e.onnx"\nbackend = ["onnxrt", "onnxrt:model=ref.onnx"]\n')
        suite("suite.toml", status=0)
        external_model(suite.folder / "new.onnx", 3.0, "new.bin")
        shutil.copy(suite.folder / "new.bin", suite.folder / location)
        suite("suite.toml", "--resume", status=1)

    def test_golden_files_in_a_folder_count(self, suite):
        (suite.folder / "golden").mkdir()
        for number in range(2):
            np.savez(suite.folder / "golden" / f"{number}.npz", x=np.ones((1, 4), np.float32))
        suite.write(HEAD + CASE + 'load-inputs = ["golden"]\n')
        done = suite("suite.toml", status=None)
        first = suite.results()["one"]["fingerprint"]
        np.savez(suite.folder / "golden" / "1.npz", x=np.zeros((2, 4), np.float32))
        suite("suite.toml", "--resume", status=None)
        assert suite.results()["one"]["fingerprint"] != first, done.stderr


def test_memory_does_not_grow_with_the_cases_that_have_ended(tmp_path):
    """In a process of its own, where nothing counts that other tests have left behind."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from suite_memory import measure; measure(sys.argv[2])"
    words = [sys.executable, "-c", code, Path(suite_memory.__file__).parent, tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    after_100, after_600 = map(int, done.stdout.split())
    assert after_600 - after_100 < 500, "less than one object for each of 500 cases"


def test_stopping_at_the_first_failure_and_beginning_with_failures(suite):
    suite.write(HEAD + case("first") + case("bad", DIFFER) + case("last"))
    done = suite("suite.toml", "-x", status=1)
    assert set(suite.results()) == {"first", "bad"}
    assert "1 not run" in done.stdout
    done = suite("suite.toml", "--failed-first", "-x", status=1)
    assert set(suite.results()) == {"bad"}


def test_resuming_runs_what_has_not_ended_or_has_changed(suite):
    text = HEAD + case("first") + case("bad", DIFFER) + case("last")
    suite.write(text)
    suite("suite.toml", "-x", status=1)
    run = suite.latest.resolve()
    before = suite.results()
    done = suite("suite.toml", "--resume", status=1)
    assert "[1/1] ok" in done.stderr
    assert suite.latest.resolve() == run
    assert {name: suite.results()[name] for name in before} == before
    assert "3 cases: 2 passed, 1 failed" in done.stdout
    suite.write(text.replace('name = "last"', 'name = "last"\natol = 1e-4'))
    done = suite("suite.toml", "--resume", status=1)
    assert "[1/1] ok      last" in done.stderr
    assert "nothing was run" not in done.stderr


def test_there_must_be_something_to_resume(suite):
    suite.write(HEAD + case("one"))
    assert "there is no run to resume" in suite("suite.toml", "--resume", status=2).stderr
