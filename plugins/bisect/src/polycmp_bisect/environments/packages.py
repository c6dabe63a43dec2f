"""Package of a backend's runtime, and its release by the version that a user types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from polycmp.errors import PluginError, UsageError, did_you_mean
from polycmp.plugins import packages_of_modules
from polycmp_bisect.environments.errors import NotInstallableError, UnreachableError
from polycmp_bisect.environments.making import EnvironmentContents
from polycmp_bisect.environments.polycmp_packages import requirements_of
from polycmp_bisect.environments.tools import Installer, find_uv, interpreters, this_python

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: The name that stands for Python itself among packages.
PYTHON = "python"


def runtimes_of(registry: Registry, backend: str) -> list[tuple[str, str]]:
    """Return the packages that can be a backend's runtime, each with the module to import, those installed here first.

    Raises:
        PluginError: The backend is unknown, or does not say what drives it.
    """
    contribution = registry.find_runner(backend)
    # What it needs first drives it.
    modules = [name for item in contribution.spec.needs[:1] for name in item.split("|")]
    if not modules:
        raise PluginError(f"the backend {backend!r} does not say which package drives it", whose=contribution.label)
    installed = packages_of_modules({name.partition(".")[0] for name in modules})
    named = [canonicalize_name(item.name) for item in requirements_of([contribution.distribution])]
    ranked: list[tuple[int, str, str]] = []
    for module in modules:
        top = module.partition(".")[0]
        package = canonicalize_name(installed[top][0] if top in installed else top)
        ranked.append((0 if top in installed else 1 if package in named else 2, package, module))
    return [(package, module) for _, package, module in sorted(ranked, key=lambda item: item[0])]


def runtime_of(registry: Registry, backend: str) -> tuple[str, str]:
    """Return the package that is a backend's runtime here, and the module to import.

    Raises:
        PluginError: The backend is unknown, or does not say what drives it.
    """
    return runtimes_of(registry, backend)[0]


@dataclass(frozen=True)
class ReleaseRequest:
    """Request of a `version=` value.

    Attributes:
        package: The package of the runtime.
        release: Its release; empty for the one that is installed here.
        beside: Releases of further packages, `NAME==VERSION`.
        python: The version of Python; empty for any.
    """

    package: str
    release: str
    beside: tuple[str, ...]
    python: str


def parse_version(text: str, packages: Sequence[str]) -> ReleaseRequest:
    """Parse a `version=` value.

    Args:
        text: A release, alone or with what else shall be there: `1.20.1,onnx==1.16.0,python==3.10`.
        packages: The packages that can be the backend's runtime; the first one is meant where none is named.

    Raises:
        UsageError: A part is no release.
    """
    package, release, python, beside = packages[0], "", "", []
    for part in (item.strip() for item in text.strip("[] ").split(",")):
        name, equals, value = part.partition("==")
        if equals and canonicalize_name(name) == PYTHON:
            python = value
        elif equals and canonicalize_name(name) not in packages:
            beside.append(f"{canonicalize_name(name)}=={value}")
        elif release or not part:
            raise UsageError(f"{text!r} is no release of {package}", hint="version=1.20.1")
        else:
            package, release = (canonicalize_name(name), value) if equals else (package, name)
    return ReleaseRequest(package, release, tuple(beside), python)


def installed_release(package: str) -> str:
    """Return the release that is installed here; empty if none is."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def first_place(package: str, names: Sequence[str]) -> int:
    """Return the place of the installed release among releases from old to new, else that of the newest."""
    installed = installed_release(package)
    return names.index(installed) if installed in names else len(names) - 1


def held_release(text: str) -> str:
    """Return `NAME==VERSION` of a package that all environments have; a name alone means the release installed here.

    Raises:
        ValueError: That is no name of an installed package, and no release of one.
    """
    name, equals, version = (part.strip() for part in text.partition("=="))
    if name and equals and version:
        return f"{name}=={version}"
    if not name or equals or not (version := installed_release(name)):
        raise ValueError(
            f"{text!r} names no release: --with holds another package at one, as in --with onnx==1.16.0, "
            "or at the one that is installed here"
        )
    return f"{name}=={version}"


def in_order(releases: Sequence[str]) -> list[str]:
    """Return releases from old to new; what is no version of PEP 440 is left out."""
    return sorted((item for item in releases if _is_version(item)), key=Version)


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def known_releases(package: str, find_links: Sequence[str] = (), *, pre: bool = False) -> dict[str, str]:
    """Return the releases that can be installed here, from old to new, each with the version of Python for it.

    That is this process's Python where the release has it.

    Raises:
        UnreachableError: No package index answers.
    """
    from concurrent.futures import ThreadPoolExecutor

    installer = Installer(find_uv(), find_links)
    pythons = list(interpreters())
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda python: installer.versions(package, python, pre=pre), pythons))
    if all(item is None for item in answers):
        raise UnreachableError(
            f"no package index that pip knows has {package}, or none answers",
            hint=f"pip index versions {package}; --find-links DIR and --releases LIST for wheels on this machine",
        )
    pythons_of: dict[str, str] = {}
    for python, releases in zip(pythons, answers, strict=True):
        for item in releases or ():
            pythons_of.setdefault(item, python)
    return {item: pythons_of[item] for item in in_order(list(pythons_of))}


def pick_release(text: str, releases: Sequence[str], package: str) -> str:
    """Resolve a release: itself, the newest of a series ("1.20"), or "latest".

    Raises:
        NotInstallableError: There is none.
    """
    if text == "latest" and releases:
        return releases[-1]
    series = [item for item in releases if item == text or item.startswith(f"{text}.")]
    if text in series or not series:
        series = [item for item in series if item == text] or [item for item in releases if _equal(item, text)]
    if not series:
        raise NotInstallableError(
            f"there is no release {text} of {package} that can be installed here", why=did_you_mean(text, releases)
        )
    return series[-1]


def _equal(one: str, two: str) -> bool:
    return _is_version(one) and _is_version(two) and Version(one) == Version(two)


def contents_for(release: str, package: str, module: str, beside: Sequence[str], python: str) -> EnvironmentContents:
    """Return the environment of a release and of what else is asked for."""
    return EnvironmentContents((f"{package}=={release}", *beside), python or this_python(), (module,))
