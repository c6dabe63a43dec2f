"""CUDA through NVIDIA's cuda-bindings, which need no compiler, where pycuda is not installed."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import pytest


def _has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


needs_bindings = pytest.mark.skipif(
    find_spec("cuda") is None or find_spec("cuda.bindings") is None, reason="cuda-bindings is not installed"
)


def start(tmp_path, code, blocked):
    """Run a script in which some modules cannot be imported."""
    hide = f"import sys\nfor name in {blocked!r}:\n    sys.modules[name] = None\n"
    path = tmp_path / "script.py"
    path.write_text(hide + textwrap.dedent(code))
    return subprocess.run(
        [sys.executable, "-X", "utf8", path], check=False, capture_output=True, encoding="utf-8", cwd=tmp_path
    )


ASK = """
    from polycmp.errors import PolycmpError
    from polycmp_trt.run.cuda import driver
    try:
        print(driver().Device.count())
    except PolycmpError as error:
        print(type(error).__name__, error, error.why, error.hint)
"""


def test_without_both_the_error_names_the_one_to_install(tmp_path):
    done = start(tmp_path, ASK, ["pycuda", "cuda"])
    assert "PluginError" in done.stdout, done.stderr
    assert "neither cuda-bindings nor pycuda is installed" in done.stdout
    assert "polycmp-trt[cu12]" in done.stdout


@needs_bindings
@pytest.mark.skipif(_has_driver(), reason="there is an NVIDIA driver")
def test_without_a_driver_the_error_says_so(tmp_path):
    done = start(tmp_path, ASK, ["pycuda"])
    assert "BackendError" in done.stdout, done.stderr
    assert "CUDA cannot start" in done.stdout
    assert "nvidia-smi" in done.stdout


@needs_bindings
@pytest.mark.gpu
def test_a_model_runs_without_pycuda(tmp_path, convolutions):
    words = ["run", str(convolutions), "-b", "trt", "-b", "onnxrt", "--iterations", "3", "--atol", "1e-3"]
    done = start(tmp_path, f"from polycmp.cli.main import main\nsys.exit(main({words!r}))", ["pycuda"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout


@needs_bindings
@pytest.mark.gpu
def test_arrays_go_to_the_device_and_back_without_pycuda(tmp_path):
    code = """
        import gc
        import numpy as np
        from polycmp_trt.run.cuda import DeviceBuffer, HostBuffer, current, driver, pinned_empty
        from polycmp_trt.run.views import is_pinned

        with current():
            cuda = driver()
            stream, start, stop = cuda.Stream(), cuda.Event(), cuda.Event()
            one, two = pinned_empty((1000, 3), np.float32), pinned_empty((1000, 3), np.float32)
            assert is_pinned(one) and one.flags.writeable
            one[:] = np.arange(3000).reshape(1000, 3)
            there = DeviceBuffer()
            other = DeviceBuffer()
            start.record(stream)
            cuda.memcpy_htod_async(there.reserve(one.nbytes), one, stream)
            cuda.memcpy_dtod_async(other.reserve(one.nbytes), there.address, one.nbytes, stream)
            cuda.memcpy_dtoh_async(two, other.address, stream)
            stop.record(stream)
            stream.synchronize()
            assert (one == two).all() and stop.time_since(start) > 0
            three = np.empty_like(one)
            cuda.memcpy_htod(there.address, one + 1)
            cuda.memcpy_dtoh(three, there.address)
            assert (three == one + 1).all()
            rounds = cuda.mem_get_info()[1] // (1 << 30) + 1  # what is not given back would be more than there is
            for _ in range(rounds):
                large = DeviceBuffer()
                large.reserve(1 << 30)
                large.free()
                pinned_empty((1 << 20,), np.uint8)
            try:
                cuda.mem_alloc(1 << 45)
            except cuda.MemoryError as error:
                print("out of memory", error)
            there.free()
            other.free()
        print("done")
    """
    done = start(tmp_path, code, ["pycuda"])
    assert "out of memory cuMemAlloc failed" in done.stdout, done.stdout + done.stderr
    assert done.stdout.endswith("done\n")
    assert done.returncode == 0
