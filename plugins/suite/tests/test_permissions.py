"""What a suite must not lose, mix up or do: files of others, clocks, strangers' results, code in suite files."""

from __future__ import annotations

import numpy as np
import pytest
from suite_texts import CASE, HEAD


class TestSharedFiles:
    @pytest.mark.parametrize(
        "more",
        [
            CASE + 'save-outputs = "golden.npz"\n' + CASE.replace("one", "two") + 'save-outputs = "./golden.npz"\n',
            CASE + 'save-outputs = "golden.npz"\n[case.matrix]\nwarm-up = [0, 1]\n',
        ],
    )
    def test_two_cases_that_write_one_file_are_wrong_usage(self, suite, more):
        suite.write(HEAD + more)
        done = suite("suite.toml", status=2)
        assert "golden.npz" in done.stderr
        assert "is written by the case" in done.stderr
        assert not (suite.folder / "golden.npz").exists()

    @pytest.mark.parametrize("exists", [True, False])
    def test_a_case_that_reads_what_another_writes_is_wrong_usage(self, suite, exists):
        if exists:
            np.savez(suite.folder / "golden.npz", y=np.ones((1, 4), np.float32))
        second = '[[case]]\nname = "two"\nmodel = "one.onnx"\nload-outputs = ["golden.npz"]\n'
        suite.write(HEAD + CASE + 'save-outputs = "golden.npz"\n' + second)
        done = suite("suite.toml", status=2)
        assert "cases run in any order" in done.stderr


class TestNoScripts:
    @pytest.mark.parametrize(
        "line",
        [
            'data-loader-script = "code.py"',
            'compare-func-script = "code.py:judge"',
            'postprocess-func-script = "code.py"',
            'backend = ["onnxrt:python=./python", "onnx"]',
            'backend = ["onnx:ops=code.py", "onnxrt"]',
            'backend = ["onnxrt:op_libs=code.so", "onnx"]',
            'backend = ["onnxrt:op_libs=library.bin", "onnx"]',
            'backend = ["onnxrt:config=[ep.context_file_path:ran]", "onnx"]',
            'backend = ["onnxrt:providers=[tensorrt[trt_extra_plugin_lib_paths=code.so]]", "onnx"]',
            'backend = ["faulty:backend=onnxrt,fault=fp16,at=y,wrapped=[op_libs:library.bin]", "onnx"]',
            'backend = ["onnxrt:model=code.py", "onnx"]',
            'feed = ["x=code.py:next"]',
        ],
    )
    def test_code_that_a_suite_names_is_refused_before_anything_runs(self, suite, line):
        (suite.folder / "code.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
        head = "" if line.startswith("backend") else HEAD
        suite.write(head + CASE + line + "\n")
        done = suite("suite.toml", "--no-scripts", status=2)
        assert "names code to run" in done.stderr
        assert not (suite.folder / "ran").exists()

    def test_code_in_a_run_file_is_refused_too(self, suite):
        (suite.folder / "run.toml").write_text(
            'model = "one.onnx"\nbackend = ["onnxrt", "onnx"]\ndata-loader-script = "code.py"\n'
        )
        suite.write('[[case]]\nconfig = "run.toml"\n')
        assert "names code to run" in suite("suite.toml", "--no-scripts", status=2).stderr

    def test_a_suite_without_code_runs(self, suite):
        suite.write(HEAD + CASE)
        suite("suite.toml", "--no-scripts", status=0)

    def test_a_suite_that_may_name_no_code_installs_no_packages_of_its_choice(self, suite):
        suite.write('[[case]]\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnx"]\nreleases = ["1.20.1"]\n')
        suite("suite.toml", "--no-scripts", "--list", status=0)
        suite.write('[[case]]\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnx"]\nreleases = ["1.20.1,any==1"]\n')
        done = suite("suite.toml", "--no-scripts", "--list", status=2)
        assert "version names code to run: 1.20.1,any==1" in done.stderr


class TestWrites:
    @pytest.mark.parametrize(
        "line",
        [
            'save-outputs = "OUTSIDE/o.npz"',
            'save-inputs = "../o.npz"',
            'log-file = "OUTSIDE/log.txt"',
            'save-accuracy-results = "OUTSIDE/a.json"',
            'save-heatmaps = "OUTSIDE"',
            'backend = ["onnxrt:save_optimized=OUTSIDE/m.onnx", "onnx"]',
            'save-outputs = "link/o.npz"',
        ],
    )
    def test_files_outside_of_the_suite_folder_are_refused(self, suite, tmp_path_factory, line):
        outside = tmp_path_factory.mktemp("outside")
        (suite.folder / "link").symlink_to(outside)
        head = "" if line.startswith("backend") else HEAD
        suite.write(head + CASE + line.replace("OUTSIDE", str(outside)) + "\n")
        done = suite("suite.toml", status=2)
        assert "writes outside of the suite's folder" in done.stderr
        assert not list(outside.iterdir())

    def test_allow_writes_allows_them(self, suite, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside")
        suite.write(HEAD + CASE + f'save-outputs = "{outside}/o.npz"\n')
        suite("suite.toml", "--allow-writes", status=0)
        assert (outside / "o.npz").is_file()
