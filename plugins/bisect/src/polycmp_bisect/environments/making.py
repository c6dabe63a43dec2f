"""Maker of environments with a release, and of a light view of each that has polycmp, too."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import IO

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from polycmp.files import digest_of
from polycmp.process import code_words
from polycmp_bisect.environments.cache import VIEWS, Cache, digest, starts
from polycmp_bisect.environments.errors import NotInstallableError, UnreachableError
from polycmp_bisect.environments.polycmp_packages import PolycmpPackages
from polycmp_bisect.environments.tools import Done, Installer, find_uv, interpreters, run_tool, this_python

#: Bytes below which a disk counts as full: no runtime fits there.
_MIN_FREE_BYTES = 64 * 1024**2
#: Belongs to the names of environments; another one where what a name stands for has changed.
_LAYOUT_VERSION = 2
#: Marks an environment that lacks what the runtime needs besides, and takes it from the one that uses it.
_BORROWS_MARK = "borrows"
#: What NumPy 2 says of a module that was built for NumPy 1: its import may seem to succeed all the same.
_FOR_NUMPY_1 = "compiled using NumPy 1.x"


@dataclass(frozen=True)
class EnvironmentContents:
    """Contents of an environment to make.

    Attributes:
        packages: Releases, such as "onnxruntime==1.20.1", that of the package in question first.
        python: The version of Python, such as "3.11".
        modules: Modules that have to be importable.
    """

    packages: tuple[str, ...]
    python: str
    modules: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The packages as text."""
        return " ".join(self.packages).replace("==", " ")


@dataclass
class Maker:
    """Finds environments in the cache and makes those that are not there.

    Attributes:
        find_links: Folders and pages with further packages.
        cache: The cache.
        tell: Told what is being done.
        new_names: The names of the environments that had to be made.
    """

    find_links: Sequence[str] = ()
    cache: Cache = field(default_factory=Cache)
    tell: Callable[[str], None] = lambda _: None
    new_names: list[str] = field(default_factory=list)
    _once: str = field(default_factory=lambda: os.urandom(8).hex())
    _locks: dict[str, IO[bytes]] = field(default_factory=dict)

    def environment(self, contents: EnvironmentContents, ours: PolycmpPackages | None = None) -> Path:
        """Return the interpreter of an environment.

        Args:
            contents: The packages that it shall have.
            ours: The packages of polycmp that it shall have besides.

        Raises:
            NotInstallableError: A release cannot be installed, or not be imported.
            UnreachableError: No package index answers, or the disk is full.
        """
        beside = ours.requirements if ours is not None else ()
        name = self._name(contents, beside)
        if name not in self._locks and not self.cache.is_whole(name):
            try:
                with self.cache.making(name) as folder:
                    if not self.cache.is_whole(name):
                        self.tell(f"installing {contents.text} (Python {contents.python})")
                        self._fill(folder, contents, beside, borrows=ours is not None)
                        self.new_names.append(name)
            except BlockingIOError:
                raise UnreachableError(
                    f"the environment {name} is damaged, and something uses it",
                    hint=f"polycmp cache remove {name}, when that has ended",
                ) from None
            except OSError as error:
                raise self._full(contents, str(error)) from None
            self.cache.make_room(spare=name)
        if name not in self._locks:
            self._locks[name] = self.cache.use(name)
        folder = self.cache.folder / name
        return folder / "bin" / "python" if ours is None else self._view(name, ours, contents.python)

    def has(self, contents: EnvironmentContents, ours: PolycmpPackages | None = None) -> bool:
        """Return whether an environment exists and is whole; arguments as for `environment`."""
        return self.cache.is_whole(self._name(contents, ours.requirements if ours is not None else ()))

    def _name(self, contents: EnvironmentContents, beside: Sequence[str]) -> str:
        first = contents.packages[0].replace("==", "-").replace("/", "_")
        packages = [contents.packages[0], *sorted(contents.packages[1:])]
        parts = (_LAYOUT_VERSION, packages, sorted(beside), self.digests(packages))
        return f"{first}-py{contents.python}-{digest(*parts)}"

    def digests(self, packages: Sequence[str]) -> list[str]:
        """Return the digests of the wheels in the named folders that an environment may install.

        A folder of wheels may hold others tomorrow under the same names, and nobody but who named it is to get them.

        Args:
            packages: Releases that the environment has; wheels of others of these packages do not matter.
        """
        releases = dict(item.split("==", 1) for item in packages)
        return [text for place in self.find_links for text in self._digests_of(place, releases)]

    def _digests_of(self, place: str, releases: Mapping[str, str]) -> Iterator[str]:
        if not Path(place).is_dir():  # a page, which may lead to anything: good for this search only
            yield self._once
            return
        for file in sorted(Path(place).glob("*.whl")):
            if _may_be_installed(file.name, releases):
                stat = file.stat()
                yield f"{file.name} {_digest_of(str(file.resolve()), stat.st_mtime_ns, stat.st_size)}"

    def close(self) -> None:
        """Unlock the environments in use."""
        while self._locks:
            self._locks.popitem()[1].close()
        if self.new_names:  # while they were in use the cache may have grown beyond its limit
            self.cache.make_room()

    def _fill(self, folder: Path, contents: EnvironmentContents, beside: Sequence[str], *, borrows: bool) -> None:
        interpreter = interpreters().get(contents.python)
        if interpreter is None:
            raise NotInstallableError(
                f"{contents.text} needs Python {contents.python}, which is not installed here",
                hint=f"install Python {contents.python}, or ask for another release",
            )
        installer = Installer(find_uv(), self.find_links)
        self._check(installer.make(folder, interpreter), contents, installer)
        requirements = [*contents.packages, *(text for text in beside if not _names_any(text, contents.packages))]
        done = installer.install(folder, requirements, _pins(requirements))
        if done.status and not done.lacks_answers:  # what goes with an old release is not always what is here
            done = installer.install(folder, requirements)
        if done.status and borrows and contents.python == this_python():
            # Wheels of the runtime alone, and no index: what it needs is what this environment has.
            alone = installer.install(folder, contents.packages, alone=True)
            if alone.status == 0:
                (folder / _BORROWS_MARK).touch()
                if (failed := _failed_import(folder, contents.modules, _here())) is None:
                    return
                raise NotInstallableError(f"{contents.text} cannot be imported", why=failed)
        self._check(done, contents, installer)
        if _failed_import(folder, contents.modules) is None:
            return
        # Releases before NumPy 2 do not say that they cannot do with it.
        self._check(installer.install(folder, [*requirements, "numpy<2"]), contents, installer)
        if (failed := _failed_import(folder, contents.modules)) is not None:
            raise NotInstallableError(f"{contents.text} cannot be imported", why=failed)

    def _check(self, done: Done, contents: EnvironmentContents, installer: Installer) -> None:
        """Raise an error if a tool failed.

        Raises:
            NotInstallableError: The package cannot be installed.
            UnreachableError: No package index answers, or the disk is full.
        """
        if done.status == 0:
            return
        if shutil.disk_usage(self.cache.folder).free < _MIN_FREE_BYTES or "No space left" in done.text:
            raise self._full(contents, done.last_line)
        package = Requirement(contents.packages[0]).name
        if done.lacks_answers or installer.versions(package, contents.python) is None:
            silent = "a package index does not answer"
            none = f"no package index that pip knows answers for {package}"
            raise UnreachableError(
                f"{contents.text} cannot be installed: {silent if done.lacks_answers else none}",
                why=done.last_line,
                hint=f"pip index versions {package}",
            )
        raise NotInstallableError(f"{contents.text} cannot be installed", why=done.last_line)

    def _full(self, contents: EnvironmentContents, why: str) -> UnreachableError:
        return UnreachableError(
            f"{contents.text} cannot be kept in {self.cache.folder}",
            why=why,
            hint="polycmp cache list; polycmp cache remove NAME, or another disk with POLYCMP_CACHE=DIR",
        )

    def _view(self, name: str, ours: PolycmpPackages, python: str) -> Path:
        """Return the interpreter of an environment with the packages of another and polycmp as installed here."""
        base = self.cache.folder / name
        place = base / VIEWS / ours.digest
        marker = place / "complete"
        if not (marker.exists() and starts(place)):
            with self.cache.locked(f"{name}.{VIEWS}", alone=True):
                if not (marker.exists() and starts(place)):
                    shutil.rmtree(place, ignore_errors=True)
                    self._link(base, place, ours, python)
                    marker.touch()
        return place / "bin" / "python"

    def _link(self, base: Path, place: Path, ours: PolycmpPackages, python: str) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        done = Installer(find_uv()).make(place, interpreters()[python])
        if done.status:
            raise UnreachableError(f"no environment can be made in {place}", why=done.last_line)
        site, below = site_packages(place, python), site_packages(base, python)
        lines = [f"import site; site.addsitedir({str(below)!r})", *(_here() if (base / _BORROWS_MARK).exists() else ())]
        (site / "zz_below.pth").write_text("\n".join(lines) + "\n", "utf-8")
        for item, source in ours.places.items():
            (site / item).symlink_to(source, target_is_directory=source.is_dir())


def site_packages(folder: Path, python: str) -> Path:
    """Return the folder of the packages of an environment."""
    return folder / "lib" / f"python{python}" / "site-packages"


def _pins(requirements: Sequence[str]) -> list[str]:
    """Pin requirements to the releases installed here, so that only the release in question differs."""
    pins = []
    for text in requirements:
        requirement = Requirement(text)
        if any(item.operator == "==" for item in requirement.specifier):
            continue
        try:
            pins.append(f"{requirement.name}=={metadata.version(requirement.name)}")
        except metadata.PackageNotFoundError:
            continue
    return pins


def _may_be_installed(wheel: str, releases: Mapping[str, str]) -> bool:
    """Return whether a wheel is of no other release of a package whose release is fixed."""
    try:
        name, version, _, _ = parse_wheel_filename(wheel)
        fixed_releases = {canonicalize_name(item): release for item, release in releases.items()}.get(name)
        return fixed_releases is None or version == Version(fixed_releases)
    except (InvalidWheelFilename, InvalidVersion):
        return True


@lru_cache(maxsize=4096)
def _digest_of(path: str, _time: int, _size: int) -> str:
    """Return the digest of a file, which is read again when its time or size has changed."""
    return digest_of(Path(path))


def _names_any(text: str, packages: Sequence[str]) -> bool:
    named = {canonicalize_name(Requirement(item).name) for item in packages}
    return canonicalize_name(Requirement(text).name) in named


def _here() -> list[str]:
    """Return the folders of the packages of this environment."""
    return [path for path in dict.fromkeys(map(sysconfig.get_path, ("purelib", "platlib"))) if path]


def _failed_import(folder: Path, modules: Sequence[str], further: Sequence[str] = ()) -> str | None:
    """Return the error of a module that cannot be imported; None if all can."""
    if not modules:
        return None
    code = f"sys.path += {list(further)!r}; import {', '.join(modules)}"
    done = run_tool(code_words(code, python=str(folder / "bin" / "python")), 300)
    return done.last_line if done.status or _FOR_NUMPY_1 in done.text else None
