"""Options of `polycmp bisect`."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.spec import opt, parse_above_zero

#: What `--over` may name besides a package.
_NO_PACKAGES = ("python", "files", "passes")


def _held(text: str) -> str:
    from polycmp_bisect.environments.packages import held_release

    return held_release(text)


@dataclass(frozen=True)
class BisectSection:
    """Searching."""

    over: str = opt(
        "",
        help="What to search: releases of a package (by default the one behind the first backend), versions of "
        "Python, files, or passes of an optimizer. If the package writes MODEL, give the command that does so "
        "after --.",
        metavar="PACKAGE|python|files|passes",
        installs=lambda text: text not in _NO_PACKAGES,
    )
    good: str = opt("", help="A release or file that is known to be right; searched for by default.", metavar="NAME")
    bad: str = opt(
        "",
        help="A release or file that is known to be wrong; by default the installed release, or the last file.",
        metavar="NAME",
    )
    releases: tuple[str, ...] = opt((), help="Consider only these releases.", metavar="NAME")
    beside: tuple[str, ...] = opt(
        (),
        help="Other packages to install in each environment, at the version installed here unless another is given.",
        alias="--with",
        metavar="PACKAGE[==VERSION]",
        parse=_held,
        installs=True,
    )
    find_links: tuple[str, ...] = opt(
        (),
        help="More folders or pages with wheels, besides those that pip is configured for.",
        metavar="DIR|URL",
        executes=True,
    )
    pre: bool = opt(False, help="Include pre-releases.")
    passes: tuple[str, ...] = opt(
        (),
        help="With --over passes and a COMMAND: names of the passes, put in place of {passes} or {skipped} in the "
        "command. Those of onnxoptimizer are looked up.",
        metavar="NAME",
    )
    slower: float = opt(
        0.0,
        help="Judge by time: wrong means this many times slower than before. Use with --iterations.",
        metavar="FACTOR",
        parse=parse_above_zero,
    )
    resume: bool = opt(False, help="Continue an interrupted search without repeating what has been judged.")
    explain: str = opt(
        "",
        help="Write a page about the finding, ready to post as an issue, and the smallest model that reproduces it.",
        metavar="DIR",
        writes=True,
    )
    no_locate: bool = opt(False, help="Do not look for the operator that differs.")
