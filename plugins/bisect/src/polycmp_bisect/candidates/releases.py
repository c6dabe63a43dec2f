"""Releases of a package that one of the backends runs on, each in an environment of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from polycmp.errors import PolycmpError, UsageError, did_you_mean
from polycmp.options import unique_label
from polycmp.plan import spec_texts
from polycmp_bisect.environments.answers import cached_releases
from polycmp_bisect.environments.errors import NotInstallableError
from polycmp_bisect.environments.making import EnvironmentContents, Maker
from polycmp_bisect.environments.packages import (
    PYTHON,
    contents_for,
    first_place,
    installed_release,
    parse_version,
    pick_release,
    runtime_of,
    runtimes_of,
)
from polycmp_bisect.environments.polycmp_packages import PolycmpPackages, polycmp_packages
from polycmp_bisect.environments.tools import this_python
from polycmp_bisect.judging import reference_backend, with_backend

if TYPE_CHECKING:
    from polycmp.plan import BackendPlan, Plan
    from polycmp.plugins import Registry


@dataclass
class ReleasesOfPackage:
    """Releases of a package, from old to new.

    Attributes:
        package: The package.
        names: The releases.
        pythons: The version of Python of each.
        base: The run, as the user asked for it.
    """

    package: str
    names: Sequence[str]
    pythons: Mapping[str, str]
    base: Plan

    @property
    def what(self) -> str:
        """Noun for one of them."""
        return f"release of {self.package}"

    @property
    def first(self) -> int:
        """The place of the release that is installed here, else of the newest."""
        return first_place(self.package, self.names)

    def find(self, name: str) -> int:
        """Return the place of a release.

        Raises:
            UsageError: There is none.
        """
        try:
            return self.names.index(pick_release(name, self.names, self.package))
        except NotInstallableError as error:
            raise UsageError(error.what, why=error.why, hint=f"pip index versions {self.package}") from None


@dataclass
class Releases(ReleasesOfPackage):
    """Releases of the package that one backend runs on.

    Attributes:
        backend: The backend that runs on the package.
        module: The module to import.
        beside: Further packages that every environment has.
        registry: The plugins.
        maker: Makes environments.
        named: The release that `version=` of the backend names; empty for none.
    """

    backend: BackendPlan
    module: str
    beside: Sequence[str]
    registry: Registry
    maker: Maker
    named: str = ""

    @property
    def varied(self) -> str:
        """The label of the backend that runs on it."""
        return self.backend.label

    @property
    def runtime(self) -> str:
        """The package."""
        return self.package

    def prepare(self, place: int) -> None:
        """Create the environment of a release."""
        self.interpreter(place)

    def interpreter(self, place: int) -> str:
        """Return the interpreter of a release's environment, which is made if it is missing."""
        return str(self.maker.environment(self._contents(place), self._polycmp_packages))

    def is_ready(self, place: int) -> bool:
        """Return whether the environment of a release exists."""
        return self.maker.has(self._contents(place), self._polycmp_packages)

    @cached_property
    def _polycmp_packages(self) -> PolycmpPackages:
        """The packages of polycmp that every environment has."""
        return polycmp_packages(self.registry, self.backend.backend)

    def plan(self, place: int) -> Plan:
        """Return the plan with the backend pinned to a release."""
        name = self.names[place]
        default, _ = runtime_of(self.registry, self.backend.backend)
        release = name if self.package == default else f"{self.package}=={name}"
        return self.with_environment(place, version_text(release, self.beside, self.pythons[name]))

    def with_environment(self, place: int, version: str) -> Plan:
        """Return the plan with the backend in the environment of a candidate.

        It is named by its interpreter where its packages are not those that the index has under this version.
        """
        if self.maker.find_links:
            backend = replace(self.backend, python=self.interpreter(place))
        else:
            backend = replace(self.backend, version=version)
        return with_backend(self.base, backend)

    def is_reference(self, place: int) -> bool:
        """Return whether the reference is the same backend, with the release of a candidate."""
        reference = self._reference()
        if reference is None or reference.python or self.maker.find_links:
            return False
        packages = [package for package, _ in runtimes_of(self.registry, reference.backend)]
        version = reference.version or installed_release(self.package)
        if not version:  # there is none here: it cannot run
            return False
        asked = parse_version(version, packages)
        is_alike = (asked.package, asked.beside) == (self.package, tuple(self.beside))
        return is_alike and self._is_same(place, asked.release, asked.python)

    def _is_same(self, place: int, release: str, python: str) -> bool:
        """Return whether a candidate is a release on a version of Python, where the text of either may be left out."""
        return self.names[place] == release and python in {"", self.pythons[self.names[place]]}

    def _reference(self) -> BackendPlan | None:
        """Return the backend that judges, if it is the candidate's own with the same model and options."""
        reference = reference_backend(self.base)
        if reference is None or reference.label == self.backend.label:
            return None
        candidate = self.backend
        candidate_parts = (candidate.backend, candidate.model, candidate.options)
        return reference if (reference.backend, reference.model, reference.options) == candidate_parts else None

    def as_typed(self, place: int) -> Plan:
        """Return the run of a candidate."""
        return self.plan(place)

    def steps(self, place: int) -> Sequence[str]:
        """Return no steps: no file has to be written."""
        return ()

    def _contents(self, place: int) -> EnvironmentContents:
        name = self.names[place]
        return contents_for(name, self.package, self.module, self.beside, self.pythons[name])


def version_text(release: str, beside: Sequence[str], python: str) -> str:
    """Return the value of `version=` that names an environment."""
    parts = [release, *beside, *([f"python=={python}"] if python != this_python() else [])]
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
    plan, backend, named = without_version(plan, backend, package, registry)
    known = chosen_releases(package, maker, listed, pre=pre)
    return Releases(package, list(known), known, plan, backend, module, beside, registry, maker, named)


def chosen_releases(package: str, maker: Maker, listed: Sequence[str], *, pre: bool) -> dict[str, str]:
    """Return the releases to look at, from old to new, each with the version of Python for it.

    Raises:
        NotInstallableError: One that is listed is not there.
        UnreachableError: No package index answers.
    """
    known = cached_releases(package, maker.find_links, pre=pre)
    names = {pick_release(item, list(known), package) for item in listed}
    return {item: python for item, python in known.items() if item in names or not listed}


def without_version(
    plan: Plan, backend: BackendPlan, package: str, registry: Registry
) -> tuple[Plan, BackendPlan, str]:
    """Remove the candidate's `version=` from a plan; return the plan, the candidate and its former release.

    Raises:
        UsageError: It names more than a release of the package that is searched.
    """
    if not backend.version:
        return plan, backend, ""
    asked = parse_version(backend.version, [item for item, _ in runtimes_of(registry, backend.backend)])
    further = [*(f"--with {item}" for item in asked.beside), *([f"{PYTHON}=={asked.python}"] if asked.python else [])]
    if further or asked.package != package:
        raise UsageError(
            f"version={backend.version} names more than a release of {package}",
            whose=f"-b {backend.label}",
            why=", ".join(further) if further else f"it is one of {asked.package}",
            hint=f"leave it out, and add --bad {asked.release or 'RELEASE'}"
            + "".join(f" --with {item}" for item in asked.beside),
        )
    others = [item.label for item in plan.backends if item.label != backend.label]
    bare = replace(backend, version="")
    if spec_texts([backend]) == [backend.label]:  # nobody gave it a name, so it is called after what it is
        bare = replace(bare, label=unique_label(backend.backend, others))
    judged_by = bare.label if plan.compare.reference == backend.label else plan.compare.reference
    backends = tuple(bare if item.label == backend.label else item for item in plan.backends)
    return replace(plan, backends=backends, compare=replace(plan.compare, reference=judged_by)), bare, asked.release


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
