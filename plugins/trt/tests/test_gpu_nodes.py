"""TensorRT over the one-node models of the onnx package, with the list of what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from polycmp.testing.nodes import Failure, NodeCorpus

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(900)]
_HERE = Path(__file__).parent


def run_share(first: int, step: int) -> dict[str, Failure | None]:
    """Run every `step`-th case in processes of their own; one that dies is replaced behind the case it died of."""
    done: dict[str, Failure | None] = {}
    while True:
        command = [sys.executable, str(_HERE / "node_worker.py"), str(first), str(step), str(len(done))]
        worker = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in worker.stdout.splitlines() if line.startswith("{")]
        for line in lines:
            if "name" in line:
                done[line["name"]] = None if line["failure"] is None else Failure(*line["failure"])
        if worker.returncode == 0:
            return done
        assert lines, worker.stderr[-2000:]
        done[lines[-1]["start"]] = Failure("ends the process", in_words=True)


class TestNodes(NodeCorpus):
    refusals = _HERE / "node_refusals.txt"

    @pytest.fixture(scope="class")
    def failures(self):
        workers = max(1, (os.cpu_count() or 2) - 2)
        with ThreadPoolExecutor(workers) as pool:
            shares = list(pool.map(lambda first: run_share(first, workers), range(workers)))
        results = {name: failure for share in shares for name, failure in share.items()}
        assert len(results) > 1000
        return {name: results[name] for name in sorted(results) if results[name] is not None}
