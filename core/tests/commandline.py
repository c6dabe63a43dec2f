"""What tests on the toy box share, the core's and those of plugins: an environment with little else, a command line."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

import pytest
from in_process import look_anew, plugins_installed
from packaging.requirements import Requirement
from toymodels import small

HERE = Path(__file__).parent
ALONE, TOYDIST = HERE / "alone", HERE / "toydist"
if str(HERE) not in sys.path:
    sys.path.append(str(HERE))


def before_on_path(monkeypatch, folder):
    """Put a folder in front of the path of the Python processes that tests start."""
    rest = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *([rest] if rest else [])]))


@contextmanager
def core_alone_with(*packages, beside=()):
    """Hide ONNX, ONNX Runtime and our plugins but for some packages, here and in every process that is started.

    Those packages have what they require among them, as pip would see to: otherwise what earlier tests of the same
    process have imported decides whether they work.

    Args:
        packages: What the tests are of.
        beside: What some of them need, too, and find where it is installed.
    """
    from absent import BESIDE, Absence

    for package in packages:
        pytest.importorskip(package)
    packages = (*packages, *(package for package in beside if find_spec(package) is not None))
    lacking = {(package, name) for package in packages for name in ours_required_by(package) if name not in packages}
    assert not lacking, f"required by packages that stay, but hidden: {sorted(lacking)}"

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv(BESIDE, " ".join(packages))
        absence = Absence()
        absence.begin()
        look_anew()
        before_on_path(monkeypatch, ALONE)
        monkeypatch.delenv("POLYCMP_PLUGINS", raising=False)
        monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
        yield
        absence.end()
        look_anew()


def ours_required_by(package):
    """Return our packages that one of them cannot do without, beside the core."""
    for line in requires(package) or ():
        requirement = Requirement(line)
        if requirement.name.startswith("polycmp-") and requirement.marker is None:
            yield requirement.name.replace("-", "_")


@dataclass(frozen=True)
class Done:
    """What a command left behind.

    Attributes:
        status: Its exit status.
        out: What it printed.
        err: What it said.
        folder: Where it ran.
    """

    status: int
    out: str
    err: str
    folder: Path

    @property
    def words(self):
        """What it printed, without the line breaks of a narrow terminal."""
        return " ".join(self.out.split())

    def report(self, name="r.json"):
        """Return a report that it wrote."""
        return json.loads((self.folder / name).read_text())


@pytest.fixture(autouse=True, scope="session")
def signals_as_a_terminal_has_them():
    """Let commands that tests start be ended by Ctrl-C and SIGHUP, also where `nohup` or a CI system ignores them."""
    for name, handler in (("SIGHUP", signal.SIG_DFL), ("SIGINT", signal.default_int_handler)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture
def toybox(monkeypatch):
    """Let this process, and those it starts, find the distribution `toybox`."""
    monkeypatch.syspath_prepend(str(TOYDIST))
    before_on_path(monkeypatch, TOYDIST)
    return TOYDIST


@pytest.fixture
def polycmp(toybox, capfd, monkeypatch, tmp_path):
    """Run `polycmp` as a process of its own would, in this one, in an empty folder, with the toy box installed."""
    from polycmp.cli.main import run as run_command

    monkeypatch.chdir(tmp_path)

    def run(*words):
        capfd.readouterr()
        typed = [str(word) for word in words]
        monkeypatch.setattr(sys, "argv", ["polycmp", *typed])
        status = run_command(typed, plugins_installed())
        captured = capfd.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Done(status, captured.out, captured.err, tmp_path)

    return run


@pytest.fixture
def model(tmp_path):
    """Write the small model; return its path."""
    return small(tmp_path / "m.toy")


@pytest.fixture
def run(polycmp, model):
    """Run the small model; return what was printed, and the report."""

    def go(*words):
        done = polycmp("run", "m.toy", *words, "--report", "r.json")
        return done, done.report()

    return go
