"""Options that show what a suite would run."""

from __future__ import annotations

import json


def test_dry_run_shows_command_lines_that_work(suite):
    suite.write('[[case]]\nmodel = "one.onnx"\nbackends = ["onnxrt:optimization=off", "onnx"]\nshapes = ["x:[1,4]"]\n')
    done = suite("suite.toml", "--dry-run", status=0)
    line = "polycmp run one.onnx -b onnxrt:optimization=off -b onnx --input-shapes 'x:[1,4]'"
    assert done.stdout.splitlines() == [line]


def test_cases_as_a_matrix_of_jobs(five):
    jobs = json.loads(five("suite.toml", "-k", "a or b", "--list", "--json", status=0).stdout)["include"]
    assert jobs == [
        {"case": "a", "shard": "1/2", "model": "one.onnx", "tags": []},
        {"case": "b", "shard": "2/2", "model": "one.onnx", "tags": []},
    ]
    assert "--list --json" in five("suite.toml", "--json", status=2).stderr
