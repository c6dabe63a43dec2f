"""What was found, as Markdown: counts per architecture and per fault, and what is not right."""

from __future__ import annotations

import datetime
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from truth.host import cpu_flags
from truth.judge import GRADES, RIGHT, Judged
from truth.scenario import NO_FAULT, Scenario

_PACKAGES = ("onnx", "onnxruntime", "numpy", "openvino", "torch", "transformers")


def machine() -> str:
    """Return date, machine and versions in one line."""
    found = [f"{name} {_version(name)}" for name in _PACKAGES if _version(name)]
    flags = " ".join(cpu_flags()) or "unknown"
    today = datetime.datetime.now(datetime.timezone.utc).date()
    host = f"{platform.system()} on {platform.machine()} ({flags})"
    return f"{today}; {host}; Python {platform.python_version()}, {', '.join(found)}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def counts(judged: Sequence[Judged], key: Callable[[Judged], str]) -> str:
    """Return a table of grades by something."""
    by: dict[str, Counter[str]] = {}
    for item in judged:
        by.setdefault(key(item), Counter())[item.grade] += 1
    by = {**dict(sorted(by.items())), "**all**": Counter(item.grade for item in judged)}
    rows = ([name, sum(of.values()), *(of[grade] or "" for grade in GRADES)] for name, of in by.items())
    return markdown_table(["", "scenarios", *GRADES], rows)


def markdown_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def write_page(output: Path, text: str) -> None:
    """Write a page, and say where."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, "utf-8")
    print(f"wrote {output}")


def wrong(judged: Sequence[Judged]) -> str:
    """Return what is not right, and what repeats it."""
    lines = []
    for item in judged:
        if item.grade != RIGHT:
            said = item.said.sentence or " ".join(item.said.text.split())[-300:]
            lines += [f"- **{item.scenario.name}**: {item.grade}. Said: “{said}”"]
            lines += [f"  Pending: {item.scenario.pending}"] if item.scenario.pending else []
    return "\n".join(lines) or "Nothing."


def left_out(scenarios: Sequence[Scenario]) -> str:
    """Return what could not be tried here, and what it needs; empty if nothing."""
    needed = Counter(item.needs for item in scenarios)
    return "".join(f"\n{count} scenarios were left out, which need {needs}.\n" for needs, count in needed.items())


def page(judged: Sequence[Judged], left: Sequence[Scenario], mutations: str, seconds: float) -> str:
    """Return the whole page.

    Args:
        judged: Every scenario that was run.
        left: Those that could not be tried here.
        mutations: What `truth.mutation` counted, as Markdown.
        seconds: How long the scenarios took.
    """
    faults = [item for item in judged if item.scenario.fault != NO_FAULT]
    clean = len(judged) - len(faults)
    return f"""# What polycmp said, and what is true

Written by `make truth`. {machine()}.

{len(judged)} scenarios ({len(faults)} with a fault, {clean} without) took {seconds:.0f} s. *Right*: verdict,
operator and exit status are those that an expert would sign. *Other sentence*: operator and exit status are.
{left_out(left)}
## By architecture

{counts(judged, lambda item: item.scenario.architecture)}

## By fault

{counts(judged, lambda item: item.scenario.fault)}

## Not right

{wrong(judged)}

## Mutations

{mutations}
"""
