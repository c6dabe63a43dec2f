"""The table of a command's options, from the core's sections and what plugins bring."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp.options import FlagTable, Key, Target, option_fields
from polycmp.plan.sections import SECTIONS
from polycmp.plugins import BUILTIN, assign_flags, begin_instance, flag_of

if TYPE_CHECKING:
    from polycmp.plugins import Contribution, Registry

#: The kinds of contribution that bring options, and what help calls them.
HEADINGS = {"runner": "Backend", "loader": "Model loader", "data_loader": "Data loader",
            "compare_func": "Compare function", "report": "Report", "observer": "Observer"}  # fmt: skip
PLUGIN_KINDS = tuple(HEADINGS)
CORE_FLAGS = ("-b", "--backend", "-v", "--verbose", "-q", "--quiet", "-h", "--help")


def core_targets(sections: Mapping[str, type] = SECTIONS, chosen: Collection[str] | None = None) -> list[Target]:
    """Return the core's own options, or those of a command.

    Args:
        sections: The dataclasses that declare the options, by section.
        chosen: Of these sections only the ones named, as `SECTION` or `SECTION.OPTION`; None for all.
    """
    targets = []
    for owner, options in sections.items():
        for item in option_fields(options):
            if chosen is not None and not {owner, f"{owner}.{item.name}"} & set(chosen):
                continue
            flags = ("--" + item.name.replace("_", "-"), *item.aliases)
            heading = (options.__doc__ or owner).rstrip(".")
            targets.append(Target(Key("core", owner, item.name), item, flags, heading))
    return targets


def build_table(
    registry: Registry,
    sections: Mapping[str, type] = SECTIONS,
    *,
    chosen: Collection[str] | None = None,
    kinds: Collection[str] = PLUGIN_KINDS,
    unfolded: Collection[str] = (),
    exports: bool = True,
) -> FlagTable:
    """Return the options of the core and of every working plugin.

    Args:
        registry: The plugins.
        sections: The core's own options, or a command's.
        chosen: Of these sections only the ones named, as `SECTION` or `SECTION.OPTION`; None for all.
        kinds: The kinds of contribution whose options there are.
        unfolded: The kinds of which help shows all options; those of the core are always shown.
        exports: Whether reports may write the plan down in place of a run; else those that do have no options here.
    """
    targets = core_targets(sections, chosen)
    # An alias means the same for every command, so what one of them leaves out stays reserved.
    reserved = [*CORE_FLAGS, *(flag for target in core_targets(sections) for flag in target.flags)]
    contributions = [item for item in registry.unique_contributions if item.kind in PLUGIN_KINDS]
    assigned, refused = assign_flags(contributions, reserved)
    owned: dict[tuple[int, str], list[str]] = {}
    backends = {}
    for flag, claim in assigned.items():
        if claim.field and claim.contribution is not None:
            owned.setdefault((id(claim.contribution), claim.field), []).append(flag)
        elif claim.contribution is not None and "runner" in kinds:
            backends[flag] = begin_instance(claim.contribution)
    headings, folded = {}, []
    equipped = () if exports or "report" not in kinds else registry.equipped(registry.reports.values())
    exporting = [item for item, tools in equipped if tools.instead is not None]
    for item in contributions:
        if item.kind not in kinds or item in exporting:
            continue
        heading = f"{HEADINGS[item.kind]} {item.name}"
        headings[heading] = item.spec.summary
        folded += [heading] if item.plugin != BUILTIN and item.kind not in unfolded else []
        targets += _plugin_targets(item, heading, owned)
    taken = {*reserved, *assigned, *refused}
    targets = [_with_negative(target, taken) for target in targets]
    by_flag = {flag: target for target in targets for flag in target.flags}
    return FlagTable(
        {target.key: target for target in targets},
        by_flag,
        backends,
        sections,
        {flag: tuple(map(str, claims)) for flag, claims in refused.items()},
        headings,
        tuple(folded),
    )


def _with_negative(target: Target, taken: Container[str]) -> Target:
    negative = f"--no-{target.flags[0].removeprefix('--')}"
    return replace(target, negative=negative) if target.field.kind == "flag" and negative not in taken else target


def _plugin_targets(item: Contribution, heading: str, owned: Mapping[tuple[int, str], list[str]]) -> list[Target]:
    targets = []
    for option in option_fields(item.spec.options):
        flags = owned.get((id(item), option.name), [])
        generated = flag_of(item.name, option.name)
        # The core has no prefix to tell apart: people know --atol, not --simple-atol.
        bare = item.plugin == BUILTIN or getattr(item.spec, "follows", False)
        order = (*option.aliases, generated) if bare else (generated, *option.aliases)
        flags = sorted(flags, key=order.index)
        if flags:
            targets.append(Target(Key(item.kind, item.name, option.name), option, tuple(flags), heading))
    return targets
