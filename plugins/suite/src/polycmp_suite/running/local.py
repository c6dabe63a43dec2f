"""The executor of this machine: as many cases at the same time as jobs, memory and GPUs allow.

Cases that may share a process run one after the other in as many processes as run at the same time. If one of these
dies, that costs the case a second run, in a process of its own, where it is known what it does by itself.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from polycmp.runner import all_cores
from polycmp_suite.running.process import GRACE, CaseProcess
from polycmp_suite.spec import Ended, Event, Job, Queue, Resources, Started, Tick

#: Seconds after which the display of progress is told that nothing has happened.
_TICK = 1.0
#: Seconds between two looks where the system does not tell that a process has ended.
_POLL = 0.02


class LocalExecutor:
    """Runs cases as processes of this machine.

    Args:
        resources: Resources that cases may use.
    """

    def __init__(self, resources: Resources) -> None:
        self._jobs = resources.jobs or all_cores()
        self._memory = resources.memory or total_memory()
        self._gpus = resources.gpus
        self._free = list(resources.gpus)
        self._running: list[CaseProcess] = []
        self._idle: list[CaseProcess] = []

    def run(self, queue: Queue) -> Iterator[Event]:
        """Run jobs until none waits and none runs; closing the iterator ends them."""
        try:
            last_tick = time.monotonic()
            while True:
                while len(self._running) < self._jobs and (job := queue.take(self._fits)) is not None:
                    yield from self._start(job)
                if not self._running:
                    if not len(queue):
                        return
                    job = queue.take()  # nothing runs, and still it does not fit
                    assert job is not None
                    yield Ended(job, -1, stopped=f"it needs {job.gpus} GPUs, and there are {len(self._gpus)}: --gpus")
                self._wait()
                for process in list(self._running):
                    if (ended := process.look()) is not None:
                        self._running.remove(process)
                        self._free += process.devices
                        if process.is_reusable:
                            self._idle.append(process)
                        if process.has_died:
                            yield from self._start(replace(process.job, shares_process=False))
                        else:
                            yield ended
                if time.monotonic() - last_tick >= _TICK:
                    last_tick = time.monotonic()
                    yield Tick()
        finally:
            self._end_all()

    def _fits(self, job: Job) -> bool:
        reserved = sum(process.job.memory for process in self._running)
        return job.gpus <= len(self._free) and (not self._running or reserved + job.memory <= self._memory)

    def _start(self, job: Job) -> Iterator[Event]:
        if job.shares_process and self._idle:
            process = self._idle.pop()
            process.begin(job)
            self._running.append(process)
            yield Started(job)
            return
        devices, self._free = tuple(self._free[: job.gpus]), self._free[job.gpus :]
        # What takes no GPU must not see one that belongs to another case.
        environment = {"CUDA_VISIBLE_DEVICES": ",".join(devices)} if devices or self._gpus else {}
        try:
            self._running.append(CaseProcess(job, environment, devices=devices))
        except OSError as error:
            self._free += devices
            yield Ended(job, -1, stopped=f"it could not be started: {error}")
            return
        yield Started(job)

    def _wait(self) -> None:
        """Wait until a process ends or is due to be looked at."""
        limit = min([_TICK, *(process.due for process in self._running)])
        descriptors = [descriptor for process in self._running for descriptor in process.descriptors]
        if -1 in descriptors:
            time.sleep(min(limit, _POLL))
            return
        poll = select.poll()
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        poll.poll(limit * 1000)

    def _end_all(self) -> None:
        for process in self._running:
            process.stop("interrupted")
        end = time.monotonic() + GRACE
        while self._running and time.monotonic() < end:
            self._running = [process for process in self._running if process.look() is None]
            time.sleep(_POLL)
        for process in (*self._running, *self._idle):
            process.kill()
        self._running.clear()
        self._idle.clear()


def total_memory() -> int:
    """Return the machine's memory in bytes; very much where that is not known."""
    with suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 1 << 62
