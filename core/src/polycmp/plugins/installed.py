"""What installed packages say of themselves: names, versions, requirements and entry points of one group.

`importlib.metadata` brings a parser of e-mail and some 30 modules, a twentieth of the time in which a small model is
compared. Installers write what is wanted into two text files in folders of a known form, which are read here; as soon
as packages may come from anywhere else, `importlib.metadata` is asked.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

#: The file with a package's name and requirements, by the suffix of the folder that it is in.
_METADATA = {"dist-info": "METADATA", "egg-info": "PKG-INFO"}


class Package(NamedTuple):
    """An installed package; requirements are its `Requires-Dist` lines, entry points names and values of one group."""

    name: str
    version: str
    requirements: tuple[str, ...]
    entry_points: tuple[tuple[str, str], ...]


def packages_with(group: str) -> Iterator[Package]:
    """Yield the installed packages that have entry points of a group.

    Packages whose metadata cannot be read are left out. As for imports, the first of several copies on the path hides
    the others.

    Args:
        group: The name of the group.
    """
    seen: set[str] = set()
    for package in _from_folders(group) if _are_folders() else _from_anywhere(group):
        if (key := normalized(package.name)) not in seen:
            seen.add(key)
            yield package


def normalized(name: str) -> str:
    """Return the form in which two spellings of a package's name are equal (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _are_folders() -> bool:
    """Return whether all packages are in folders as installers make them, on the path and nowhere else."""
    usual = all(not entry.endswith(".egg") and not Path(entry).is_file() for entry in sys.path)
    return usual and not any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder != PathFinder)


def _from_folders(group: str) -> Iterator[Package]:
    for entry in sys.path:
        with suppress(OSError):
            for folder in os.scandir(entry or os.curdir):  # without a `Path` for each of some hundred names
                metadata = _METADATA.get(folder.name.rpartition(".")[2])
                if metadata is not None and (package := _read(Path(folder), metadata, group)) is not None:
                    yield package


def _read(folder: Path, metadata: str, group: str) -> Package | None:
    try:
        entry_points = tuple(_section((folder / "entry_points.txt").read_text(encoding="utf-8"), group))
        if not entry_points:
            return None  # as most packages: their metadata need not be read
        fields = _fields((folder / metadata).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    requirements = tuple(value for name, value in fields if name == "requires-dist")
    first = dict(reversed(fields))
    return Package(first.get("name", ""), first.get("version", ""), requirements, entry_points)


def _section(text: str, group: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of one section of an entry-points file."""
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == group and not line.startswith(("#", ";")):
            name, equals, value = line.partition("=")
            if equals:
                yield name.strip(), value.strip()


def _fields(text: str) -> list[tuple[str, str]]:
    """Return the fields before a metadata file's description, their names in lower case."""
    header = text.split("\n\n", 1)[0].splitlines()
    pairs = [line.partition(":") for line in header if not line.startswith((" ", "\t"))]
    return [(name.lower(), value.strip()) for name, _, value in pairs]


def _from_anywhere(group: str) -> Iterator[Package]:
    from importlib.metadata import distributions

    for distribution in distributions():
        try:
            entry_points = tuple((item.name, item.value) for item in distribution.entry_points if item.group == group)
            if not entry_points:
                continue
            described = distribution.metadata  # parsed anew at each access
            requirements = tuple(described.get_all("Requires-Dist") or ())
            name, version = described["Name"] or "", described["Version"] or ""
        except Exception:  # noqa: BLE001  (metadata damaged beyond reading belongs to no plugin we could name)
            continue
        yield Package(name, version, requirements, entry_points)
