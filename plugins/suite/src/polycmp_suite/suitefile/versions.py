"""Releases that a case runs with, read without importing anything: another release may give another result."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.plugins import packages_of_modules

if TYPE_CHECKING:
    from polycmp.plan import BackendPlan
    from polycmp.plugins import Registry


class Versions:
    """Finds the releases that backends run on.

    Args:
        registry: The plugins.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._elsewhere: dict[str, tuple[str, ...]] = {}

    def of(self, backend: BackendPlan) -> Iterator[str]:
        """Yield names and versions of the packages that a backend is made of.

        Of a backend in another environment these are all packages there, of one on another machine the machine.
        """
        if backend.is_remote:
            yield backend.python
            return
        if backend.python:
            if backend.python not in self._elsewhere:
                self._elsewhere[backend.python] = tuple(_installed_beside(backend.python))
            yield from self._elsewhere[backend.python]
            return
        if backend.version:
            yield f"version={backend.version}"
        contribution = self._registry.find_runner(backend.backend)
        yield f"{contribution.distribution} {contribution.version}"
        for module in contribution.spec.needs:
            for name in self._packages.get(module.partition(".")[0], ()):
                with suppress(importlib.metadata.PackageNotFoundError):
                    yield f"{name} {importlib.metadata.version(name)}"

    @cached_property
    def _packages(self) -> Mapping[str, Sequence[str]]:
        """Names of the packages that bring what backends need, by top-level module."""
        needs = {module for runner in self._registry.runners.values() for module in runner.spec.needs}
        return packages_of_modules({module.partition(".")[0] for module in needs})


def _installed_beside(python: str) -> Iterator[str]:
    """Yield the metadata folders' names of the packages installed in an interpreter's environment."""
    prefix = Path(python).absolute().parent.parent
    yield from sorted(path.name for path in prefix.glob("lib*/python*/site-packages/*.dist-info"))
