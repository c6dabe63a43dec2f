"""How a suite scales: 20 models x 3 settings in a shell loop, one at a time, and two; 10,000 cases in memory.

    python benchmarks/suite_scale.py            # both
    python benchmarks/suite_scale.py memory     # the second alone

The figures stand in docs/suites.md. Other work on the machine changes them, so each way is measured several times.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SETTINGS = (("onnxrt", "onnx"), ("onnxrt:optimization=off", "onnxrt"), ("onnxrt:threads=1", "onnxrt"))
ROUNDS = 3


def make_model(path: Path, seed: int) -> None:
    """Write a perceptron with three layers of 256."""
    random = np.random.default_rng(seed)
    nodes, weights, name = [], [], "x"
    for layer in range(3):
        weights.append(numpy_helper.from_array(random.normal(size=(256, 256)).astype(np.float32) / 16, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [name, f"w{layer}"], [f"m{layer}"]))
        nodes.append(helper.make_node("Relu", [f"m{layer}"], [f"r{layer}"]))
        name = f"r{layer}"
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [8, 256]) for n in ("x", name)]
    graph = helper.make_graph(nodes, "mlp", value[:1], value[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def processor_seconds() -> float:
    """Return what the processes started so far have taken of all processors; other work does not change that."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_speed(folder: Path) -> None:
    for number in range(20):
        make_model(folder / f"model{number:02}.onnx", number)
    matrix = ", ".join(f"[{', '.join(map(repr, backends))}]" for backends in SETTINGS).replace("'", '"')
    (folder / "suite.toml").write_text(
        f'[[case]]\nmodel = "*.onnx"\natol = 1e-3\nmatrix = {{ backend = [{matrix}] }}\n'
    )
    polycmp = [str(Path(sys.executable).parent / "polycmp")]
    loop = [
        " ".join([*polycmp, "run", f"model{number:02}.onnx", *(f"-b {item}" for item in backends), "--atol 1e-3"])
        + f" --report loop/{number}-{index}.json --report loop/{number}-{index}.html"
        for number in range(20)
        for index, backends in enumerate(SETTINGS)
    ]
    ways = {
        "shell loop": ["bash", "-c", "\n".join(loop)],
        "suite, one at a time": [*polycmp, "suite", "suite.toml", "-q"],
        "suite -j 2": [*polycmp, "suite", "suite.toml", "-q", "-j", "2"],
    }
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, command in ways.items():
            begun, before = time.perf_counter(), processor_seconds()
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            found[way].append((time.perf_counter() - begun, processor_seconds() - before))
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for way, times in found.items():
        every = ", ".join(f"{wall:.1f} ({cpu:.1f})" for wall, cpu in times)
        print(f"{way:22} best {min(times)[0]:6.1f} s   all, with seconds of the processors: {every}", flush=True)
    print(f"load of the machine: {os.getloadavg()}")


def measure_memory(folder: Path) -> None:
    """Schedule cases that do nothing, and look at what is allocated."""
    from polycmp_suite.progress import Progress
    from polycmp_suite.session import Session
    from polycmp_suite.spec import Ended, Event, Queue, Started
    from polycmp_suite.store import new_run
    from polycmp_suite.suitefile.case import Case, Suite

    class Nothing:
        """An executor that ends every case at once."""

        def __init__(self) -> None:
            self.seen: list[tuple[int, int]] = []

        def run(self, queue: Queue) -> Iterator[Event]:
            number = 0
            while (job := queue.take()) is not None:
                yield Started(job)
                yield Ended(job, 0, 0.001)
                number += 1
                if number % 1000 == 0:
                    self.seen.append((number, tracemalloc.get_traced_memory()[0]))

    words = ("run", "model.onnx", "-b", "onnxrt", "-b", "onnx")
    cases = tuple(Case(f"case-{number}", "run", words, "model.onnx", ("onnxrt", "onnx")) for number in range(10_000))
    executor = Nothing()
    session = Session(Suite("big", "big.toml", str(folder), cases), new_run(folder / "results"), executor)
    tracemalloc.start()
    begun = time.perf_counter()
    session.run(cases, {}, Progress(len(cases), silent=True, jobs=1))
    seconds = time.perf_counter() - begun
    for number, size in executor.seen:
        print(f"{number:6} cases: {size / 2**20:.2f} MiB")
    print(f"{seconds / len(cases) * 1e3:.2f} ms a case, its result on disk")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        if sys.argv[1:] != ["memory"]:
            measure_speed(Path(place))
        measure_memory(Path(place))
