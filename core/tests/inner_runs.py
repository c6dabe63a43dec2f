"""Tests of contracts that are run inside a test, and what became of each."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest


def run(folder, *sources):
    """Return outcome and reason of each test of some modules, by name; one session runs all of them."""
    outcomes = defaultdict(dict)

    class Collect:
        def pytest_runtest_logreport(self, report):
            if report.when == "call" or report.outcome != "passed":
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr or "")
                file, _, test = report.nodeid.partition("::")
                outcome = (report.outcome, getattr(report, "wasxfail", reason))
                outcomes[Path(file).name][test.rpartition("::")[2]] = outcome

    # A module of one name is imported once.
    paths = [folder / f"test_inner_{folder.name}_{number}.py" for number in range(len(sources))]
    for path, source in zip(paths, sources, strict=True):
        path.write_text("from polycmp.testing import *\nfrom polycmp.testing import Contract\n" + source)
    quiet = ["-qq", "-p", "no:xdist", "-p", "no:timeout", "-p", "no:faulthandler", "-p", "no:logging"]
    where = ["-o", "addopts=--import-mode=importlib", "--rootdir", str(folder), "-c", str(folder / "none.ini")]
    (folder / "none.ini").write_text("[pytest]\n")
    pytest.main([*map(str, paths), "-s", *quiet, *where], [Collect()])
    return [outcomes[path.name] for path in paths]
