"""The executor of a Ray cluster: a task per case, files shipped once a machine, lost cases run elsewhere."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import ray

from polycmp.errors import PluginError, describe_exception
from polycmp.files import digest_of
from polycmp_suite.node import Shipped, execute, is_inside, write_inside
from polycmp_suite.running.process import GRACE
from polycmp_suite.spec import Ended, Event, Job, Queue, Resources, Started, Tick

log = logging.getLogger("polycmp.suite.ray")

#: Times that a case is run elsewhere after its machine was lost.
RETRIES = 3
#: Cases that are handed to the cluster beyond those that can run, so that no core waits for the driver.
_CASES_PER_CORE = 1.5
_TICK = 1.0
#: Seconds in which a cluster has to answer.
_TIMEOUT = 10.0


class RayExecutor:
    """Runs cases as tasks of a Ray cluster.

    Args:
        resources: Resources that cases may use, and the address of the cluster.

    Raises:
        PluginError: The cluster cannot be reached.
    """

    def __init__(self, resources: Resources) -> None:
        self._jobs = resources.jobs
        self._contents: dict[str, Any] = {}
        self._digests: dict[str, tuple[float, int, str]] = {}
        self._running: dict[Any, tuple[Job, float]] = {}
        self._owns_cluster = not ray.is_initialized()
        if self._owns_cluster:
            _connect(resources)

    def run(self, queue: Queue) -> Iterator[Event]:
        """Run jobs until none waits and none runs; closing the iterator cancels them."""
        try:
            while True:
                while len(self._running) < self._limit and (job := queue.take()) is not None:
                    yield self._start(job)
                if not self._running:
                    if not len(queue):
                        return
                    continue
                done, _ = ray.wait(list(self._running), num_returns=1, timeout=_TICK)
                for task in done:
                    job, begun = self._running.pop(task)
                    yield _ended(task, job, begun)
                if not done:
                    yield from self._give_up()
                    yield Tick()
        finally:
            self._cancel_all()
            if self._owns_cluster:
                ray.shutdown()

    @property
    def _limit(self) -> int:
        if self._jobs:
            return self._jobs
        return max(2, int(ray.cluster_resources().get("CPU", 1) * _CASES_PER_CORE))

    @cached_property
    def _task(self) -> Any:
        return ray.remote(max_retries=RETRIES, retry_exceptions=False)(_execute)

    def _start(self, job: Job) -> Event:
        if why := _impossible(job):
            return Ended(job, -1, stopped=why)
        existing = [path for path in job.files if (Path(job.folder) / path).exists()]
        outside = next((path for path in existing if not is_inside(path)), None)
        if outside is not None:
            return Ended(job, -1, stopped=f"{outside} is not below the suite's folder, and cannot be shipped")
        try:
            files = [self._ship(job.folder, path) for path in existing if (Path(job.folder) / path).is_file()]
        except OSError as error:
            return Ended(job, -1, stopped=f"its files cannot be read: {describe_exception(error)}")
        task_options: dict[str, Any] = {"num_cpus": 1, "num_gpus": job.gpus, "resources": dict(job.resources)}
        task_options["scheduling_strategy"] = "SPREAD"  # a case is long, and packing would leave machines idle
        if job.memory:
            task_options["memory"] = job.memory
        contents = {item.digest: self._contents[item.digest] for item in files}
        task = self._task.options(**task_options).remote(job, files, contents)
        self._running[task] = job, time.monotonic()
        return Started(job)

    def _ship(self, folder: str, path: str) -> Shipped:
        """Put a file into the cluster's object store, once for each content."""
        full = Path(folder) / path
        state = full.stat()
        known = self._digests.get(str(full))
        if known is None or known[:2] != (state.st_mtime, state.st_size):
            known = state.st_mtime, state.st_size, digest_of(full)
            self._digests[str(full)] = known
        digest = known[2]
        if digest not in self._contents:
            self._contents[digest] = ray.put(full.read_bytes())
        return Shipped(path, digest)

    def _give_up(self) -> Iterator[Event]:
        """End jobs that no machine can run any more."""
        for task, (job, begun) in list(self._running.items()):
            if (why := _impossible(job)) is not None:
                del self._running[task]
                ray.cancel(task, force=True)
                yield Ended(job, -1, time.monotonic() - begun, stopped=why)

    def _cancel_all(self) -> None:
        tasks = list(self._running)
        self._running.clear()
        with suppress(Exception):  # the cluster may be gone
            for task in tasks:
                ray.cancel(task)
            if tasks:  # Ray itself crashes where a task that is just ending is forced to
                _, tasks = ray.wait(tasks, num_returns=len(tasks), timeout=GRACE + 1.0)
            for task in tasks:
                ray.cancel(task, force=True)


def _connect(resources: Resources) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if resources.address:
            _knock(resources.address)
            ray.init(address=resources.address, **quiet)
        else:
            gpus = len(resources.gpus)
            ray.init(num_cpus=resources.jobs or None, num_gpus=gpus, include_dashboard=False, **quiet)
    except Exception as error:
        where = resources.address or "of this machine"
        raise PluginError(
            f"the Ray cluster {where} cannot be reached", why=describe_exception(error), hint="ray status"
        ) from error


def _knock(address: str) -> None:
    """Raise if no cluster answers; Ray itself tries for minutes first."""
    host, colon, port = address.rpartition(":")
    if colon and host and "/" not in address and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_TIMEOUT).close()


def _impossible(job: Job) -> str | None:
    """Describe the resources of a job that no machine of the cluster has; None if one has all."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    required = {**job.resources, **({"GPU": float(job.gpus)} if job.gpus else {})}
    if not required or any(all(node.get(name, 0.0) >= amount for name, amount in required.items()) for node in nodes):
        return None
    words = ", ".join(f"{amount:g} {name}" for name, amount in required.items())
    return f"no machine of the cluster has {words}"


def _execute(job: Job, files: list[Shipped], contents: Mapping[str, Any]) -> tuple[Ended, Mapping[str, bytes], int]:
    """Run on a machine of the cluster."""
    node = ray.get_runtime_context().get_node_id()[:16]
    get: Callable[[str], bytes] = lambda digest: ray.get(contents[digest])  # noqa: E731
    return execute(job, files, get, node)


def _ended(task: Any, job: Job, begun: float) -> Ended:
    """Return the exit status and times of a task, with its files in the job's folder."""
    try:
        ended, files, fetched = ray.get(task)
    except Exception as error:  # noqa: BLE001 - whatever became of the machine, the case has ended
        why = f"the cluster could not run it: {describe_exception(error)}"
        return Ended(job, -1, time.monotonic() - begun, stopped=why)
    log.debug("%s: %d of %d files fetched on %s", job.case, fetched, len(job.files), ended.where)
    for name in write_inside(Path(job.output), files):
        log.warning("%s: %s sent a file that leads out of its folder: %r", job.case, ended.where, name)
    result: Ended = ended
    return result
