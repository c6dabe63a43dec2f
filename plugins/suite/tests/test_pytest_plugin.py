"""The plugin for pytest."""

from __future__ import annotations

import os
import subprocess

import pytest
from copied_processes import copy_cases, run_as_process

SUITE = """
[defaults]
backend = ["onnxrt", "onnx"]
[[case]]
name = "good"
model = "one.onnx"
tags = ["quick"]
[[case]]
name = "bad"
model = "one.onnx"
backend = ["onnxrt", "onnxrt:model=two.onnx"]
[[case]]
name = "known"
model = "one.onnx"
backend = ["onnxrt", "onnxrt:model=two.onnx"]
expected-failure = { reason = "bug 7" }
[[case]]
name = "elsewhere"
model = "one.onnx"
needs = ["trt86"]
"""


def run_pytest(folder, *words):
    """Run pytest in a copy of this process, and each case in a copy of that."""
    words = ["-p", "no:cacheprovider", "-p", "no:xdist", "-rA", *words]
    with pytest.MonkeyPatch.context() as patch:
        copy_cases(patch)
        done = run_as_process(lambda: pytest.main(words), folder, os.environ)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_suites_are_collected_as_tests(suite):
    (suite.folder / "models.suite.toml").write_text(SUITE)
    done = run_pytest(suite.folder)
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed" in done.stdout, done.stdout
    assert "bad: y:" in done.stdout
    assert "bug 7" in done.stdout
    assert "pytest_plugin.py" not in done.stdout.partition("short test summary")[0]
    assert "1 passed, 3 deselected" in run_pytest(suite.folder, "-k", "quick").stdout


def test_mistakes_in_a_suite_are_errors_of_collection(suite):
    (suite.folder / "models.suite.toml").write_text('[[case]]\nmodel = "nothing.onnx"\n')
    done = run_pytest(suite.folder)
    assert done.returncode == 2
    assert "line 2: there is no model 'nothing.onnx'" in done.stdout


def test_the_fixture_compares(suite):
    (suite.folder / "test_models.py").write_text(
        "def test_same(polycmp):\n"
        "    result = polycmp('one.onnx', ['onnxrt', 'onnx'], atol=1e-4)\n"
        "    assert result.max_error < 1e-4\n"
        "def test_other(polycmp):\n"
        "    polycmp('one.onnx', ['onnxrt', 'onnxrt:model=two.onnx'])\n"
        "def test_unchecked(polycmp):\n"
        "    assert polycmp('one.onnx', ['onnxrt', 'onnxrt:model=two.onnx'], check=False).state == 'failed'\n"
    )
    done = run_pytest(suite.folder)
    assert "1 failed, 2 passed" in done.stdout, done.stdout
    assert "one.onnx: y:" in done.stdout
