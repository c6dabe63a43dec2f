"""Releases of a package that one of the backends runs on, each in an environment of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from polycmp.errors import PolycmpError, UsageError, did_you_mean
from polycmp_bisect.environments.answers import kept_releases
from polycmp_bisect.environments.errors import NotInstallableError
from polycmp_bisect.environments.making import Maker, Wanted, own_python
from polycmp_bisect.environments.own_packages import ours_for
from polycmp_bisect.environments.packages import (
    PYTHON,
    installed_release,
    pick_release,
    runtime_of,
    runtimes_of,
    wanted_for,
)

if TYPE_CHECKING:
    from polycmp.plan import BackendPlan, Plan
    from polycmp.plugins import Registry


@dataclass
class Releases:
    """Releases of a package, from old to new.

    Attributes:
        package: The package.
        names: The releases.
        pythons: The version of Python of each.
        base: The run, as the user asked for it.
        backend: The backend that runs on the package.
        module: The module to import.
        beside: Further packages that every environment has.
        registry: The plugins.
        maker: Makes environments.
    """

    package: str
    names: Sequence[str]
    pythons: Mapping[str, str]
    base: Plan
    backend: BackendPlan
    module: str
    beside: Sequence[str]
    registry: Registry
    maker: Maker

    @property
    def what(self) -> str:
        """Noun for one of them."""
        return f"release of {self.package}"

    @property
    def varied(self) -> str:
        """The label of the backend that runs on it."""
        return self.backend.label

    @property
    def runtime(self) -> str:
        """The package."""
        return self.package

    @property
    def first(self) -> int:
        """The place of the release that is installed here, else of the newest."""
        installed = installed_release(self.package)
        return self.names.index(installed) if installed in self.names else len(self.names) - 1

    def prepare(self, place: int) -> None:
        """Make the environment of a release."""
        self.interpreter(place)

    def interpreter(self, place: int) -> str:
        """Return the interpreter of a release's environment, which is made if need be."""
        return str(self.maker.environment(self._wanted(place), ours_for(self.registry, self.backend.backend)))

    def is_ready(self, place: int) -> bool:
        """Return whether the environment of a release is there."""
        return self.maker.has(self._wanted(place), ours_for(self.registry, self.backend.backend))

    def plan(self, place: int) -> Plan:
        """Return the run in which the backend has a release."""
        name = self.names[place]
        default, _ = runtime_of(self.registry, self.backend.backend)
        release = name if self.package == default else f"{self.package}=={name}"
        return self.with_version(version_text(release, self.beside, self.pythons[name]))

    def with_version(self, version: str) -> Plan:
        """Return the run in which the backend has an environment."""
        backends = tuple(
            replace(item, version=version) if item.label == self.backend.label else item for item in self.base.backends
        )
        return replace(self.base, backends=backends)

    def as_typed(self, place: int) -> Plan:
        """Return the run of a candidate."""
        return self.plan(place)

    def steps(self, place: int) -> Sequence[str]:
        """Return nothing: all files are there."""
        return ()

    def find(self, name: str) -> int:
        """Return the place of a release."""
        return place_of(name, self.names, self.package)

    def _wanted(self, place: int) -> Wanted:
        name = self.names[place]
        return wanted_for(name, self.package, self.module, self.beside, self.pythons[name])


def place_of(name: str, names: Sequence[str], package: str) -> int:
    """Return the place of the release that somebody names.

    Raises:
        UsageError: There is none.
    """
    try:
        return names.index(pick_release(name, names, package))
    except NotInstallableError as error:
        raise UsageError(error.what, why=error.why, hint=f"pip index versions {package}") from None


def version_text(release: str, beside: Sequence[str], python: str) -> str:
    """Return the value of `version=` that asks for an environment."""
    parts = [release, *beside, *([f"python=={python}"] if python != own_python() else [])]
    return release if len(parts) == 1 else f"[{','.join(parts)}]"


def open_releases(
    package: str,
    plan: Plan,
    registry: Registry,
    maker: Maker,
    *,
    listed: Sequence[str] = (),
    beside: Sequence[str] = (),
    pre: bool = False,
) -> Releases:
    """Return the releases of a package to search over.

    Args:
        package: The package's name.
        plan: The run that judges.
        registry: The plugins.
        maker: Makes environments.
        listed: The only releases to look at; empty for all that the package index has.
        beside: Further packages of every environment, `NAME==VERSION`.
        pre: Whether releases before the final ones count.

    Raises:
        UsageError: No backend of the plan runs on the package.
        UnreachableError: No package index answers.
    """
    package = canonicalize_name(package)
    backend, module = _backend_of(package, plan, registry)
    known = kept_releases(package, maker.find_links, pre=pre)
    if listed:
        names = list(dict.fromkeys(pick_release(item, list(known), package) for item in listed))
        known = {item: known[item] for item in known if item in names}
    return Releases(package, list(known), known, plan, backend, module, beside, registry, maker)


def _backend_of(package: str, plan: Plan, registry: Registry) -> tuple[BackendPlan, str]:
    """Return the first backend that runs on a package, and the module that it imports."""
    known: list[str] = []
    for item in plan.backends:
        try:
            runtimes = dict(runtimes_of(registry, item.backend))
        except PolycmpError:
            continue
        if package in runtimes and not item.python:
            return item, runtimes[package]
        known += runtimes
    raise UsageError(
        f"no backend of this run is driven by {package}",
        whose="--over",
        why=did_you_mean(package, [*known, PYTHON]),
        hint=f"-b with a backend on {package}, or after -- the command that makes MODEL with {package}",
    )
