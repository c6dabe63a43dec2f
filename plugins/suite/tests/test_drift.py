"""The last pass of each case: kept where a URI leads to, compared with, and replaced by passes alone."""

from __future__ import annotations

import numpy as np
import pytest
from last_passes import ONE, change, drift, kept

from polycmp.results.files import OutputsWriter, open_runs

pytest.importorskip("fsspec")
pytest.importorskip("onnxruntime")


PAIR = '[[case]]\nname = "pair"\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnx"]\n'


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


def test_shards_keep_the_baseline_and_merge_says_what_they_found(suite):
    suite.write(ONE + PAIR)
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", "--results", f"shards/{number}")
        suite("suite.toml", *shard, "--baseline", f"file://{suite.folder}/base", status=0)
    assert len(list((suite.folder / "base").iterdir())) == 2
    done = suite("merge", "shards", status=0)
    assert "2 cases compared with the last pass: 2 new" in done.stdout
