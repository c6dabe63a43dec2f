"""Which shard of a suite a job is, by its words or its surroundings."""

from __future__ import annotations

import pytest

#: What a job is told by its surroundings.
VARIABLES = {
    "STRATEGY_JOB_INDEX": "1", "STRATEGY_JOB_TOTAL": "4", "CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "4",
    "BUILDKITE_PARALLEL_JOB": "1", "BUILDKITE_PARALLEL_JOB_COUNT": "4",
    "CIRCLE_NODE_INDEX": "1", "CIRCLE_NODE_TOTAL": "4", "JOB_COMPLETION_INDEX": "1",
    "SLURM_ARRAY_TASK_ID": "11", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "4",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch):
    """Let a CI that runs these tests in shards tell them nothing."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("auto", ("STRATEGY_JOB_INDEX", "STRATEGY_JOB_TOTAL")),
        ("auto", ("CI_NODE_INDEX", "CI_NODE_TOTAL")),
        ("auto", ("BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT")),
        ("auto", ("CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL")),
        ("auto", ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT")),
        ("auto/4", ("JOB_COMPLETION_INDEX",)),
    ],
)
def test_a_job_is_told_by_its_surroundings_which_shard_it_is(five, monkeypatch, text, names):
    for name in names:
        monkeypatch.setenv(name, VARIABLES[name])
    assert five("suite.toml", "--shard", text, "--list", status=0).stdout.split() == ["b"]


@pytest.mark.parametrize(
    ("text", "variables", "said"),
    [
        ("auto", {}, "nothing tells which shard this is"),
        ("auto", {"JOB_COMPLETION_INDEX": "1"}, "--shard auto/8"),
        ("auto", {"CI_NODE_INDEX": "x", "CI_NODE_TOTAL": "4"}, "CI_NODE_INDEX is 'x'"),
        ("3/2", {}, "there is no shard 3 of 2"),
        ("0/2", {}, "there is no shard 0 of 2"),
        ("half", {}, "is no shard"),
    ],
)
def test_a_shard_that_is_none_is_told(five, monkeypatch, text, variables, said):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert said in " ".join(five("suite.toml", "--shard", text, "--list", status=2).stderr.split())
