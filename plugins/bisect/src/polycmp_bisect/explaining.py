"""One page on what was found, fit to be posted as an issue: releases, operator, a way round, a model and a script."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.files import atomic_write, make_folder, to_bytes
from polycmp.plan import spec_texts, to_command
from polycmp_bisect.candidates.backwards import Backwards
from polycmp_bisect.chain import words_for
from polycmp_bisect.judging import words_of

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry
    from polycmp_bisect.result import Answer

_PATIENCE = 1800.0


def explain(answer: Answer, folder: Path, registry: Registry) -> str:
    """Write the page, and beside it the zip file with the smallest model that shows the fault.

    Returns:
        The path of the page.

    Raises:
        FileError: It cannot be written.
    """
    make_folder(folder)
    bad = answer.found.first_bad
    assert bad is not None
    plan = answer.candidates.plan(bad)
    bundle = _bundle(plan, folder, registry)
    page = folder / "issue.md"
    with atomic_write(page) as file:
        file.write(to_bytes("\n".join(_lines(answer, plan, bundle, registry)) + "\n"))
    return str(page)


def _bundle(plan: Plan, folder: Path, registry: Registry) -> str:
    """Return the name of a zip file with a small model, as `debug reduce` and `debug bundle` make it; empty if none."""
    words = words_for("debug reduce", plan, registry)
    if words is None:
        return ""
    case, target = folder / "case", folder / "case.zip"
    _polycmp([*words, "--save-repro", str(case)])
    _polycmp(["debug", "bundle", str(case), "-o", str(target)])
    return target.name if target.exists() else ""


def _polycmp(words: Sequence[str]) -> None:
    """Run a command to its end; what it could not do is not there afterwards."""
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            [sys.executable, "-m", "polycmp", *words], capture_output=True, timeout=_PATIENCE, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip


def _lines(answer: Answer, plan: Plan, bundle: str, registry: Registry) -> Iterator[str]:
    found, names, what = answer.found, answer.candidates.names, answer.candidates.what
    bad, good = answer.name(found.first_bad), answer.name(found.last_good)
    mended = isinstance(answer.candidates, Backwards)
    yield f"# Wrong results with {what} {bad}" + (f", right with {good}" if good else "")
    yield ""
    if good:
        turn = (
            f"Mended in {good}; {bad} is the last bad one."
            if mended
            else f"{good} is right, {bad} is the first bad one."
        )
        yield turn
        yield ""
    yield f"| {what} | result |"
    yield "|---|---|"
    for place, item in sorted(found.judged.items(), reverse=mended):
        yield f"| {names[place]} | {_cell(words_of(item))} |"
    yield ""
    if answer.operator.sentence:
        yield f"**Operator:** {answer.operator.sentence}"
        yield ""
    if answer.operator.way_round:
        yield f"**A way round:** `{answer.operator.way_round}`"
        yield ""
    if bundle:
        yield f"**The smallest model that shows it**, with inputs and versions: [{bundle}]({bundle})."
        yield ""
    yield "**To repeat it:**"
    yield ""
    yield "```sh"
    yield f"pip install {shlex.join(_packages(plan, registry))}"
    yield to_command(plan, registry)
    if answer.operator.command:
        yield answer.operator.command
    yield answer.command
    yield "```"
    yield ""
    backends = ", ".join(f"`{item}`" for item in spec_texts(plan.backends))
    yield f"Backends: {backends}. Python {sys.version.split()[0]}, {sys.platform}."


def _packages(plan: Plan, registry: Registry) -> list[str]:
    known = [registry.find_runner(item.backend).distribution for item in plan.backends]
    return list(dict.fromkeys(["polycmp", *known, "polycmp-bisect"]))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
