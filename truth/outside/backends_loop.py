"""Measures one backend, in the environment that has its library, and prints what was found as a line of JSON.

    python truth/outside/backends_loop.py NAME PACKAGE EXTRA MODEL...

NAME is the backend, PACKAGE the folder of its package in plugins/, EXTRA what is installed with it (`-` for nothing).
Each MODEL is run by the whole command line, which is timed.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from polycmp.plugins import Registry
from polycmp.spec import RunnerTools
from polycmp.testing import RunnerContract
from polycmp.testing.nodes import NodeCorpus

ROOT = Path(__file__).parents[2]
_REPEATS, _SECONDS = 3, 300
#: The test of the kit that has all one-node cases run.
_NODES = "test_a_refusal_is_an_error_in_words"


class Kit:
    """Has pytest run the conformance kit alone, and keeps what came of it."""

    def __init__(self) -> None:
        self.contract: Counter[str] = Counter()
        self.nodes: dict[str, int] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out all tests but those of the kit."""
        items[:] = [item for item in items if _is_contract(item) or _is_corpus(item)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the outcomes of the contract's tests."""
        if _NODES not in report.nodeid and (report.when == "call" or not report.passed):
            self.contract[report.outcome] += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        """Count the one-node cases, which a fixture of the kit runs."""
        failures = yield
        if fixturedef.argname == "failures":
            wrong = sum(failure.is_wrong for failure in failures.values())
            refused = len(failures) - wrong
            cases = sum(1 for _ in request.cls().cases())
            if cases > sum(self.nodes.values()):  # a package may have a few of them tried before all
                self.nodes = {"passed": cases - len(failures), "refused": refused, "wrong": wrong}
        return failures


def _is_contract(item: pytest.Item) -> bool:
    return issubclass(getattr(item, "cls", None) or object, RunnerContract)


def _is_corpus(item: pytest.Item) -> bool:
    return issubclass(getattr(item, "cls", None) or object, NodeCorpus) and item.name == _NODES


def run_kit(package: str) -> Kit:
    """Run the conformance kit over a package's backend."""
    kit = Kit()
    words = ["-q", "-m", "", "-o", "timeout=1800", str(ROOT / "plugins" / package / "tests")]
    with redirect_stdout(sys.stderr):
        pytest.main(words, plugins=[kit])
    return kit


def inner_tensors(tools: RunnerTools) -> str:
    """Return how tensors inside a model are seen."""
    if type(tools).inside is not RunnerTools.inside:
        return "by graph, by marks"
    return "by graph" if tools.runs_parts else "none"


def installed_bytes(package: str, extra: str) -> tuple[int, list[str]]:
    """Return the size of what a package of ours needs, by the records of what is installed, and what is missing."""
    seen, missing, size = set[tuple[str, str]](), list[str](), 0
    waiting = [Requirement(f"polycmp-{package}" if extra == "-" else f"polycmp-{package}[{extra}]")]
    counted = set[str]()
    while waiting:
        requirement = waiting.pop()
        name = requirement.name.lower().replace("_", "-")
        try:
            found = distribution(name)
        except PackageNotFoundError:
            missing.append(name)
            continue
        if name not in counted and not name.startswith("polycmp"):
            size += sum(file.size or 0 for file in found.files or ())
        counted.add(name)
        for chosen in {"", *requirement.extras}:
            if (name, chosen) not in seen:
                seen.add((name, chosen))
                needed = map(Requirement, found.requires or ())
                waiting += [item for item in needed if _applies(item, chosen)]
    return size, sorted(set(missing))


def _applies(requirement: Requirement, extra: str) -> bool:
    """Return whether a requirement holds here: without an extra, those that need none; else those of the extra."""
    if requirement.marker is None:
        return not extra
    alone = requirement.marker.evaluate({"extra": ""})
    return alone if not extra else not alone and requirement.marker.evaluate({"extra": extra})


@contextmanager
def served(backend: str, model: Path) -> Iterator[str]:
    """Yield what stands behind `-b`: for a backend that asks a server, with the address of one that has the model."""
    if backend != "oip":
        yield backend
        return
    program = (
        "import sys; from pathlib import Path; from served import http_server\n"
        "with http_server() as state:\n"
        "    print(state.serve(Path(sys.argv[1]).read_bytes()), flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", program, str(model)]
    tests = ROOT / "plugins" / "oip" / "tests"
    with subprocess.Popen(words, cwd=tests, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        yield f"oip:url={server.stdout.readline().strip()}"
        server.stdin.close()


def measure(backend: str, model: Path) -> dict[str, Any]:
    """Return seconds of clock and processor of `polycmp run`, medians; or why there are none."""
    clocks, processors = [], []
    with served(backend, model) as chosen:
        words = [sys.executable, "-m", "polycmp", "run", str(model), "-b", chosen]
        for _ in range(_REPEATS):
            begun, used = time.perf_counter(), _processor()
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return {"refused": f"took longer than {_SECONDS} s"}
            if done.returncode:
                lines = (done.stdout + done.stderr).splitlines()
                said = [line for line in lines if " failed: " in line or line.startswith("error: ")]
                return {"refused": " ".join((said or lines or [str(done.returncode)])[0].split())}
            clocks.append(time.perf_counter() - begun)
            processors.append(_processor() - used)
    return {"clock": statistics.median(clocks), "processor": statistics.median(processors)}


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    backend, package, extra, *models = sys.argv[1:]
    registry = Registry.discover()
    runner = registry.find_runner(backend)
    kit = run_kit(package)
    size, missing = installed_bytes(package, extra)
    modules = (module.partition(".")[0] for need in runner.spec.needs for module in need.split("|"))
    brought_by = packages_distributions()
    libraries = dict.fromkeys(name for module in modules for name in brought_by.get(module, ()))
    found = {
        "libraries": ", ".join(f"{name} {version(name)}" for name in libraries),
        "contract": dict(kit.contract),
        "nodes": kit.nodes,
        "inner": inner_tensors(registry.tools(runner)),
        "bytes": size,
        "missing": missing,
        "models": {Path(model).stem: measure(backend, Path(model)) for model in models},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
