"""Devices that are full, drivers that are too old: one clear error, and the other backends still run."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from engines import plan_of

from polycmp.cli.main import main
from polycmp_trt import Profile

pytestmark = pytest.mark.gpu
OTHERS = ("-b", "onnxrt", "-b", "onnx")


def run(model, words, capsys, tmp_path):
    """Return the exit status, what was printed, and the report of a run."""
    report = tmp_path / "report.json"
    status = main(["run", model, *words, "--report", str(report)])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    return status, " ".join((shown.out + shown.err).split()), json.loads(report.read_text("utf-8"))


def others_agree(report):
    pairs = {(pair["candidate"], pair["reference"]): pair["passed"] for pair in report["comparison_results"]}
    return pairs.get(("onnxrt", "onnx"))


class TestWorkspace:
    def test_what_no_device_has_is_refused(self, convolutions, capsys, tmp_path):
        words = ("-b", "trt:name=trt,workspace=100000000G", *OTHERS)
        status, shown, report = run(convolutions, words, capsys, tmp_path)
        assert status == 3
        assert "out of memory" in report["inference_results"]["trt"]["error"]
        assert "--pool-limit" in shown
        assert others_agree(report)

    def test_what_a_larger_device_has_is_a_warning(self, convolutions, capsys, tmp_path):
        words = ("-b", "trt:name=trt,workspace=1000G", "-b", "onnxrt")
        status, shown, _ = run(convolutions, words, capsys, tmp_path)
        assert status == 0, shown
        assert "1000 GiB is more than the device has" in shown


class TestFullDevice:
    @pytest.fixture
    def leave(self):
        """A function that takes all memory of the device but so many MiB, until the test ends.

        Other programs may take and give back memory meanwhile: called again, it takes or gives back the difference.
        """
        from polycmp_trt.run.cuda import current, driver

        taken = []

        def take(mebibytes):
            with current(0):
                while taken and driver().mem_get_info()[0] < (mebibytes << 20) - (64 << 20):
                    taken.pop().free()
                size = 1 << 30
                while size >= 2 << 20 and (room := driver().mem_get_info()[0] - (mebibytes << 20)) > 0:
                    size = min(size, room)
                    try:
                        taken.append(driver().mem_alloc(size))
                    except driver().MemoryError:  # no piece of that size is left
                        size //= 2

        yield take
        with current(0):
            for allocation in taken:
                allocation.free()

    def test_no_room_for_the_engine(self, leave, tmp_path, capsys):
        import onnx
        from engines import affine

        model, engine = tmp_path / "affine.onnx", tmp_path / "big.engine"
        onnx.save(onnx.load_from_string(affine()), model)
        rows = 1 << 26  # 768 MiB for each tensor
        engine.write_bytes(plan_of(affine(), profiles=[Profile().add("x", (1, 3), (4, 3), (rows, 3))]))
        leave(512)
        words = ("-b", f"trt:name=trt,model={engine}", *OTHERS, "--input-shapes", f"x:[{rows // 16},3]")
        status, shown, report = run(str(model), words, capsys, tmp_path)
        assert status == 0, shown  # this much has room
        leave(512)
        words = ("-b", f"trt:name=trt,model={engine}", *OTHERS, "--input-shapes", f"x:[{rows},3]")
        status, shown, report = run(str(model), words, capsys, tmp_path)
        assert status == 3, shown
        assert "out of memory" in report["inference_results"]["trt"]["error"]
        assert "nvidia-smi" in shown
        assert others_agree(report)

    def test_no_room_for_building(self, leave, convolutions, tmp_path, capsys):
        leave(1)
        status, _, report = run(convolutions, ("-b", "trt", *OTHERS), capsys, tmp_path)
        assert status == 3
        assert "memory" in report["inference_results"]["trt"]["error"].lower()
        assert others_agree(report)


@pytest.fixture
def old_driver(tmp_path):
    """A folder whose CUDA driver says that it is an old one."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path / "driver"
    folder.mkdir()
    ctypes.CDLL("libcuda.so.1")
    mapped = Path("/proc/self/maps").read_text().splitlines()
    real = next(line.split()[-1] for line in mapped if "libcuda.so" in line)
    source = Path(__file__).with_name("old_driver.c")
    words = [compiler, "-shared", "-fPIC", "-o", folder / "libcuda.so.1", source, "-Wl,--no-as-needed", real, "-ldl"]
    subprocess.run(words, check=True)
    return folder


def test_a_driver_that_is_too_old(old_driver, convolutions, tmp_path):
    path = f"{old_driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    words = ["run", convolutions, "-b", "trt", *OTHERS, "--report", str(tmp_path / "report.json")]
    done = subprocess.run(
        [sys.executable, "-m", "polycmp", *words],
        check=False,
        env={**os.environ, "LD_LIBRARY_PATH": path},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "driver" in done.stderr
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert "CUDA" in report["inference_results"]["trt"]["error"]
    assert others_agree(report)
