"""Lazy imports under the names of `polygraphy.mod`."""

from __future__ import annotations

import logging
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from packaging.specifiers import SpecifierSet

from polycmp.errors import PluginError, describe_exception
from polycmp.loader import load_script
from polycmp_polygraphy.mod.util import version

LATEST_VERSION = "==latest"
_LOG = logging.getLogger("polycmp.polygraphy")


class LazyModule:
    """A module that is imported when one of its names is first used.

    Args:
        name: Name of the module.
        wanted: Versions that fit (`>=1.8`); another one is used with a warning.
    """

    def __init__(self, name: str, wanted: str = "") -> None:
        self._name = name
        self._wanted = wanted

    def _module(self) -> ModuleType:
        try:
            module = import_module(self._name)
        except ImportError as error:
            raise PluginError(
                f"needs the module {self._name!r}",
                why=describe_exception(error),
                hint=f"pip install {self._name.partition('.')[0]}",
            ) from error
        release, wanted, self._wanted = getattr(module, "__version__", None), self._wanted, ""
        if release and wanted and wanted != LATEST_VERSION and not _version_ok(release, wanted):
            _LOG.warning("%s %s is installed, and %s%s is asked for", self._name, release, self._name, wanted)
        return module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module(), name)

    def is_installed(self) -> bool:
        """Return whether the module can be found."""
        try:
            return find_spec(self._name) is not None
        except ImportError:
            return False

    def is_importable(self) -> bool:
        """Return whether the module can be imported."""
        try:
            import_module(self._name)
        except Exception:  # noqa: BLE001 - whatever its code raises
            return False
        return True


def _version_ok(ver: str, preferred: str) -> bool:
    """Return whether a version is one of those that are asked for; which one is the latest is not known."""
    if preferred == LATEST_VERSION:
        return False
    return SpecifierSet(preferred).contains(version(ver), prereleases=True)


def lazy_import(
    name: str,
    log: bool | None = None,
    pkg_name: str | None = None,
    install_flags: list[str] | None = None,
    requires: list[str] | None = None,
) -> Any:
    """Return a module that is imported when one of its names is first used; nothing is ever installed.

    Args:
        name: Name of the module; a version behind it (`onnx>=1.8`) that is not installed is warned of.
        log: Of no effect.
        pkg_name: Of no effect.
        install_flags: Of no effect.
        requires: Of no effect.
    """
    del log, pkg_name, install_flags, requires
    module, wanted = re.fullmatch(r"([^<>=!~]*)(.*)", name).groups()  # type: ignore[union-attr] # it fits every text
    return LazyModule(module.strip(), wanted.strip())


def autoinstall(lazy_mod: Any) -> None:
    """Do nothing: no module is ever installed at run time."""
    del lazy_mod


def import_from_script(path: str, name: str) -> Any:
    """Return an object of a Python file by its name.

    Raises:
        FileError: There is no such file or name, or the file cannot be run.
    """
    before = list(sys.path)
    try:
        return load_script(path, name)
    finally:
        sys.path[:] = before
