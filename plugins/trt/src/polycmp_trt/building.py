"""Several engines built at the same time, each in a process of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import PolycmpError, describe_exception
from polycmp.files import make_folder
from polycmp.plan import from_values, to_values
from polycmp.process import ChildProcess, Connection
from polycmp.report import Column, Problem, Result, Row, Table
from polycmp.sentences import ERROR, PASSED
from polycmp_trt.options import Options

if TYPE_CHECKING:
    from polycmp.plan import BackendPlan, Plan
    from polycmp.plugins import Registry


@dataclass(frozen=True)
class Built:
    """Result of building one engine.

    Attributes:
        label: The backend's label.
        path: The engine file.
        seconds: Duration of the build, its process's start included.
        size: Size of the engine in bytes.
        error: Reason why there is no engine; empty if there is one.
        hint: The command to type next.
    """

    label: str
    path: Path
    seconds: float
    size: int = 0
    error: str = ""
    hint: str = ""


def build_engines(
    plan: Plan, files: Sequence[Path], jobs: int, registry: Registry, tell: Callable[[str], None] = lambda _: None
) -> list[Built]:
    """Build an engine for each backend of a plan, and return the results in their order.

    A library may end its process where it runs out of memory, and what TensorRT says belongs to all builders of one:
    so each has a process of its own.

    Args:
        plan: The model, the backends and what they are built for.
        files: The engine file of each backend.
        jobs: Number of builds at the same time.
        registry: The plugins.
        tell: Told in words what is being built.

    Raises:
        FileError: A folder cannot be made.
    """
    for folder in dict.fromkeys(path.parent for path in files):
        make_folder(folder)
    crew = _Crew(plan, registry, tell)
    with ThreadPoolExecutor(jobs, thread_name_prefix="polycmp-build") as pool:
        try:
            return list(pool.map(crew.build, plan.backends, files))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            crew.stop()
            raise


class _Crew:
    """The processes that build, and their status."""

    def __init__(self, plan: Plan, registry: Registry, tell: Callable[[str], None]) -> None:
        self._plan, self._registry, self._tell = plan, registry, tell
        self._lock = threading.Lock()
        self._busy: dict[str, ChildProcess] = {}
        self._done = 0

    def build(self, backend: BackendPlan, path: Path) -> Built:
        """Build one engine; a failure is a result, too."""
        options = replace(backend.options or Options(), build_only=True, cuda_graph=False, save_engine=str(path))
        plan = replace(self._plan, backends=(replace(backend, options=options),))
        start = time.perf_counter()
        child = ChildProcess("polycmp_trt.building")
        self._show(backend.label, child)
        try:
            child.send({"plan": to_values(plan, self._registry)})
            answer = child.receive(self._plan.timeout)
            error = _gone(child) if answer is None else answer["error"]
        except TimeoutError:
            child.kill()
            answer, error = None, f"not built within {self._plan.timeout:g} s"
        except BrokenPipeError:
            answer, error = None, _gone(child)
        finally:
            child.close()
            self._show(backend.label, None)
        size = path.stat().st_size if not error else 0
        return Built(backend.label, path, time.perf_counter() - start, size, error, (answer or {}).get("hint", ""))

    def stop(self) -> None:
        """End all processes."""
        for child in list(self._busy.values()):
            child.kill()

    def _show(self, label: str, child: ChildProcess | None) -> None:
        with self._lock:
            if child is not None:
                self._busy[label] = child
            else:
                del self._busy[label]
                self._done += 1
            count = len(self._plan.backends)
            if self._busy:
                self._tell(f"{self._done} of {count} engines are built, building {', '.join(self._busy)}")


def _gone(child: ChildProcess) -> str:
    ending = child.ending()
    return f"its process {ending}" + (f": {ending.last_line}" if ending.last_line else "")


def main(arguments: list[str]) -> int:
    """Build the engine of a plan that the parent sends, and send it the result."""
    from polycmp.plugins import Registry
    from polycmp.session import run_plan

    connection = Connection(int(arguments[0]))
    request = connection.receive()
    if request is None:
        return 0
    registry = Registry.discover()
    try:
        [result] = run_plan(from_values(request["plan"], registry), registry).backends
    except PolycmpError as error:
        connection.send({"error": describe_exception(error), "hint": error.hint})
    else:
        connection.send({"error": result.error, "hint": result.hint})
    return 0


def result_of(built: Sequence[Built], plan: Plan) -> Result:
    """Build the result of a build for reports.

    Args:
        built: Result of the build of each engine.
        plan: The plan of the builds.
    """
    failed = [item for item in built if item.error]
    rows = [
        Row(
            str(item.path) if not item.error else item.label,
            "error" if item.error else "passed",
            (item.label, item.seconds, item.size / 2**20 if not item.error else None),
            item.error,
            mark="FAIL" if item.error else "ok",
        )
        for item in built
    ]
    columns = (Column("Backend"), Column("Time", "duration"), Column("MiB", "number"))
    content: list[Any] = [Table("Engines", tuple(rows), columns, name_title="Engine")]
    content += [Problem(f"{item.label} was not built", item.error, item.hint, subject=item.label) for item in failed]
    count = f"{len(built) - len(failed)} of {len(built)} engines" if failed else f"{len(built)} engines"
    return Result(
        command="build",
        verdict="error" if failed else "passed",
        heading=ERROR if failed else PASSED,
        sentence=f"built {count if failed or len(built) > 1 else built[0].path}",
        title=plan.model,
        content=tuple(content),
        command_line=plan.command,
        document={"engines": [_document(item) for item in built]},
    )


def _document(item: Built) -> dict[str, Any]:
    return {
        "backend": item.label,
        "path": str(item.path),
        "seconds": item.seconds,
        "bytes": item.size,
        "error": item.error or None,
    }
