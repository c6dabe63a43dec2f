"""Answering `import polygraphy` in this process with the modules of this package."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from importlib.util import find_spec
from os import PathLike
from types import ModuleType
from typing import Any

from polycmp_polygraphy._messages import show_messages

NAME = "polygraphy"
OURS = __package__


class _Loader(Loader):
    """Gives a module of this package where one of Polygraphy is asked for: the same object under both names."""

    def __init__(self, ours: str) -> None:
        self._ours = ours
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._ours)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # which the import system has just replaced


class _Distribution(Distribution):
    """Metadata of Polygraphy for `importlib.metadata`, for programs that ask for its version."""

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        version = import_module(OURS).__version__
        return f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\n"

    def locate_file(self, path: str | PathLike[str]) -> Any:
        raise FileNotFoundError(f"{path}: {NAME} is answered by {OURS} here, and has no files")


class Answering(MetaPathFinder):
    """Finds the modules of Polygraphy in this package, before anything that is installed."""

    answers_polygraphy = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of one of our modules for one of Polygraphy's; None for those of others.

        Raises:
            ModuleNotFoundError: There is no such module here; none is looked for elsewhere.
        """
        if fullname != NAME and not fullname.startswith(f"{NAME}."):
            return None
        ours = OURS + fullname.removeprefix(NAME)
        show_messages()
        spec = find_spec(ours)
        if spec is None:
            raise ModuleNotFoundError(
                f"polycmp has no counterpart of {fullname}: docs/coming-from-polygraphy.md lists what is different",
                name=fullname,
            )
        return ModuleSpec(fullname, _Loader(ours), is_package=spec.submodule_search_locations is not None)

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterable[Distribution]:
        """Give the distribution `polygraphy` to those who ask for it by name."""
        return [_Distribution()] if context is not None and context.name == NAME else []


def stop_answering() -> None:
    """Have this process import the Polygraphy that is installed."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not hasattr(finder, "answers_polygraphy")]


def answer() -> None:
    """Have this process import our modules for those of Polygraphy, from now on."""
    for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, Answering())
