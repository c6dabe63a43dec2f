"""Fields that descriptors had before the classes of `polycmp.spec.tools`: they work for one release, with a warning."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from polycmp._deprecation import deprecated

Spec = TypeVar("Spec")

#: Fields that held a truth value or a word where the class has another attribute, with what turns one into the other.
CHANGED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "intermediates": ("runs_parts", lambda value: value == "graph"),
}


def takes_former(*names: str, functions: tuple[str, ...] = ()) -> Callable[[type[Spec]], type[Spec]]:
    """Let a descriptor take fields that it no longer has.

    Args:
        names: Names of the fields.
        functions: Those that held functions, as `"package.module:attribute"`.
    """

    def change(spec: type[Spec]) -> type[Spec]:
        make = vars(spec)["__init__"]  # that of the dataclass

        @functools.wraps(make)
        def init(self: Any, *args: Any, **fields: Any) -> None:
            former = {name: fields.pop(name) for name in (*names, *functions) if name in fields}
            make(self, *args, **fields)
            for name in former:
                what = f"{spec.__name__}({name}=…)"
                deprecated(what, since="0.1.0", until="0.3.0", instead=instead_of(name))
            object.__setattr__(self, "former", former)

        type.__setattr__(spec, "__init__", init)
        type.__setattr__(spec, "former_functions", functions)
        return spec

    return change


def instead_of(name: str) -> str:
    """Return what takes the place of a former field, for messages.

    Args:
        name: Name of the field.
    """
    if name == "folder_marks":
        return 'suffixes with "/" and the name of the file'
    return f"{CHANGED[name][0] if name in CHANGED else name} of the class that `tools` names"
