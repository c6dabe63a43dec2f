"""Every TensorRT example runs, in the order in which they build on each other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu
EXAMPLES = Path(__file__).parents[3] / "examples" / "trt"
ORDER = [
    "build_and_run",
    "load_and_run",
    "compare_backends",
    "extend_loaders",
    "int8_calibration",
    "network_by_hand",
    "immediate",
    "dynamic_shapes",
    "device_arrays",
]


def test_the_list_is_complete():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*ORDER, "models"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("examples")


@pytest.mark.parametrize("name", ORDER)
def test_it_runs(name, folder):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout
