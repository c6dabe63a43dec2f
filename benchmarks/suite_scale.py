"""How a suite scales: 20 models x 3 settings in a shell loop, one at a time, and two; 10,000 cases, simulated.

    python benchmarks/suite_scale.py            # all
    python benchmarks/suite_scale.py memory     # 10,000 cases that do nothing
    python benchmarks/suite_scale.py fleet      # 8 shards of them, with reports, a baseline, and one answer of all

The figures stand in docs/suites.md. Other work on the machine changes them, so each way is measured several times.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
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


SHARDS, FLEET = 8, 10_000


def measured(what: str, work: Callable[[], None]) -> None:
    """Do something in a process of its own, and print its processor time and the most memory that it took."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{what} failed")
    print(f"{what:44} {used.ru_utime + used.ru_stime:6.1f} s  {used.ru_maxrss / 1024:5.0f} MB")


def measure_fleet(folder: Path) -> None:
    """Measure shards whose cases are there at once, as a case that ran would leave them, and the merged answer."""
    make_model(folder / "model.onnx", 0)
    polycmp = str(Path(sys.executable).parent / "polycmp")
    words = ["run", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "report.json"]
    subprocess.run([polycmp, *words, "--save-outputs", "outputs.npz", "-q"], cwd=folder, check=True)
    os.chdir(folder)
    for title in ("all shards, the first pass", "all shards, the same bits"):
        shutil.rmtree("shards", ignore_errors=True)
        measured(title, lambda: [run_shard(folder, number) for number in range(1, SHARDS + 1)] and None)
    size = sum(path.stat().st_size for path in (folder / "passes").iterdir())
    print(f"the baseline: {len(list((folder / 'passes').iterdir()))} files, {size / 1e6:.0f} MB")
    reports = ["--report", "junit.xml", "summary.md"]
    merge = [polycmp, "suite", "merge", "shards", *reports, "-q"]
    measured("merge, with JUnit and Markdown", lambda: os.execv(polycmp, merge))
    latest = folder / "fleet-results" / "latest"
    sizes = {path.name: path.stat().st_size / 1e6 for path in (latest / "index.html", Path("junit.xml"))}
    print(", ".join(f"{name} {size:.1f} MB" for name, size in sizes.items()))


def run_shard(folder: Path, number: int) -> None:
    """Run one shard with an executor that has each case's files ready."""
    from polycmp.plugins import Registry
    from polycmp_suite.baseline_store import BaselineStore
    from polycmp_suite.drift import Drift
    from polycmp_suite.progress import Progress
    from polycmp_suite.session import Session
    from polycmp_suite.shards import Shard
    from polycmp_suite.spec import Ended, Event, Queue, Started
    from polycmp_suite.store import new_run
    from polycmp_suite.suitefile.case import Case, Suite

    class Ready:
        """An executor that copies what a case leaves behind."""

        def run(self, queue: Queue) -> Iterator[Event]:
            while (job := queue.take()) is not None:
                yield Started(job)
                for name in ("report.json", "outputs.npz"):
                    shutil.copy(folder / name, job.output)
                yield Ended(job, 0, 0.001)

    shard = Shard(number, SHARDS)
    cases = [
        Case(
            f"case-{index}",
            "run",
            ("run", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--seed", str(index)),
            "model.onnx",
            ("onnxrt", "onnx"),
            files=("model.onnx",),
            has_baseline=True,
        )
        for index in range(FLEET)
    ]
    run = new_run(folder / "shards" / str(number))
    store = BaselineStore(f"file://{folder}/passes")
    drift = Drift(store, str(folder), "a machine", Registry.discover(), rolls=True)
    suite = Suite("fleet", "fleet.toml", str(folder), tuple(cases))
    own = shard.of(cases)
    Session(suite, run, Ready(), drift=drift).run(own, {}, Progress(len(own), silent=True, jobs=1))
    names = [case.id for case in cases]
    about = {"shard": list(shard), "all_cases": names, "device": "a machine", "cases": [case.id for case in own]}
    run.write_about({"suite": "fleet", "time": time.time(), "finished": True, **about})


MEASURES = {"speed": measure_speed, "memory": measure_memory, "fleet": measure_fleet}

if __name__ == "__main__":
    for name in sys.argv[1:] or MEASURES:
        with tempfile.TemporaryDirectory() as place:
            MEASURES[name](Path(place))
