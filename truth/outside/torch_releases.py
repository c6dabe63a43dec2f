"""Releases of PyTorch built for CPUs alone: from the index, where it offers such a build, and from Debian.

The builds of older releases on the index need gigabytes of CUDA. Debian builds each of its releases' PyTorch without
it; a folder with such a system is made by `mmdebstrap` and entered with `chroot`, which both need root.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from truth.history.environments import FOLDER, ROOT, Environment, NotMadeError, make, run_making

_CASES = Path("truth", "outside", "torch_compile_cases")
_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
#: What of this tree is installed there.
_OURS = (
    *("core", "plugins/samples", "plugins/torch", "plugins/checks", "plugins/bisect", "plugins/locate"),
    "plugins/onnx",
)
_PACKAGES = (
    *("ca-certificates", "g++", "libsleef-dev", "libtorch-dev", "python3-dev", "python3-setuptools"),
    *("python3-torch", "python3-venv"),
)
#: What pip installs there beside them.
_OTHERS = ("click", "editables", "hatchling", "ml_dtypes", "onnx", "packaging", "pluggy", "rich", "tomli-w")
#: Inductor's compiler is not told of this library, to which Debian's build links.
_SLEEF = "/usr/lib/x86_64-linux-gnu/libsleef.so.3"
_MAKING = 1800


class Release(Protocol):
    """A release of PyTorch, in which a script of this folder can be run."""

    @property
    def name(self) -> str:
        """The release."""

    def make(self) -> None:
        """Install it.

        Raises:
            NotMadeError: It is not to be had here.
        """

    def run(self, script: str, text: str, seconds: float) -> list[dict[str, Any]]:
        """Run a script in the folder of the cases, and return the lines of JSON that it printed before it ended."""

    def remove(self) -> None:
        """Remove it."""


@dataclass(frozen=True)
class FromIndex:
    """A release whose build for CPUs the index offers."""

    name: str

    @property
    def _environment(self) -> Environment:
        return Environment((f"torch=={self.name}",), _PYTHON, "numpy>=2")

    def make(self) -> None:
        """Install it without what it depends on, so that a build for CUDA brings no gigabytes."""
        run_making([str(make(self._environment)), "-c", "import torch"], _MAKING)

    def run(self, script: str, text: str, seconds: float) -> list[dict[str, Any]]:
        """Run a script in the folder of the cases."""
        words = [str(self._environment.interpreter), str(ROOT / "truth" / "outside" / script), "."]
        return _lines(words, text, seconds, ROOT / _CASES, {})

    def remove(self) -> None:
        """Remove its environment."""
        shutil.rmtree(self._environment.folder, ignore_errors=True)


@dataclass(frozen=True)
class FromDebian:
    """The release that a release of Debian has, in a folder of its own."""

    name: str
    suite: str

    @property
    def folder(self) -> Path:
        """Where the system is."""
        return FOLDER / f"debian-{self.suite}"

    def make(self) -> None:
        """Make the system with `mmdebstrap`, and install polycmp there from this tree."""
        if shutil.which("mmdebstrap") is None or os.geteuid():
            raise NotMadeError("it takes mmdebstrap, and root")
        if not (self.folder / "made").exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            FOLDER.mkdir(parents=True, exist_ok=True)
            words = ["mmdebstrap", "--mode=root", "--variant=minbase", f"--include={','.join(_PACKAGES)}"]
            run_making([*words, self.suite, str(self.folder)], _MAKING)
            for name in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
                shutil.copy(Path("/", name), self.folder / name)
            run_making(self._entered("python3 -m venv --system-site-packages /opt/polycmp"), _MAKING)
            run_making(self._entered(f"/opt/polycmp/bin/pip install --quiet {' '.join(_OTHERS)}"), _MAKING)
        self._copy()
        if not (self.folder / "made").exists():
            ours = " ".join(f"-e /tree/{part}" for part in _OURS)
            run_making(
                self._entered(f"/opt/polycmp/bin/pip install --quiet --no-deps --no-build-isolation {ours}"), _MAKING
            )
            (self.folder / "made").touch()
        found = run_making(self._entered("python3 -c 'import torch; print(torch.__version__)'"), _MAKING).partition(
            "+"
        )[0]
        if found != self.name:
            raise NotMadeError(f"Debian {self.suite} has PyTorch {found}")

    def _copy(self) -> None:
        for part in (*_OURS, "truth/outside"):
            target = self.folder / "tree" / part
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(ROOT / part, target, ignore=shutil.ignore_patterns("__pycache__", "tests", "dist", "build"))

    def _entered(self, command: str) -> list[str]:
        """Return the words that run a command there, with a /proc that goes with the command."""
        script = 'mount -t proc proc "$0/proc" && exec chroot "$0" sh -c "$1"'
        return ["unshare", "--mount", "--", "sh", "-c", script, str(self.folder), command]

    def run(self, script: str, text: str, seconds: float) -> list[dict[str, Any]]:
        """Run a script in the folder of the cases."""
        command = (
            f"cd /tree/{_CASES} && LD_PRELOAD={_SLEEF} exec /opt/polycmp/bin/python /tree/truth/outside/{script} ."
        )
        return _lines(self._entered(command), text, seconds, ROOT, {})

    def remove(self) -> None:
        """Remove the folder; nothing is mounted in it but while a command runs."""
        shutil.rmtree(self.folder, ignore_errors=True)


#: Debian 13, and the release that CI has.
RELEASES: tuple[Release, ...] = (FromDebian("2.6.0", "trixie"), FromIndex("2.13.0"))


def _lines(words: list[str], text: str, seconds: float, cwd: Path, more: Mapping[str, str]) -> list[dict[str, Any]]:
    environ = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1", **more}
    try:
        done = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=seconds, cwd=cwd, env=environ, check=False
        )
        printed = done.stdout
    except subprocess.TimeoutExpired as error:
        printed = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
    return [json.loads(line) for line in printed.splitlines() if line.startswith('{"')]
