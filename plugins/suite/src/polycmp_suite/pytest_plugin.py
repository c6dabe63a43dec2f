"""The plugin for pytest: the fixture `polycmp`, and suites collected as tests. Heavy imports wait for their use."""

from __future__ import annotations

import fnmatch
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from polycmp_suite.result import CaseResult
    from polycmp_suite.suitefile.case import Case

#: The setting that names the files which are suites.
_FILES = "polycmp_suites"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the setting."""
    parser.addini(_FILES, "Patterns of files that are suites of polycmp.", type="args", default=["*.suite.toml"])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect suites."""
    if any(fnmatch.fnmatch(file_path.name, pattern) for pattern in parent.config.getini(_FILES)):
        return SuiteFile.from_parent(parent, path=file_path)
    return None


class SuiteFile(pytest.File):
    """A suite: a test per case."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield the cases.

        Raises:
            CollectError: There are mistakes in the file.
        """
        from polycmp.errors import PolycmpError
        from polycmp.plugins import Registry
        from polycmp_suite.suitefile.read import read_suite

        try:
            suite = read_suite(str(self.path), Registry.discover())
        except PolycmpError as error:
            raise self.CollectError(str(error)) from None
        for case in suite.cases:
            yield CaseItem.from_parent(self, name=case.id, case=case, folder=suite.folder)


class CaseFailedError(Exception):
    """A case that is not as it should be; its text is the reason."""


class CaseItem(pytest.Item):
    """A case. Its tags are words for `-k`.

    Args:
        case: The case.
        folder: Folder in which the case is started.
    """

    def __init__(self, *, case: Case, folder: str, **more: Any) -> None:
        super().__init__(**more)
        self._case, self._folder = case, folder
        self.extra_keyword_matches.update(case.tags)

    def runtest(self) -> None:
        """Run it in a process of its own.

        Raises:
            CaseFailedError: It differs, or could not be compared.
        """
        result, log = run(self._case, self._folder)
        self.add_report_section("call", "polycmp", log)
        if result.known and result.state == "passed":
            pytest.xfail(f"{result.known}: {result.reason}")
        if result.state != "passed":
            raise CaseFailedError(result.explanation)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the reason alone: a traceback through this file says nothing."""
        if isinstance(excinfo.value, CaseFailedError):
            return f"{self.name}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the location of the case for pytest: file, line and name."""
        return self.path, max(self._case.line - 1, 0), self.name


def run(case: Case, folder: str) -> tuple[CaseResult, str]:
    """Run a case; return its result and its log."""
    from polycmp_suite.running.process import LOG
    from polycmp_suite.running.single import run_case
    from polycmp_suite.select import find_gpus, lacking
    from polycmp_suite.spec import Resources

    gpus = find_gpus("", os.environ.get("CUDA_VISIBLE_DEVICES"))
    if need := lacking(case, (), gpus):
        pytest.skip(f"needs {need}")
    with tempfile.TemporaryDirectory(prefix="polycmp-") as output:
        result = run_case(case, folder, Path(output), Resources(jobs=1, gpus=gpus))
        log = Path(output, LOG)
        return result, log.read_text("utf-8", "replace") if log.exists() else ""


@pytest.fixture
def polycmp() -> Any:
    """Compare a model on several backends, and fail the test where it differs.

    Called as `polycmp(MODEL, [BACKEND, …], command="run", check=True, **options)`; options are those of a case in a
    suite file. Returns its result (`polycmp_suite.result.CaseResult`), also with `check=False`, where nothing
    fails the test.
    """
    return _compare


def _compare(model: Any, backends: Sequence[str], *, check: bool = True, **options: Any) -> CaseResult:
    from polycmp.plugins import Registry
    from polycmp_suite.suitefile.permissions import Permissions
    from polycmp_suite.suitefile.spread import CaseSettings, canonical
    from polycmp_suite.suitefile.translate import Translator, settings_and_options

    values = canonical({**options, "model": str(model), "backend": list(backends)})
    suite_values, case_options = settings_and_options(values)
    folder = Path.cwd()
    case = Translator(Registry.discover(), folder, Permissions()).case(
        CaseSettings(str(model), suite_values, case_options, model=str(model)), 0
    )
    result, _ = run(case, str(folder))
    if check and result.state != "passed":
        pytest.fail(f"{model}: {result.explanation}", pytrace=False)
    return result
