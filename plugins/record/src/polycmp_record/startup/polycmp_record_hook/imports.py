"""Act when a module has been imported, and not before somebody imports it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as `typing` has it, which the program may not need
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def after_import(name: str, act: Callable[[ModuleType], None]) -> None:
    """Call a function with a module once it has been imported; at once, if it was imported before."""
    if name in sys.modules:
        act(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, act))


class _Finder:
    """Finds one module as all others do, and has its loader act once."""

    def __init__(self, name: str, act: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._act = act

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return None for every other module."""
        if name != self._name:
            return None
        for finder in sys.meta_path:
            find = None if isinstance(finder, _Finder) else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find else None
            if spec:
                if "exec_module" in dir(spec.loader):  # a folder that is no package has no loader
                    self._prepare(spec.loader)
                return spec
        return None

    def _prepare(self, loader: Any) -> None:
        """Have this one loader act when it has executed the module; the module keeps the loader that it would have."""

        def execute(module: ModuleType) -> None:
            del loader.exec_module
            loader.exec_module(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self._act(module)

        loader.exec_module = execute
