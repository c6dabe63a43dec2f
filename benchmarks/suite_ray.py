"""What Ray adds to a case: the time from handing it to a cluster of four one-core nodes until its results are back.

    .venv-extras/bin/python benchmarks/suite_ray.py        # after make test-extras

The time of the case's own process is taken off. A model of 10 MB is shipped, once to each node.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from polycmp_suite.ray_executor import RayExecutor
from polycmp_suite.running.waiting import WaitingCases
from polycmp_suite.spec import Ended, Job, Resources, Started
from polycmp_suite.suitefile.case import Case

CASES, NODES = 60, 4


def main() -> None:
    """Measure and print."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(NODES):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "model.bin").write_bytes(os.urandom(10_000_000))

        def make(case: Case, attempt: int) -> Job:
            output = Path(place) / case.id
            output.mkdir(exist_ok=True)
            return Job(case.id, case.words, place, str(output), ("model.bin",), attempt=attempt)

        cases = [Case(f"case-{number}", "run", ("--version",)) for number in range(CASES)]
        begun, taken = 0.0, []
        for event in RayExecutor(Resources(jobs=1)).run(WaitingCases(cases, make, lambda _: None)):
            if isinstance(event, Started):
                begun = time.perf_counter()
            elif isinstance(event, Ended):
                assert event.status == 0, event
                taken.append(time.perf_counter() - begun - event.seconds)
    first, later = taken[: 2 * NODES], taken[2 * NODES :]
    print(
        f"first {len(first)} cases: {', '.join(f'{item * 1e3:.0f}' for item in first)} ms (starting workers, shipping)"
    )
    print(f"later: median {statistics.median(later) * 1e3:.0f} ms, largest {max(later) * 1e3:.0f} ms a case")
    print(f"load of the machine: {os.getloadavg()}")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
