"""Makes environments with one old release each, which see the packages of this tree and what those need.

A release is installed alone, without its dependencies; numpy, onnx and the rest come from one environment per version
of Python and series of numpy, so that an environment more takes the space of one package.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Where environments are kept; they are never changed once they are made.
FOLDER = Path(os.environ.get("HISTORY_ENVS", ROOT / ".cache" / "truth-history"))
#: The parts of this tree that a worker needs, or a suite that runs there.
_OURS = (
    *("core", "plugins/bisect", "plugins/checks", "plugins/locate", "plugins/onnx", "plugins/onnxrt"),
    *("plugins/openvino", "plugins/report", "plugins/samples", "plugins/suite", "plugins/tf", "plugins/torch"),
)
#: What these need, and what released tools import.
_SHARED = (
    *("click", "editables", "hatchling", "ml_dtypes", "onnx==1.19.1", "packaging", "pluggy", "rich"),
    *("tomli", "tomli-w", "tomlkit", "protobuf<6", "flatbuffers", "coloredlogs", "sympy", "typing_extensions"),
    *("filelock", "fsspec", "jinja2", "networkx", "setuptools"),
)
_SECONDS = 900
#: Characters of the name of an environment's folder.
_LONGEST = 200


@dataclass(frozen=True)
class Environment:
    """What an environment has.

    Attributes:
        packages: What pip is asked for, without dependencies, such as "onnxruntime==1.16.3".
        python: The version of Python, such as "3.10".
        numpy: What pip is asked for as numpy.
    """

    packages: tuple[str, ...]
    python: str = "3.10"
    numpy: str = "numpy<2"

    @property
    def folder(self) -> Path:
        """Where it is, by what it has, or by a digest of that where it would be too long for a file system."""
        name = "-".join(item.replace("==", "-").replace("/", "_") for item in (*self.packages, f"py{self.python}"))
        if len(name) > _LONGEST:
            name = f"{self.packages[0].replace('==', '-')}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        return FOLDER / name

    @property
    def interpreter(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"


class NotMadeError(Exception):
    """An environment cannot be made here: the interpreter or the release is not to be had."""


def make(environment: Environment) -> Path:
    """Make an environment unless it is there, and return its interpreter.

    Raises:
        NotMadeError: The interpreter or the release is not to be had here.
    """
    shared = _make_shared(environment.python, environment.numpy)
    folder = environment.folder
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run_making([str(interpreter_of(environment.python)), "-m", "venv", "--without-pip", str(folder)])
        site = f"import site; site.addsitedir({str(_site(shared, environment.python))!r})\n"
        (_site(folder, environment.python) / "zz_shared.pth").write_text(site, "utf-8")
        _pip(shared, environment.interpreter, "--no-deps", "--only-binary", ":all:", *environment.packages)
        (folder / "made").touch()
    return environment.interpreter


def _make_shared(python: str, numpy: str) -> Path:
    """Return the environment that has what all need, made if it is not there."""
    wanted = (numpy, *_SHARED, *_OURS, str(ROOT))
    folder = FOLDER / f"shared-py{python}-{hashlib.sha256(repr(wanted).encode()).hexdigest()[:8]}"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run_making([str(interpreter_of(python)), "-m", "venv", str(folder)])
        interpreter = folder / "bin" / "python"
        _pip(folder, interpreter, numpy, *_SHARED)
        ours = [word for part in _OURS for word in ("-e", str(ROOT / part))]
        _pip(folder, interpreter, "--no-deps", "--no-build-isolation", *ours)
        (folder / "made").touch()
    return folder


def _site(folder: Path, python: str) -> Path:
    return folder / "lib" / f"python{python}" / "site-packages"


def interpreter_of(python: str) -> Path:
    """Return an interpreter of a version of Python.

    Raises:
        NotMadeError: There is none here.
    """
    if sys.version_info[:2] == tuple(int(part) for part in python.split(".")):
        return Path(getattr(sys, "_base_executable", sys.executable))
    kept = sorted(Path.home().glob(f".pyenv/versions/{python}.*/bin/python"))
    found = shutil.which(f"python{python}")
    if not kept and found is None:
        raise NotMadeError(f"there is no Python {python} here")
    return kept[-1] if kept else Path(str(found))


def _pip(shared: Path, interpreter: Path, *words: str) -> None:
    pip = [str(shared / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--python", str(interpreter)]
    run_making([*pip, "install", "--quiet", *words])


def run_making(words: list[str], seconds: float = _SECONDS) -> str:
    """Run a command that makes an environment, and return what it printed.

    Raises:
        NotMadeError: It failed, or took longer.
    """
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotMadeError(f"{' '.join(words)} took longer than {seconds} s") from error
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise NotMadeError(f"{' '.join(words)}: {lines[-1] if lines else done.returncode}")
    return done.stdout.strip()
