"""Versions of Python to search over."""

from __future__ import annotations

from dataclasses import replace
from importlib import metadata

import pytest
from in_process import plugins_installed

from polycmp.errors import UsageError
from polycmp.plan import BackendPlan, Plan
from polycmp_bisect.candidates import pythons
from polycmp_bisect.candidates.pythons import open_pythons
from polycmp_bisect.environments.making import Maker
from polycmp_bisect.environments.tools import this_python

REGISTRY = plugins_installed()
OLDER, NEWER = "3.5", "3.99"


@pytest.fixture
def line(monkeypatch, cache):
    """Versions older and newer than this one, of which none is run."""
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(pythons, "interpreters", lambda: dict.fromkeys((this_python(), NEWER, OLDER), "python"))
    options = REGISTRY.find_runner("onnxrt").spec.options()
    plan = Plan(model="m.onnx", backends=(BackendPlan("onnxrt", "onnxrt", options), BackendPlan("onnx", "onnx")))

    def make(version="", beside=()):
        backend = replace(plan.backends[0], version=version)
        changed = replace(plan, backends=(backend, *plan.backends[1:]))
        return open_pythons(changed, REGISTRY, Maker((), cache), beside)

    return make


def test_versions_are_searched_from_old_to_new_beginning_with_this_one(line):
    found = line()
    assert (found.what, found.names) == ("version of Python", [OLDER, this_python(), NEWER])
    assert (found.first, found.find(NEWER)) == (1, 2)
    with pytest.raises(UsageError, match=r"there is no Python 3\.98 here"):
        found.find("3.98")


def test_each_runs_the_release_that_is_installed_here_or_named(line):
    here = metadata.version("onnxruntime")
    assert line().plan(2).backends[0].version == f"{here},python=={NEWER}"
    found = line("1.20.1", ("numpy==1.26.4",)).plan(0)
    assert found.backends[0].version == f"1.20.1,numpy==1.26.4,python=={OLDER}"
    assert found.backends[1].version == ""


def test_the_reference_is_the_candidate_where_python_and_release_are_the_same(line):
    found = line()
    both = replace(found.base, backends=(found.base.backends[0], replace(found.base.backends[0], label="other")))
    assert [replace(found, base=both).is_reference(place) for place in range(3)] == [False, True, False]
