"""The environments of `-b NAME:version=VERSION`."""

from __future__ import annotations


def test_a_release_is_an_ordinary_way_to_name_a_backend_and_its_environment_is_made_once(place):
    words = ("run", "m.onnx", "-b", "toy:version=1.4", "-b", "toy:version=1.1", "-b", "onnx")
    done = place.polycmp(*words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "toy:version=1.4" in done.stdout
    before = {path: path.stat().st_mtime_ns for path in place.environments.glob("*/bin/python")}
    assert len(before) >= 2
    assert place.polycmp(*words[:4], "-b", "onnx").returncode == 1
    assert {path: path.stat().st_mtime_ns for path in place.environments.glob("*/bin/python")} == before


def test_a_release_that_cannot_be_had_is_the_failure_of_its_backend(place):
    done = place.polycmp("run", "m.onnx", "-b", "toy:version=1.3", "-b", "onnx")
    assert done.returncode == 3
    assert "toyrt 1.3 cannot be imported" in done.stdout + done.stderr
    assert "no kernel for this processor" in done.stdout + done.stderr
    assert "toyrt-1.3" not in place.made()


def test_the_latest_release_is_a_final_one(place):
    place.polycmp("run", "m.onnx", "-b", "toy:version=latest", "-b", "onnx")
    assert "toyrt-2.0" in place.made()
