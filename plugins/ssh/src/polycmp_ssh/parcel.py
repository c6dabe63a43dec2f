"""What the other machine needs to run a backend: pure Python packages that are installed here, in one archive."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

_GROUP = "polycmp"
_COMPILED = (".so", ".pyd", ".dylib")


@dataclass(frozen=True)
class Package:
    """An installed distribution.

    Attributes:
        distribution: Its metadata.
        modules: The names under which it is imported.
        is_ours: Whether it is polycmp or a plugin for it, whose release has to be that of this side.
    """

    distribution: importlib.metadata.Distribution
    modules: tuple[str, ...]
    is_ours: bool

    @cached_property
    def files(self) -> tuple[tuple[str, Path], ...]:
        """The files of its modules, with their paths in an archive."""
        found = []
        for module in self.modules:
            spec = importlib.util.find_spec(module)
            for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
                paths = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
                found += [(f"{module}/{path.relative_to(folder).as_posix()}", path) for path in paths]
            if spec is not None and spec.submodule_search_locations is None and spec.origin:
                found.append((Path(spec.origin).name, Path(spec.origin)))
        return tuple((name, path) for name, path in found if "__pycache__" not in name)

    @property
    def is_pure(self) -> bool:
        """Whether it runs on any machine."""
        return not any(path.suffix in _COMPILED for _, path in self.files)


def packages_for(distribution: str) -> list[Package]:
    """Return what a plugin's distribution needs, itself, polycmp and this package included."""
    ours = _ours()
    packages: dict[str, Package] = {}
    waiting = [canonicalize_name(name) for name in (distribution, "polycmp", "polycmp-ssh")]
    while waiting:
        name = waiting.pop()
        if name in packages:
            continue
        try:
            installed = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        packages[name] = Package(installed, tuple(sorted(ours.get(name) or _modules_of(installed))), name in ours)
        waiting += _requirements(installed)
    return list(packages.values())


def _ours() -> dict[str, set[str]]:
    """Return the modules of polycmp and of each plugin: a package that is installed in place does not list them."""
    modules = {"polycmp": {"polycmp"}}
    for point in importlib.metadata.entry_points(group=_GROUP):
        if point.dist is not None:
            modules.setdefault(canonicalize_name(point.dist.name), set()).add(point.module.partition(".")[0])
    return modules


def _modules_of(installed: importlib.metadata.Distribution) -> set[str]:
    """Return the modules of a distribution: those that it lists, or the tops of its files.

    `importlib.metadata.packages_distributions` reads the files of all that is installed: half a second for a hundred.
    """
    names = (installed.read_text("top_level.txt") or "").split()
    if not names:
        files = (file for file in installed.files or () if file.suffix in {".py", *_COMPILED})
        names = [file.parts[0] if len(file.parts) > 1 else file.name.partition(".")[0] for file in files]
    return {name for name in names if name.isidentifier()}


def _requirements(installed: importlib.metadata.Distribution) -> Iterator[NormalizedName]:
    """Yield the names of what a distribution requires, whatever the Python of the other machine is."""
    for text in installed.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or "extra" not in str(requirement.marker):
            yield canonicalize_name(requirement.name)


def pack(packages: Sequence[Package]) -> bytes:
    """Return an archive: in `ours` the packages that come before what is installed there, in `theirs` the others."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for package in packages:
            folder = "ours" if package.is_ours else "theirs"
            for name, path in package.files:
                file.write(path, f"{folder}/{name}")
            about = package.distribution
            information = f"{folder}/{about.name.replace('-', '_')}-{about.version}.dist-info"
            for name in ("METADATA", "entry_points.txt"):
                text = package.distribution.read_text(name)
                if text is not None:
                    file.writestr(f"{information}/{name}", text)
    return archive.getvalue()
