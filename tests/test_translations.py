"""The pages in simplified Chinese keep step with the English ones: the same headings, commands, files and links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": ROOT / "README.md",
    "start.md": ROOT / "docs" / "start.md",
    "cheat-sheet.md": ROOT / "docs" / "cheat-sheet.md",
    "decoders.md": ROOT / "docs" / "decoders.md",
    "mixed-precision.md": ROOT / "docs" / "mixed-precision.md",
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def outline(text: str) -> list[int]:
    """Return the levels of the headings, in order."""
    return [len(marks) for marks in re.findall(r"^(#+) ", FENCE.sub("", text), re.MULTILINE)]


def to_type(text: str) -> list[str]:
    """Return what a reader types: commands of consoles, whole files and scripts; not what is printed."""
    found = []
    for kind, body in FENCE.findall(text):
        if kind == "console":
            found += [line for line in body.splitlines() if line.startswith("$ ")]
        else:
            found.append(body)
    return found


def first_cells(text: str) -> list[str]:
    """Return the first cell of each row of tables that begins with code or is a number."""
    return re.findall(r"^\| (`[^|]*|\d+) \|", FENCE.sub("", text), re.MULTILINE)


@pytest.fixture(params=PAGES)
def both(request) -> tuple[str, str]:
    translated = ROOT / "docs" / "zh" / request.param
    return PAGES[request.param].read_text(encoding="utf-8"), translated.read_text(encoding="utf-8")


def test_headings_are_the_same(both):
    assert outline(both[0]) == outline(both[1])


def test_commands_and_files_are_the_same(both):
    assert to_type(both[0]) == to_type(both[1])


def test_tables_name_the_same(both):
    assert first_cells(both[0]) == first_cells(both[1])


def test_headings_and_tables_are_translated(both):
    lines = re.findall(r"^## (?!Python$)(.+)$", FENCE.sub("", both[1]), re.MULTILINE)
    assert lines
    assert [line for line in lines if not CHINESE.search(line)] == []
