"""Lazy imports under the names of `polygraphy.mod`."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from polycmp.errors import PluginError, describe_exception
from polycmp.loader import load_script

LATEST_VERSION = "latest"


class LazyModule:
    """A module that is imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _module(self) -> ModuleType:
        try:
            return import_module(self._name)
        except ImportError as error:
            raise PluginError(
                f"needs the module {self._name!r}",
                why=describe_exception(error),
                hint=f"pip install {self._name.partition('.')[0]}",
            ) from error

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


def lazy_import(
    name: str,
    log: bool | None = None,
    pkg_name: str | None = None,
    install_flags: list[str] | None = None,
    requires: list[str] | None = None,
) -> Any:
    """Return a module that is imported when one of its names is first used; nothing is ever installed.

    Args:
        name: Name of the module; a version behind it (`onnx>=1.8`) is taken and not checked.
        log: Of no effect.
        pkg_name: Of no effect.
        install_flags: Of no effect.
        requires: Of no effect.
    """
    del log, pkg_name, install_flags, requires
    return LazyModule(re.split(r"[<>=!~]", name, maxsplit=1)[0].strip())


def autoinstall(lazy_mod: Any) -> None:
    """Do nothing: no module is ever installed at run time."""
    del lazy_mod


def import_from_script(path: str, name: str) -> Any:
    """Return an object of a Python file by its name.

    Raises:
        FileError: There is no such file or name, or the file cannot be run.
    """
    return load_script(path, name)
