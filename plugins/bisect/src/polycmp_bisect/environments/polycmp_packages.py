"""Packages of polycmp that an environment needs: those installed here, linked into it, and what those require."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from polycmp.errors import PluginError

if TYPE_CHECKING:
    from polycmp.plugins import Registry

_CORE = "polycmp"


@dataclass(frozen=True)
class PolycmpPackages:
    """The packages of polycmp and of one backend's plugin, as they are installed here.

    Attributes:
        places: The folders and files to link, by the name that they have among installed packages.
        requirements: Packages of others that they need.
    """

    places: Mapping[str, Path]
    requirements: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A short name for the places."""
        return hashlib.sha256(repr(sorted(self.places.items())).encode()).hexdigest()[:8]


def polycmp_packages(registry: Registry, backend: str) -> PolycmpPackages:
    """Return the packages that an environment needs to run a backend.

    Raises:
        PluginError: The backend is unknown, or its package cannot be found on the disk.
    """
    runner = registry.find_runner(backend)
    # Whoever makes the kinds of model that the backend takes, though its own package may not require that.
    loaders = [item for item in registry.loaders.values() if (item.spec.produces or item.name) in runner.spec.accepts]
    named = dict.fromkeys([_CORE, runner.distribution, *(item.distribution for item in loaders)])
    names = _closure(name for name in named if name)
    needed: dict[str, None] = {}
    places: dict[str, Path] = {}
    for name in names:
        package = metadata.distribution(name)
        places.update(_places(package))
        for text in package.requires or ():
            requirement = Requirement(text)
            if canonicalize_name(requirement.name) not in names and not _is_of_an_extra(requirement):
                needed.setdefault(text)
    return PolycmpPackages(places, tuple(needed))


def requirements_of(names: Iterable[str]) -> Iterator[Requirement]:
    """Yield what installed packages require, extras included."""
    for name in names:
        yield from (Requirement(text) for text in metadata.distribution(name).requires or ())


def _closure(names: Iterable[str]) -> list[str]:
    """Return packages and those of polycmp that they require."""
    plugins = {
        canonicalize_name(item.dist.name) for item in metadata.entry_points(group="polycmp") if item.dist is not None
    }
    packages: list[str] = []
    waiting = [canonicalize_name(name) for name in names]
    while waiting:
        name = waiting.pop(0)
        if name in packages:
            continue
        packages.append(name)
        texts = metadata.distribution(name).requires or ()
        required = [item for item in map(Requirement, texts) if not _is_of_an_extra(item)]
        waiting += [key for item in required if (key := canonicalize_name(item.name)) in {*plugins, _CORE}]
    return packages


def _is_of_an_extra(requirement: Requirement) -> bool:
    return requirement.marker is not None and "extra ==" in str(requirement.marker)


def _places(package: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the modules and the metadata of a package with their paths."""
    tops = {item.value.partition(":")[0].partition(".")[0] for item in package.entry_points if item.group == "polycmp"}
    for top in sorted(tops or {package.name.replace("-", "_")}):
        spec = importlib.util.find_spec(top)
        if spec is None or spec.origin is None:
            raise PluginError(f"the module {top} of {package.name} is not on the disk")
        place = Path(spec.origin)
        place = place.parent if spec.submodule_search_locations else place
        yield place.name, place
    yield _metadata_of(package)


def _metadata_of(package: metadata.Distribution) -> tuple[str, Path]:
    """Return the folder that describes a package, which holds its entry points."""
    for folder in Path(str(package.locate_file(""))).glob("*.*-info"):
        if canonicalize_name(folder.name.partition("-")[0]) == canonicalize_name(package.name):
            return folder.name, folder
    raise PluginError(f"the metadata of {package.name} is not on the disk", hint=f"pip install {package.name}")
