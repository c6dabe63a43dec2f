"""Who gets which flag: the core's own options first, then generated flags, then aliases that nobody else claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from polycmp.plugins.records import BUILTIN, Contribution


class Claim(NamedTuple):
    """Somebody who wants a flag.

    Attributes:
        contribution: Whose option it is; None for the core's own.
        field: The option's field; empty for the flag `--NAME` of a backend.
    """

    contribution: Contribution | None
    field: str

    def __str__(self) -> str:
        if self.contribution is None:
            return "polycmp's own option"
        field = f"option {self.field!r} of " if self.field else ""
        return field + self.contribution.label


def flag_of(name: str, field: str = "") -> str:
    """Return the generated flag of a contribution, `--NAME`, or of one of its options, `--NAME-FIELD`."""
    return "--" + "-".join(part for part in (name, field) if part).replace("_", "-")


def grant_aliases(
    contributions: Iterable[Contribution], reserved: Iterable[str] = ()
) -> tuple[dict[str, Claim], dict[str, tuple[Claim, ...]]]:
    """Decide who owns each flag.

    The flags in `reserved` stay the core's. Next come the flags of the core's own contributions, then the generated
    flags of plugins, then the plugins' aliases; on each step a flag goes to its only claimant, and to nobody if there
    are several.

    Args:
        contributions: Everybody with options, and every backend.
        reserved: The core's own options, with their dashes.

    Returns:
        The owner of each flag that was granted, and all the claimants of each that was refused to at least one.
    """
    items = list(contributions)
    own = [item for item in items if item.plugin == BUILTIN]
    foreign = [item for item in items if item.plugin != BUILTIN]
    steps = [_generated(own), _aliases(own), _generated(foreign), _aliases(foreign)]
    granted: dict[str, Claim] = {}
    refused: dict[str, tuple[Claim, ...]] = {}
    taken: dict[str, tuple[Claim, ...]] = {flag: (Claim(None, ""),) for flag in reserved}
    for step in steps:
        claims: dict[str, list[Claim]] = {}
        for flag, claim in step:
            claims.setdefault(flag, []).append(claim)
        for flag, claimants in claims.items():
            if flag in taken or len(claimants) > 1:
                refused[flag] = (*refused.get(flag, taken.get(flag, ())), *claimants)
            else:
                granted[flag] = claimants[0]
            taken.setdefault(flag, tuple(claimants))
    return granted, refused


def _generated(items: Iterable[Contribution]) -> Iterator[tuple[str, Claim]]:
    for item in items:
        if item.kind == "runner":
            yield flag_of(item.name), Claim(item, "")
        for field in _fields(item):
            yield flag_of(item.name, field.name), Claim(item, field.name)


def _aliases(items: Iterable[Contribution]) -> Iterator[tuple[str, Claim]]:
    for item in items:
        for field in _fields(item):
            for alias in dict.fromkeys(field.metadata.get("alias") or ()):
                if alias != flag_of(item.name, field.name):
                    yield alias, Claim(item, field.name)


def _fields(item: Contribution) -> tuple[dataclasses.Field[object], ...]:
    options = getattr(item.spec, "options", None)
    return dataclasses.fields(options) if options is not None else ()
