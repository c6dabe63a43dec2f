"""Names of a package that are imported from its modules when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that imports its modules when one of their names is used.

    For example::

        if not TYPE_CHECKING:  # for type checkers the names are imported as usual
            __getattr__, __dir__ = lazy_names(__name__, {"runner": ["MyRunner"], "session": ["open_session"]})

    Args:
        package: The package's `__name__`.
        names: By module of the package, without the package's name, the names in it.
    """
    module_of = {name: module for module, several in names.items() for name in several}

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*vars(import_module(package)), *module_of})

    return __getattr__, __dir__
