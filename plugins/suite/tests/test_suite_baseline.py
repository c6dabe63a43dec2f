"""The last pass of each case: kept where a URI leads to, compared with, and replaced by passes alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from polycmp.results.files import OutputsWriter, open_runs

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("onnxruntime")

from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

ONE = '[[case]]\nname = "one"\nmodel = "one.onnx"\nbackends = ["onnxrt"]\n'
PAIR = '[[case]]\nname = "pair"\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnx"]\n'


class Failing(MemoryFileSystem):
    """A place that breaks where it is told to."""

    protocol = ("failing",)
    store: dict = {}
    pseudo_dirs = [""]
    breaks: str = ""

    def ls(self, path, detail=True, **kwargs):
        if self.breaks == "ls":
            raise ConnectionError("connection refused")
        return super().ls(path, detail, **kwargs)

    def put_file(self, lpath, rpath, **kwargs):
        super().put_file(lpath, rpath, **kwargs)
        if self.breaks == "put":
            self.store[self._strip_protocol(rpath)].write(b"half")
            raise ConnectionError("connection reset")


@pytest.fixture
def failing():
    """A place of baselines that fails when asked to."""
    fsspec.register_implementation("failing", Failing, clobber=True)
    yield Failing
    Failing.breaks = ""
    Failing.store.clear()


@pytest.fixture
def baseline(suite):
    """The folder of a baseline, with the last pass of a case in it."""
    suite.write(ONE)
    done = suite("suite.toml", "--baseline", f"file://{suite.folder}/base", status=0)
    assert "there is no baseline in" in done.stdout
    assert "1 case compared with the last pass: 1 new" in done.stdout
    return suite.folder / "base"


def kept(folder):
    (path,) = folder.iterdir()
    return path


def change(path, by, environment=None):
    """Make a last pass that differs from what the case gives."""
    (run,) = open_runs(path)
    iterations = list(run.iterations)
    with OutputsWriter(path) as writer:
        for outputs in iterations:
            moved = outputs.holding({name: np.array(value + np.float32(by)) for name, value in outputs.items()})
            moved.environment = {**outputs.environment, **(environment or {})}
            writer.add(run.label, moved, 0.1)


def drift(suite):
    (path,) = suite.latest.glob("cases/*/result.json")
    return json.loads(path.read_text())


def test_the_same_bits_are_told_and_nothing_is_written(suite, baseline):
    before = kept(baseline).stat().st_mtime_ns
    done = suite("suite.toml", "--baseline", f"file://{baseline}", status=0)
    assert "1 case compared with the last pass: 1 with the same bits" in done.stdout
    assert drift(suite)["drift"] == "same bits as the last pass"
    assert kept(baseline).stat().st_mtime_ns == before
    assert not list(suite.latest.glob("cases/*/outputs.npz"))


def test_a_difference_within_tolerance_is_told_and_becomes_the_baseline(suite, baseline):
    change(kept(baseline), 1e-6)
    done = suite("suite.toml", "--baseline", f"file://{baseline}", status=0)
    assert "1 within tolerance" in done.stdout
    assert drift(suite)["drift"].startswith("differs from the last pass by ")
    assert "same bits" in drift_after(suite, baseline)


def drift_after(suite, baseline):
    suite("suite.toml", "--baseline", f"file://{baseline}", status=0)
    return drift(suite)["drift"]


def test_a_difference_beyond_tolerance_fails_and_the_baseline_stays(suite, baseline):
    change(kept(baseline), 0.5)
    before = kept(baseline).read_bytes()
    done = suite("suite.toml", "--baseline", f"file://{baseline}", status=1)
    assert "onnxrt differs from the last pass" in " ".join(done.stdout.split())
    assert f"remove file://{baseline}/{kept(baseline).name}" in drift(suite)["reason"]
    assert kept(baseline).read_bytes() == before
    kept(baseline).unlink()
    suite("suite.toml", "--baseline", f"file://{baseline}", status=0)


def test_a_tolerance_that_was_typed_judges_the_drift_too(suite, baseline):
    suite.write(ONE + "atol = 1.0\nrtol = 1.0\nallow-blind = true\n")
    suite("suite.toml", "--baseline", f"file://{suite.folder}/other", status=0)
    change(kept(suite.folder / "other"), 0.5)
    suite("suite.toml", "--baseline", f"file://{suite.folder}/other", status=0)
    assert "differs from the last pass by 0.5" in drift(suite)["drift"]


def test_only_the_changed_backend_of_a_pair_is_named(suite):
    suite.write(PAIR)
    base = f"file://{suite.folder}/base"
    suite("suite.toml", "--baseline", base, status=0)
    path = kept(suite.folder / "base")
    runs = {run.label: list(run.iterations) for run in open_runs(path)}
    with OutputsWriter(path) as writer:
        for label, iterations in runs.items():
            for outputs in iterations:
                by = np.float32(0.5 * (label == "onnx"))
                writer.add(label, outputs.holding({name: np.array(value + by) for name, value in outputs.items()}))
    suite("suite.toml", "--baseline", base, status=1)
    assert drift(suite)["drift"].startswith("onnx differs from the last pass")


def test_other_versions_and_processors_are_named(suite, baseline):
    change(kept(baseline), 1e-6, {"onnxruntime": "1.0.0", "processor flags": "avx2 amx_int8"})
    suite("suite.toml", "--baseline", f"file://{baseline}", status=0)
    assert "onnxruntime" in drift(suite)["drift"]
    assert "1.0.0 in the last pass" in drift(suite)["drift"]


def test_another_model_has_another_baseline(suite, baseline):
    (suite.folder / "one.onnx").write_bytes((suite.folder / "two.onnx").read_bytes())
    suite("suite.toml", "--baseline", f"file://{baseline}", status=0)
    assert drift(suite)["drift"] == "the first pass"
    assert len(list(baseline.iterdir())) == 2


def test_what_does_not_pass_is_not_kept(suite):
    suite.write(
        '[[case]]\nname = "differs"\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnxrt:model=two.onnx"]\n'
        'expected-failure = { reason = "on purpose" }\n'
    )
    suite("suite.toml", "--baseline", f"file://{suite.folder}/base", status=0)
    assert not (suite.folder / "base").exists()


def test_read_only_compares_and_keeps_nothing(suite, baseline):
    change(kept(baseline), 1e-6)
    before = kept(baseline).read_bytes()
    suite("suite.toml", "--baseline", f"file://{baseline}", "--baseline-read-only", status=0)
    assert "differs from the last pass" in drift(suite)["drift"]
    assert kept(baseline).read_bytes() == before
    done = suite("suite.toml", "--baseline", f"file://{suite.folder}/none", "--baseline-read-only", status=0)
    assert "1 without one" in done.stdout
    assert not (suite.folder / "none").exists()


def test_a_damaged_baseline_is_an_error_of_its_case_and_stays(suite, baseline):
    kept(baseline).write_bytes(b"PK\x03\x04 half")
    done = suite("suite.toml", "--baseline", f"file://{baseline}", status=3)
    assert "cannot be compared" in " ".join(done.stdout.split())
    assert kept(baseline).read_bytes() == b"PK\x03\x04 half"


def test_a_store_that_breaks_while_it_is_written_keeps_what_was_there(suite, failing):
    suite.write(ONE)
    suite("suite.toml", "--baseline", "failing://me:secret@place/base", status=0)
    (name,) = failing.store
    change_in(failing, name, suite.folder / "then.npz")
    before = failing.store[name].getvalue()
    failing.breaks = "put"
    done = suite("suite.toml", "--baseline", "failing://me:secret@place/base", "--report", "r.json", status=3)
    assert "cannot write the baseline" in " ".join(done.stdout.split())
    assert {key: file.getvalue() for key, file in failing.store.items()} == {name: before}
    texts = [path.read_text(errors="replace") for path in suite.folder.rglob("*") if path.is_file()]
    assert "secret" not in done.stdout + done.stderr + "".join(texts)


def change_in(failing, name, path):
    path.write_bytes(failing.store[name].getvalue())
    change(path, 1e-6)
    failing.store[name].seek(0)
    failing.store[name].truncate()
    failing.store[name].write(path.read_bytes())


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("failing://base", "cannot read the baseline failing://base"),
        ("nosuch://base", "the baseline nosuch://base cannot be opened"),
    ],
)
def test_a_store_that_cannot_be_reached_is_one_line_before_anything_runs(suite, failing, uri, words):
    suite.write(ONE)
    failing.breaks = "ls"
    done = suite("suite.toml", "--baseline", uri, status=3)
    assert words in done.stderr
    assert not (suite.folder / "suite-results").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--baseline-read-only",),
        ("--baseline", "memory://base", "--max-slowdown", "2"),
    ],
)
def test_options_without_a_meaning_are_refused(suite, words):
    suite.write(ONE)
    suite("suite.toml", *words, status=2)


def test_shards_keep_the_baseline_and_merge_says_what_they_found(suite):
    suite.write(ONE + PAIR)
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", "--results", f"shards/{number}")
        suite("suite.toml", *shard, "--baseline", f"file://{suite.folder}/base", status=0)
    assert len(list((suite.folder / "base").iterdir())) == 2
    suite("merge", "shards", "--baseline", f"file://{suite.folder}/base", status=2)
    done = suite("merge", "shards", status=0)
    assert "2 cases compared with the last pass: 2 new" in done.stdout
