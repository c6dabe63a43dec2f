"""The executor `ray`, on a real cluster of several nodes on this machine: `make test-extras`."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from suite_processes import wait_for
from suite_texts import HEAD

ray = pytest.importorskip("ray", reason="ray is an extra: make test-extras")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

SLOW = (
    "import time\n"
    "from pathlib import Path\n"
    "import numpy as np\n"
    "def load_data():\n"
    "    marks = Path({marks!r})\n"
    "    (marks / str(time.time_ns())).touch()\n"
    "    if len(list(marks.iterdir())) <= 2:\n"  # whatever runs again is quick
    "        time.sleep({seconds})\n"
    "    yield {{'x': np.ones((1, 4), np.float32)}}\n"
)
CACHE = Path(tempfile.gettempdir()) / f"polycmp-suite-{os.getuid()}"


@pytest.fixture
def cluster():
    """A head without cores, and two nodes of one core each."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    shutil.rmtree(CACHE, ignore_errors=True)
    try:
        made.nodes_of_ours = [made.add_node(num_cpus=1) for _ in range(2)]
        made.wait_for_nodes()
        yield made
    finally:
        made.shutdown()
        shutil.rmtree(CACHE, ignore_errors=True)


def cases_that_run() -> list[int]:
    """Return the processes that work below the folder where clusters keep what cases read."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if str(place.readlink()).startswith(str(CACHE)):
                found.append(int(place.parent.name))
    return found


def slow_loader(folder: Path, seconds: float) -> Path:
    marks = folder / "marks"
    marks.mkdir()
    (folder / "slow.py").write_text(SLOW.format(marks=str(marks), seconds=seconds))
    return marks


def test_cases_run_on_the_cluster_and_files_are_shipped_once_a_node(suite, cluster):
    suite.write(
        HEAD
        + '[[case]]\nmodel = "one.onnx"\nmatrix = { atol = [1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6] }\n'
        + '[[case]]\nname = "bad"\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnxrt:model=two.onnx"]\n'
    )
    done = suite.process("suite.toml", "--executor", "ray", "--address", cluster.address, status=1)
    assert "7 cases: 6 passed, 1 failed" in done.stdout
    results = suite.results()
    assert all(item["where"] for item in results.values())
    assert results["bad"]["reason"].startswith("y:")
    for item in results.values():
        folder = suite.latest / "cases" / item["folder"]
        assert {"log.txt", "report.html", "report.json"} <= {path.name for path in folder.iterdir()}
    kept = [path for path in CACHE.glob("*/*") if path.is_file()]
    nodes = {path.parent for path in kept}
    assert 1 <= len(nodes) <= 2
    assert len(kept) == len({(path.parent, path.name) for path in kept}) <= 2 * len(nodes)


def test_a_lost_node_s_cases_run_elsewhere(suite, cluster):
    marks = slow_loader(suite.folder, 25.0)
    suite.write(
        HEAD
        + 'data-loader-script = "slow.py"\n[[case]]\nmodel = "one.onnx"\nmatrix = { atol = [1e-6, 2e-6, 3e-6, 4e-6] }\n'
    )
    process = suite.start("suite.toml", "--executor", "ray", "--address", cluster.address)
    wait_for(lambda: len(list(marks.iterdir())) == 2, 120.0)  # one on each node
    cluster.remove_node(cluster.nodes_of_ours[0], allow_graceful=False)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, out + err
    assert "4 cases: 4 passed" in out
    assert len(list(marks.iterdir())) > 4, "a case began twice"
    assert cases_that_run() == []


def test_resources_that_no_node_has_are_an_error(suite, cluster):
    suite.write(
        HEAD + '[[case]]\nmodel = "one.onnx"\n[[case]]\nname = "x"\nmodel = "one.onnx"\nresources = { trt86 = 1 }\n'
    )
    suite.process("suite.toml", "--executor", "ray", "--address", cluster.address, status=3)
    results = suite.results()
    assert results["one"]["state"] == "passed"
    assert "no machine of the cluster has 1 trt86" in results["x"]["reason"]
    cluster.add_node(num_cpus=1, resources={"trt86": 1})
    cluster.wait_for_nodes()
    suite.process("suite.toml", "--executor", "ray", "--address", cluster.address, status=0)
    assert suite.results()["x"]["state"] == "passed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_driver_that_ends_leaves_no_case_behind_and_loses_nothing(suite, cluster, number):
    marks = slow_loader(suite.folder, 600.0)
    suite.write(
        HEAD
        + '[[case]]\nname = "good"\nmodel = "one.onnx"\n'
        + '[[case]]\nname = "slow"\nmodel = "one.onnx"\ndata-loader-script = "slow.py"\n'
    )
    process = suite.start("suite.toml", "--executor", "ray", "--address", cluster.address)
    wait_for(lambda: list(marks.iterdir()) and "good" in suite.results(), 120.0)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -number), out + err
    wait_for(lambda: cases_that_run() == [], 120.0)
    assert set(suite.results()) == {"good"}
    (suite.folder / "slow.py").write_text(
        "import numpy as np\ndef load_data():\n    yield {'x': np.ones((1, 4), np.float32)}\n"
    )
    done = suite.process("suite.toml", "--resume", "--executor", "ray", "--address", cluster.address, status=0)
    assert "2 cases: 2 passed" in done.stdout


def test_files_outside_of_the_suite_s_folder_are_refused(suite, cluster, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "three.onnx"
    shutil.copy(suite.folder / "one.onnx", elsewhere)
    suite.write(HEAD + f'[[case]]\nmodel = "{elsewhere}"\n')
    suite.process("suite.toml", "--executor", "ray", "--address", cluster.address, status=3)
    assert "cannot be shipped" in next(iter(suite.results().values()))["reason"]


def test_a_cluster_of_this_machine_s_own(suite):
    suite.write(HEAD + '[[case]]\nmodel = "*.onnx"\n')
    suite.process("suite.toml", "--executor", "ray", "-j", 1, status=0)
    assert {item["state"] for item in suite.results().values()} == {"passed"}


def test_a_cluster_that_is_not_there_is_said(suite):
    suite.write(HEAD + '[[case]]\nmodel = "*.onnx"\n')
    done = suite.process("suite.toml", "--executor", "ray", "--address", "127.0.0.1:1", status=3)
    assert "the Ray cluster 127.0.0.1:1 cannot be reached" in done.stderr
