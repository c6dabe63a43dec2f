"""Page for an issue on the result: releases, operator, a workaround, a model and a script."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.files import atomic_write, make_folder, to_bytes
from polycmp.plan import to_command
from polycmp_bisect.locating import run_polycmp, words_for
from polycmp_bisect.scripts import last_line_of, machine, releases_in, script_for

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry

_SCRIPT = "repro.py"


@dataclass(frozen=True)
class Story:
    """Contents of a page.

    Attributes:
        title: The title.
        turn: In one sentence, where it turns from right to wrong.
        looked_at: Heading for the things that rows of the table stand for.
        rows: Candidates, each with the result.
        plan: The run that is wrong.
        operator: Sentence on the operator; empty if none is known.
        way_round: Command to type until the fault is mended.
        again: The commands that find it again.
        package: The package of the runtime; empty where the fault is not a runtime's.
        interpreters: Interpreters of environments by name, in which the script is run.
        typed: The run that is wrong as somebody types it, where that is another one.
        tool: The package whose command writes the model; empty where it is searched over something else.
        steps: The commands that write the model.
    """

    title: str
    turn: str
    looked_at: str
    rows: Sequence[tuple[str, str]]
    plan: Plan
    operator: str = ""
    way_round: str = ""
    again: Sequence[str] = ()
    package: str = ""
    interpreters: Mapping[str, str] = field(default_factory=dict)
    typed: Plan | None = None
    tool: str = ""
    steps: Sequence[str] = ()


def explain(story: Story, folder: Path, registry: Registry) -> str:
    """Write the page, and beside it the smallest model that shows the fault as a zip file, and a script that runs it.

    Returns:
        The path of the page.

    Raises:
        FileError: It cannot be written.
    """
    make_folder(folder)
    bundle = _bundle(story.plan, folder, registry)
    script = script_for(story.package) if bundle else ""
    outputs: dict[str, str] = {}
    if script:
        with atomic_write(folder / _SCRIPT) as file:
            file.write(to_bytes(script))
        outputs = {name: last_line_of(folder / _SCRIPT, python) for name, python in story.interpreters.items()}
    page = folder / "issue.md"
    with atomic_write(page) as file:
        file.write(to_bytes("\n".join(_lines(story, bundle, script, outputs, registry)) + "\n"))
    return str(page)


def _bundle(plan: Plan, folder: Path, registry: Registry) -> str:
    """Return the name of a zip file with a small model, as `debug reduce` and `debug bundle` make it; empty if none."""
    words = words_for("debug reduce", plan, registry)
    if words is None:
        return ""
    case, target = folder / "case", folder / "case.zip"
    run_polycmp([*words, "--save-repro", str(case)])
    run_polycmp(["debug", "bundle", str(case), "-o", str(target)])
    return target.name if target.exists() else ""


def _lines(story: Story, bundle: str, script: str, outputs: Mapping[str, str], registry: Registry) -> Iterator[str]:
    yield from (f"# {story.title}", "", story.turn, "")
    yield from (f"| {story.looked_at} | result |", "|---|---|")
    yield from (f"| {name} | {_cell(words)} |" for name, words in story.rows)
    yield ""
    if story.operator:
        yield from (f"**Operator:** {story.operator.partition('; workaround: ')[0]}", "")
    if story.way_round:
        yield from (f"**Workaround:** `{story.way_round}`", "")
    if bundle:
        yield from (
            f"**The smallest model that shows it**, with its inputs and what is right: [{bundle}]({bundle}).", ""
        )  # fmt: skip
    if script:
        yield from ("With that unpacked, and nothing but the runtime:", "", "```python", script.rstrip(), "```", "")
    if outputs:
        yield from ("| environment | prints |", "|---|---|")
        yield from (f"| {name} | `{_cell(text)}` |" for name, text in outputs.items())
        yield ""
    yield from ("**With polycmp:**", "", "```sh", f"pip install {shlex.join(_packages(story.plan, registry))}")
    yield from story.steps
    yield to_command(story.typed or story.plan, registry)
    yield from story.again
    yield from ("```", "", "**Versions:**", "")
    here = [] if story.interpreters and not story.tool else [("this environment", sys.executable)]
    for name, python in (*story.interpreters.items(), *here):
        yield f"- {name}: {releases_in(python, _runtimes(story, registry))}"
    yield f"- {machine()}"


def _runtimes(story: Story, registry: Registry) -> Iterator[str]:
    yield from filter(None, [story.package, story.tool])
    for item in story.plan.backends:
        if item.backend in registry.runners:
            for need in registry.find_runner(item.backend).spec.needs:
                yield from (name.partition(".")[0] for name in need.split("|"))
    yield from ("numpy", "onnx")


def _packages(plan: Plan, registry: Registry) -> list[str]:
    known = [registry.find_runner(item.backend).distribution for item in plan.backends]
    return list(dict.fromkeys(["polycmp", *known, "polycmp-bisect"]))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
