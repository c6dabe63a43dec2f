"""Environments of releases: made once, made anew where they are half made, damaged or of other wheels."""

from __future__ import annotations

import shlex

import pytest
from releases import RUNTIMES, write_wheel

from polycmp_bisect.environments.cache import Cache
from polycmp_bisect.environments.tools import Done, find_uv


@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.corpus)])
def test_what_is_half_made_is_made_anew(place, monkeypatch, installer):
    if installer == "pip":
        monkeypatch.setattr("polycmp_bisect.environments.making.find_uv", str)  # as where uv is not installed
    elif not find_uv():
        pytest.skip("uv is not installed: pip makes the environments of all tests")
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    words = ("--good", "1.0", "--bad", "1.2")
    assert place.over_toyconv(*words)[0].returncode == 1
    [folder] = (path for path in place.environments.glob("toyconv-1.2-*") if path.is_dir())
    (folder / "complete.json").unlink()  # as after a power cut
    (folder / "bin" / "toyconv").unlink()
    listed = place.polycmp("cache", "list")
    assert f"{folder.name}  not made to the end: removed when it is needed" in listed.stdout
    done, report = place.over_toyconv(*words)
    assert (done.returncode, report["first_bad"], report["prepared"]) == (1, "1.2", 1), done.stderr
    assert "not made to the end" not in place.polycmp("cache", "list").stdout


class TestFindLinks:
    @pytest.fixture
    def wheels(self, place, monkeypatch):
        """A folder of nightly wheels; their releases are in no index."""
        folder = place.root / "nightly"
        folder.mkdir()

        def build(first_bad: float) -> str:
            for version in ("3.0", "3.1", "3.2"):
                kind = "bad" if float(version) >= first_bad else "good"
                write_wheel(folder, "toyrt", version, f"__version__ = {version!r}\n{RUNTIMES[kind]}")
            return str(folder)

        return build

    WORDS = ("--releases", "3.0", "3.1", "3.2", "--bad", "3.2", "--good", "3.0")

    @pytest.mark.corpus
    @pytest.mark.parametrize("tool", ["uv", "pip"])
    def test_wheels_that_were_built_anew_are_judged_anew(self, place, wheels, monkeypatch, tool):
        if tool == "pip":
            monkeypatch.setattr("polycmp_bisect.environments.making.find_uv", lambda: "")
        elif not find_uv():
            pytest.skip("uv is not installed: pip makes the environments of all tests")
        for first_bad in (3.2, 3.1):
            folder = wheels(first_bad)
            done, report = place.over_toyrt("--find-links", folder, *self.WORDS)
            assert (done.returncode, report["first_bad"]) == (1, str(first_bad)), done.stdout + done.stderr
        again, _ = place.over_toyrt("--find-links", folder, *self.WORDS)
        assert "environment" not in again.stdout  # none had to be made: they are what they were

    @pytest.mark.corpus  # another test types the next command, of an index
    def test_what_is_to_be_typed_next_runs_those_wheels_and_nobody_who_does_not_name_them(self, place, wheels):
        words = ("--over", "toyrt", "--find-links", wheels(3.2), *self.WORDS)
        done = place.polycmp("bisect", "m.onnx", "-b", "toy", "-b", "onnx", *words)
        assert done.returncode == 1, done.stdout + done.stderr
        (line,) = (line.partition("next: polycmp ")[2] for line in done.stdout.splitlines() if "next: " in line)
        assert place.polycmp("run", *shlex.split(line)[1:]).returncode == 1
        assert "toyrt-3.2" in place.made()
        done = place.polycmp("run", "m.onnx", "-b", "toy:version=3.2", "-b", "onnx")
        assert done.returncode == 3
        assert "there is no release 3.2 of toyrt" in done.stdout + done.stderr


def ran(place, *words):
    """Run a command as a process, whose hold on environments ends with it."""
    process = place.start(*words)
    out, err = process.communicate()
    return Done(process.returncode, out + err)


@pytest.mark.corpus  # a view that is damaged, and one that is half made, are made anew in the same way
@pytest.mark.parametrize("lost", ["lib/python*/site-packages/toyrt/__init__.py", "bin/python", "complete.json"])
def test_a_damaged_environment_is_made_anew(place, monkeypatch, lost):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    words = ("run", "m.onnx", "-b", "toy:version=1.4", "-b", "onnx")
    assert ran(place, *words).status == 1
    for path in place.environments.glob(f"toyrt-1.4-*/{lost}"):
        path.unlink()
    done = ran(place, *words)
    assert (done.status, "installing toyrt 1.4" in done.text) == (1, True), done.text
    done = ran(place, *words)
    assert (done.status, "installing toyrt 1.4" in done.text) == (1, False), done.text


@pytest.mark.corpus
def test_a_damaged_environment_that_is_in_use_is_not_waited_for(place, monkeypatch):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    words = ("run", "m.onnx", "-b", "toy:version=1.4", "-b", "onnx")
    assert ran(place, *words).status == 1
    (base,) = (path for path in place.environments.glob("toyrt-1.4-*") if path.is_dir())
    (base / "bin" / "python").unlink()
    with Cache().use(base.name):
        done = ran(place, *words)
    assert done.status == 3
    assert f"polycmp cache remove {base.name}" in done.text


@pytest.mark.corpus  # as what is half made
def test_a_damaged_view_is_made_anew(place, monkeypatch):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    words = ("run", "m.onnx", "-b", "toy:version=1.4", "-b", "onnx")
    assert place.polycmp(*words).returncode == 1
    for path in place.environments.glob("toyrt-1.4-*/polycmp/*/bin/python"):
        path.unlink()
    assert place.polycmp(*words).returncode == 1
