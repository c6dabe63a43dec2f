"""Versions of Python, with the release of a backend's runtime that is installed here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polycmp.errors import UsageError, did_you_mean
from polycmp_bisect.candidates.releases import Releases, without_version
from polycmp_bisect.environments.making import EnvironmentContents
from polycmp_bisect.environments.packages import PYTHON, contents_for, in_order, installed_release, runtime_of
from polycmp_bisect.environments.tools import interpreters, this_python

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry
    from polycmp_bisect.environments.making import Maker


@dataclass
class Pythons(Releases):
    """Versions of Python that are installed on this machine, from old to new.

    Attributes:
        release: The release of the backend's runtime.
    """

    release: str = ""

    @property
    def what(self) -> str:
        """Noun for one of them."""
        return "version of Python"

    @property
    def first(self) -> int:
        """The place of this process's version."""
        return self.names.index(this_python())

    def plan(self, place: int) -> Plan:
        """Return the plan with the backend on a version of Python."""
        version = ",".join([self.release, *self.beside, f"{PYTHON}=={self.names[place]}"])
        return self.with_environment(place, version)

    def _is_same(self, place: int, release: str, python: str) -> bool:
        """Return whether a candidate is a release on a version of Python."""
        return self.release == release and self.names[place] == (python or this_python())

    def find(self, name: str) -> int:
        """Return the place of a version."""
        if name not in self.names:
            raise UsageError(f"there is no Python {name} here that polycmp runs on", why=did_you_mean(name, self.names))
        return self.names.index(name)

    def _contents(self, place: int) -> EnvironmentContents:
        return contents_for(self.release, self.package, self.module, self.beside, self.names[place])


def open_pythons(plan: Plan, registry: Registry, maker: Maker, beside: tuple[str, ...] = ()) -> Pythons:
    """Return the versions of Python to search over, for the first backend of a plan."""
    backend = replace(plan.backends[0])
    package, module = runtime_of(registry, backend.backend)
    plan, backend, named_release = without_version(plan, backend, package, registry)
    release = named_release or installed_release(package)
    if not release:
        raise UsageError(f"{package} is not installed here, so there is no release to run on each Python")
    names = in_order(list(interpreters()))
    return Pythons(
        package, names, {name: name for name in names}, plan, backend, module, beside, registry, maker, release=release
    )
