"""Jobs: one backend with one model as plain values, and the runner that another process makes of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from toymodels import small

from polycmp.errors import PluginError
from polycmp.plan import DataPlan, Plan, plan_backends
from polycmp.plugins import Registry
from polycmp.runs import make_job, open_job, resolve


@pytest.fixture
def job(toybox, tmp_path):
    """Return a job for the backend `toy` as another process reads it, and the resolved backend."""
    small(tmp_path / "m.toy")
    registry = Registry.discover()
    backends = plan_backends(["toy:name=first"], {}, registry)
    resolved = resolve(Plan(model=str(tmp_path / "m.toy"), backends=backends), registry).backends[0]
    return json.loads(json.dumps(make_job(resolved.plan, resolved.model, DataPlan()).to_json())), resolved


def test_the_runner_of_a_job_computes_what_the_backend_does(job):
    written, resolved = job
    opened = open_job(written, Registry.discover())
    feed = {"x": np.ones((2, 8), np.float32)}
    with opened.make_runner() as runner, resolved.make_runner() as here:
        assert runner.name == "first"
        outputs, expected = runner.infer(feed), here.infer(feed)
        assert outputs.keys() == expected.keys()
        assert all(np.array_equal(outputs[name], expected[name]) for name in expected)
    assert opened.needs == resolved.needs


def test_a_job_does_not_say_where_it_runs(job):
    _, resolved = job
    elsewhere = replace(resolved.plan, python="ssh://me@board/venv/bin/python")
    assert "board" not in json.dumps(make_job(elsewhere, resolved.model, DataPlan()).to_json())


def test_a_backend_that_the_other_process_lacks_is_told(job):
    written, _ = job
    written["plan"]["backend"] = ["nobody"]
    with pytest.raises(PluginError, match="nobody"):
        open_job(written, Registry.discover())
