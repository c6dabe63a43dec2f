"""A class of options with one option of each kind, for tests of what is made of options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.options import option_fields
from polycmp.spec import opt


@dataclass(frozen=True)
class Options:
    """One option of each kind."""

    flag: bool = opt(False, help="A switch.")
    count: int = opt(3, help="A number.")
    share: float = opt(0.5, help="A share.")
    word: str = opt("", help="A word.", metavar="FILE", writes=True)
    kind: str = opt("a", help="One of two.", choices=("a", "b"))
    names: tuple[str, ...] = opt((), help="Names.")
    bare: tuple[str, ...] = opt((), help="All, or some.", bare="*")
    bounds: Mapping[str, float] = opt({}, help="By name.")
    groups: tuple[tuple[str, ...], ...] = opt((), help="Sets of names.")


FIELDS = {item.name: item for item in option_fields(Options)}
