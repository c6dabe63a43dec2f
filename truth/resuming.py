"""Doing many things in several processes, and going on after a stop where it was."""

from __future__ import annotations

import hashlib
import pickle
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from functools import cached_property
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, TypeVar

Made = TypeVar("Made")
#: So often processes may die before that is an error.
_MOST_BROKEN = 4
_ROOT = Path(__file__).parents[1]


class Kept:
    """What was done already, in files of a folder; only this program writes there.

    It is forgotten as soon as a source file of this repository, or a package that is installed, is another one.

    Args:
        folder: Where the files are.
        again: Whether to forget everything.
    """

    def __init__(self, folder: Path, *, again: bool = False) -> None:
        self._root = folder
        if again:
            shutil.rmtree(folder, ignore_errors=True)

    @cached_property
    def _folder(self) -> Path:
        known = hashlib.sha256()
        for path in sorted([*_ROOT.glob("core/src/**/*.py"), *_ROOT.glob("plugins/*/src/**/*.py"),
                            *_ROOT.glob("truth/**/*.py")]):  # fmt: skip
            known.update(str(path.relative_to(_ROOT)).encode() + path.read_bytes())
        known.update(repr(sorted(f"{item.name} {item.version}" for item in distributions())).encode())
        folder = self._root / known.hexdigest()[:16]
        for other in self._root.glob("*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def has(self, function: Callable[[str], Any], name: str) -> bool:
        """Return whether something was done."""
        return self._path(function, name).exists()

    def get(self, function: Callable[[str], Made], name: str) -> Made:
        """Return what was made of a name."""
        made: Made = pickle.loads(self._path(function, name).read_bytes())
        return made

    def put(self, function: Callable[[str], Made], name: str, made: Made) -> None:
        """Keep what was made of a name."""
        path = self._path(function, name)
        new = path.with_suffix(".new")
        new.write_bytes(pickle.dumps(made))
        new.replace(path)

    def _path(self, function: Callable[[str], Any], name: str) -> Path:
        return self._folder / hashlib.sha256(f"{function.__qualname__} {name}".encode()).hexdigest()[:24]


def each(function: Callable[[str], Made], names: Sequence[str], kept: Kept, processes: int) -> Iterator[Made]:
    """Yield what a function makes of each name: first what was kept, then each as soon as it is made.

    Args:
        function: A function of a module, which other processes can import.
        names: What to call it with.
        kept: What was made before; new ones are added.
        processes: How many processes to use.
    """
    left = []
    for name in names:
        if kept.has(function, name):
            yield kept.get(function, name)
        else:
            left.append(name)
    broken = 0
    while left:
        try:
            for name, made in _in_processes(function, left, processes):
                kept.put(function, name, made)
                left.remove(name)
                yield made
        except BrokenExecutor:  # noqa: PERF203 - a process died: what it was at, and what was left, is tried again
            broken += 1
            if broken == _MOST_BROKEN:
                raise


def _in_processes(
    function: Callable[[str], Made], names: Sequence[str], processes: int
) -> Generator[tuple[str, Made], None, None]:
    """Yield each name with what was made of it as soon as it is."""
    from multiprocessing import get_context

    with ProcessPoolExecutor(max(1, min(processes, len(names))), mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(function, name): name for name in names}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)
