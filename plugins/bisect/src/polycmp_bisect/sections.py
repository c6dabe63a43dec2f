"""Options of `polycmp bisect`."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.spec import opt, parse_above_zero


def _held(text: str) -> str:
    from polycmp_bisect.environments.packages import held_release

    return held_release(text)


@dataclass(frozen=True)
class BisectSection:
    """Searching."""

    over: str = opt(
        "",
        help="What to search over: releases of a package, by default of the one that drives the first backend; "
        "versions of Python; files; passes of an optimiser. Behind -- may stand the command with which the package "
        "writes MODEL.",
        metavar="PACKAGE|python|files|passes",
    )
    good: str = opt("", help="One that is right; by default one is looked for.", metavar="NAME")
    bad: str = opt(
        "", help="One that is wrong; by default the release installed here, or the last one.", metavar="NAME"
    )
    releases: tuple[str, ...] = opt((), help="Look at these only.", metavar="NAME")
    beside: tuple[str, ...] = opt(
        (),
        help="Other packages that each environment has, at the releases that are installed here or at others.",
        alias="--with",
        metavar="PACKAGE[==VERSION]",
        parse=_held,
    )
    find_links: tuple[str, ...] = opt(
        (), help="Folders or pages with wheels, beside those that pip is configured for.", metavar="DIR|URL"
    )
    pre: bool = opt(False, help="Look at releases before the final ones, too.")
    passes: tuple[str, ...] = opt(
        (),
        help="With --over passes and a COMMAND: passes that it may run, which stand at {passes} or {skipped} in it; "
        "onnxoptimizer is asked.",
        metavar="NAME",
    )
    slower: float = opt(
        0.0,
        help="Judge by time: wrong is what takes so many times as long as before; use with --iterations.",
        metavar="FACTOR",
        parse=parse_above_zero,
    )
    resume: bool = opt(False, help="Go on with an interrupted search: what was judged is not run again.")
    explain: str = opt(
        "",
        help="Write a page on what was found, fit to be posted as an issue, and the smallest model that shows it.",
        metavar="DIR",
        writes=True,
    )
    no_locate: bool = opt(False, help="Do not look for the operator that differs.")
