"""What these tests share: the toy box, a command line, and an environment with little else."""

from __future__ import annotations

import pytest
from commandline import core_alone_with, polycmp, toybox
from copied_processes import copy_children

__all__ = ["polycmp", "toybox"]


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide ONNX, ONNX Runtime and our other plugins."""
    with core_alone_with("polycmp_locate", beside=("polycmp_report",)):
        yield


@pytest.fixture(autouse=True)
def copied_children(monkeypatch):
    """Let workers be copies of this process, which hides what an interpreter would hide."""
    copy_children(monkeypatch)


@pytest.fixture
def locate(polycmp, tmp_path):
    """Search in `m.toy`; return what was printed, and the report."""

    def run(*words):
        done = polycmp("locate", "m.toy", *words, "--report", "r.json", "--explain")
        return done, done.report()

    return run


@pytest.fixture
def search(polycmp, tmp_path):
    """Search with inputs of 1 for what makes one model differ from another; return the report and its rows."""

    def run(make, candidate, reference, *words):
        make(tmp_path / "candidate.toy", candidate)
        make(tmp_path / "reference.toy", reference)
        backends = ("-b", "toy:model=candidate.toy", "-b", "plain:name=ref,model=reference.toy")
        words = (*backends, "--val-range", "[1,1]", "--report", "r.json", "--explain", *words)
        done = polycmp("locate", "candidate.toy", *words)
        found = done.report()
        return done, found, {item["tensor"]: item for item in found["tensors"]}

    return run


@pytest.fixture
def setting(toybox, tmp_path):
    """A candidate and a reference whose fifth layers of twelve differ, with memory for a few tensors at a time."""
    from toymodels import chain

    from polycmp.layerwise import open_partitioned_runs
    from polycmp.plan import from_values
    from polycmp.plugins import Registry
    from polycmp.runs import make_functions, resolve
    from polycmp_locate.setting import Setting

    mine, other = chain(tmp_path / "mine.toy", changed=5, shape=(4, 8)), chain(tmp_path / "other.toy", shape=(4, 8))
    registry = Registry.discover()
    backends = [f"toy:model={mine}", f"plain:name=ref,model={other}"]
    plan = from_values({"model": str(mine), "backend": backends}, registry)
    candidate, reference = open_partitioned_runs(resolve(plan, registry))
    return Setting(candidate, reference, None, make_functions(plan.compare, registry), max_memory=2048)


@pytest.fixture
def feed():
    """Inputs of their models."""
    import numpy as np

    return {"x": np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)}


@pytest.fixture
def whole(setting, feed):
    """Their models without probes."""
    from polycmp_locate.trials.whole import WholeModel

    plain, expected = (side.run_whole(feed, ["y"]) for side in (setting.candidate, setting.reference))
    return WholeModel(setting, feed, plain, expected)
