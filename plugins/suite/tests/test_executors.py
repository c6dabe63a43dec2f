"""Executors of other packages, found through the hook; and many cases in little memory."""

from __future__ import annotations

import pytest
from fakes import FakeSite

HEAD = '[defaults]\nbackend = ["onnxrt", "onnx"]\n[[case]]\nmodel = "*.onnx"\n'
PLUGIN = """
from polycmp_suite.spec import ExecutorSpec, executor_hookimpl

@executor_hookimpl
def polycmp_suite_executors():
    yield ExecutorSpec("mine", "Mine", "my_cluster.executor:MyExecutor")
    yield ExecutorSpec("lacking", "Lacks a module", "my_cluster.executor:MyExecutor", ("no_such_module",), "get it")
    yield ExecutorSpec("absent", "Is not there", "my_cluster.nowhere:MyExecutor")
"""
EXECUTOR = """
from polycmp_suite.spec import Ended, Started

class MyExecutor:
    def __init__(self, resources):
        self.resources = resources

    def run(self, queue):
        while (job := queue.take()) is not None:
            yield Started(job, "machine 7")
            yield Ended(job, 0, 1.5, where="machine 7")
"""


def install(site: FakeSite, name: str, **modules: str) -> None:
    """Install a package with an entry point for executors."""
    files = {f"{name}/{module}.py": text for module, text in {"__init__": "", **modules}.items()}
    site.install(name, {name: f"{name}.plugin"}, files, requires=(), group="polycmp_suite")


@pytest.fixture
def with_plugins(suite, tmp_path_factory):
    site = FakeSite(tmp_path_factory.mktemp("site"))
    install(site, "my_cluster", plugin=PLUGIN, executor=EXECUTOR)
    install(site, "broken_cluster", plugin="raise RuntimeError('no such thing')\n")
    suite.write(HEAD)
    with site.installed_here():
        yield suite


def test_a_package_brings_an_executor_whatever_another_does(with_plugins):
    with_plugins.driven("suite.toml", "--executor", "mine", status=0)
    results = with_plugins.results()
    assert {item["where"] for item in results.values()} == {"machine 7"}
    assert {item["state"] for item in results.values()} == {"passed"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lacking", "the executor 'lacking' lacks the module 'no_such_module'"),
        pytest.param("absent", "the executor 'absent' cannot be imported", marks=pytest.mark.corpus),
        pytest.param("nobody", "the plugin broken_cluster does not work", marks=pytest.mark.corpus),
    ],
)
def test_an_executor_that_cannot_be_had_is_said(with_plugins, name, words):
    done = with_plugins.driven("suite.toml", "--executor", name, status=3)
    assert words in done.stderr
    assert "next:" in done.stderr
    assert not (with_plugins.folder / "suite-results").exists()


def test_an_executor_that_nobody_has_is_wrong_usage(suite):
    suite.write(HEAD)
    done = suite.driven("suite.toml", "--executor", "locla", status=2)
    assert "did you mean 'local'?" in done.stderr
