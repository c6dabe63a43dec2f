"""The steps of a reduction, which a later one may repeat."""

from __future__ import annotations

import json
from pathlib import Path

import faulty_models


def faulty(at, fault="int32"):
    return f"faulty:backend=onnxrt,fault={fault},at={at}"


class TestReplay:
    def test_a_search_goes_on_after_the_steps_of_an_earlier_one(self, polycmp, tmp_path):
        faulty_models.chain(tmp_path / "chain.onnx", 6)
        words = ("debug", "reduce", "chain.onnx", "-b", faulty("c5"), "-b", "onnxrt", "--report", "found.json")
        first = polycmp(*words, "--save-debug-replay", "steps.json").report(tmp_path / "found.json")
        steps = json.loads(Path("steps.json").read_text())
        assert [entry["success"] for entry in steps.values()].count(False) >= 2
        half = dict(list(steps.items())[: len(steps) // 2])
        Path("half.json").write_text(json.dumps(half))
        second = polycmp(*words, "--load-debug-replay", "half.json").report(tmp_path / "found.json")
        assert second["steps_of_an_earlier_search"] == len(half)
        assert second["failing"] == first["failing"]

    def test_another_file_is_refused(self, polycmp, tmp_path):
        faulty_models.chain(tmp_path / "chain.onnx", 6)
        Path("other.json").write_text('{"a": 1}')
        done = polycmp(
            "debug", "reduce", "chain.onnx", "-b", "onnxrt", "-b", "onnx", "--load-debug-replay", "other.json"
        )
        assert done.status == 3
        assert "does not hold the steps of a search" in done.err
