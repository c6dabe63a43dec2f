"""What a suite must not lose, mix up or do: files of others, clocks, strangers' results, code in suite files."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest

HEAD = '[defaults]\nbackend = ["onnxrt", "onnx"]\n'
CASE = '[[case]]\nname = "one"\nmodel = "one.onnx"\n'


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

    def test_another_release_of_a_backend_runs_again(self, suite, monkeypatch):
        from polycmp.plugins import Registry
        from polycmp_suite.session import fingerprint
        from polycmp_suite.suitefile.read import read_suite

        suite.write(HEAD + CASE)
        (case,) = read_suite(str(suite.path), Registry.discover()).cases
        assert any(line.startswith("onnxruntime") for line in case.versions), case.versions
        before = fingerprint(case, str(suite.folder))
        monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
        (other,) = read_suite(str(suite.path), Registry.discover()).cases
        assert fingerprint(other, str(suite.folder)) != before


class TestClocks:
    def test_a_run_of_the_future_is_older_than_the_run_at_hand(self, suite):
        suite.write(HEAD + CASE)
        suite("suite.toml", status=0)
        folder = suite.folder / "suite-results"
        only = suite.latest.resolve()
        future = folder / "2099-01-01T00-00-00Z"
        only.rename(future)
        (folder / "latest").unlink()
        suite("suite.toml", "--keep", 1, status=0)
        kept = [item for item in folder.iterdir() if item.name != "latest"]
        assert [item.name for item in kept] == [suite.latest.resolve().name]
        assert "2099" not in kept[0].name
        assert (kept[0] / "index.html").is_file()

    def test_resume_goes_on_with_the_latest_run_and_not_with_the_future(self, suite):
        suite.write(HEAD + CASE)
        suite("suite.toml", status=0)
        folder = suite.folder / "suite-results"
        suite.latest.resolve().rename(folder / "2099-01-01T00-00-00Z")
        suite("suite.toml", status=0)
        latest = suite.latest.resolve()
        before = (latest / "suite.json").stat().st_mtime_ns
        suite("suite.toml", "--resume", status=0)
        assert (latest / "suite.json").stat().st_mtime_ns > before
        assert suite.latest.resolve() == latest

    def test_twelve_runs_in_one_second_stay_in_order(self, tmp_path):
        from polycmp_suite.store import new_run, runs_in

        made = [new_run(tmp_path).folder for _ in range(12)]
        assert [run.folder for run in runs_in(tmp_path)] == made

    def test_a_run_that_may_still_be_going_on_is_kept(self, tmp_path):
        from polycmp_suite.store import new_run, remove_old_runs, runs_in

        going, old = new_run(tmp_path), new_run(tmp_path)
        old.write_about({"time": time.time() - 2 * 24 * 3600, "finished": False})
        remove_old_runs(new_run(tmp_path), 1)
        assert going.folder in [run.folder for run in runs_in(tmp_path)]
        assert not old.folder.exists()


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


class TestHistory:
    @pytest.mark.parametrize("name", ["q?.sqlite", "a#b.sqlite", "a%20b.sqlite", "h?mode=rwc&x=.sqlite"])
    def test_names_are_paths(self, suite, name):
        suite.write(HEAD + CASE)
        suite("suite.toml", "--history", name, "--baseline", name, status=0)
        before = set(os.listdir(suite.folder))
        done = suite("suite.toml", "--history", name, "--baseline", name, status=0)
        assert "ERROR: " not in done.stdout
        assert set(os.listdir(suite.folder)) == before

    @pytest.mark.parametrize(
        "column, value", [("times", "[1"), ("times", "7"), ("max_error", "none"), ("reason", None)]
    )
    def test_a_damaged_row_is_left_out_with_a_note(self, suite, column, value):
        suite.write(HEAD + CASE + '[[case]]\nname = "two"\nmodel = "two.onnx"\n')
        suite("suite.toml", "--history", "h.sqlite", status=0)
        with sqlite3.connect(suite.folder / "h.sqlite") as database:
            if value is None:
                database.execute("update cases set reason = x'ff00' where name = 'one'")
            else:
                database.execute(f"update cases set {column} = ? where name = 'one'", [value])
        done = suite("suite.toml", "--baseline", "h.sqlite", status=0)
        assert "1 damaged row left out" in done.stdout + done.stderr


def test_a_kept_result_never_leads_outside(suite):
    suite.write(HEAD + CASE)
    suite("suite.toml", status=0)
    (place,) = suite.latest.glob("cases/*/result.json")
    document = json.loads(place.read_text())
    place.write_text(json.dumps({**document, "folder": "../../../outside"}))
    suite("suite.toml", "--resume", status=0)
    assert not list(suite.folder.rglob("outside"))
    assert (place.parent / "index.html").is_file()


def test_a_kept_case_folder_that_is_a_link_is_made_anew(suite):
    suite.write(HEAD + CASE)
    suite("suite.toml", status=0)
    (place,) = suite.latest.glob("cases/*")
    outside = suite.folder / "outside"
    place.rename(outside)
    place.symlink_to(outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir() if path.is_file()}
    suite("suite.toml", "--resume", status=0)
    assert {path.name: path.read_bytes() for path in outside.iterdir() if path.is_file()} == before
    assert (place / "result.json").is_file()
    assert not place.is_symlink()


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


class TestNodeFolder:
    def test_a_folder_that_others_may_write_into_is_refused(self, tmp_path):
        from polycmp.errors import FileError
        from polycmp_suite.node import private_folder

        place = tmp_path / "shared"
        place.mkdir(mode=0o777)
        place.chmod(0o777)
        with pytest.raises(FileError, match="does not belong to this user alone"):
            private_folder(place)
        (tmp_path / "link").symlink_to(tmp_path)
        with pytest.raises(FileError, match="does not belong to this user alone"):
            private_folder(tmp_path / "link")
        (tmp_path / "mine").mkdir(mode=0o755)
        assert private_folder(tmp_path / "mine").stat().st_mode & 0o777 == 0o700

    def test_a_kept_file_that_was_replaced_is_fetched_again(self, tmp_path):
        from polycmp.files import digest_of
        from polycmp_suite.node import Shipped, place_file

        content, cache, fetched = b"print('mine')", tmp_path / "cache", []
        (tmp_path / "code.py").write_bytes(content)
        item = Shipped("code.py", digest_of(tmp_path / "code.py"))
        cache.mkdir()
        (cache / item.digest).write_bytes(b"print('a stranger')")
        for number in range(2):
            place_file(item, tmp_path / f"case{number}", cache, lambda digest: fetched.append(digest) or content)
            assert (tmp_path / f"case{number}" / "code.py").read_bytes() == content
        assert fetched == [item.digest]

    def test_results_of_a_machine_stay_in_the_folder_of_their_case(self, tmp_path):
        from polycmp_suite.node import write_inside

        folder = tmp_path / "case"
        strange = ["../outside", f"{tmp_path}/outside", "a/../../outside"]
        assert write_inside(folder, dict.fromkeys([*strange, "a/result.json"], b"{}")) == strange
        assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()] == [
            Path("case/a/result.json")
        ]
