"""The seven words that every command ends with: nothing else is one, and the page says what each means."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from polycmp.sentences import MEANINGS

ROOT = Path(__file__).parents[1]
SOURCES = [
    path for folder in (ROOT / "core/src", *ROOT.glob("plugins/*/src")) for path in folder.rglob("*.py")
    if "testing" not in path.parts
]  # fmt: skip


def headings(path: Path) -> list[str]:
    """Return the words that results in a file have as literals."""
    text = path.read_text(encoding="utf-8")
    if "Result(" not in text and "build_result(" not in text:
        return []
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    results = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in {"Result", "build_result"}]
    values = [word.value for call in results for word in call.keywords if word.arg == "heading"]
    values += [call.args[2] for call in results if len(call.args) > 2]
    return [node.value for value in values for node in ast.walk(value) if isinstance(node, ast.Constant) and node.value]


def test_no_command_has_a_word_of_its_own():
    assert len(SOURCES) > 500
    assert {str(path): found for path in SOURCES if (found := headings(path))} == {}


@pytest.mark.parametrize("word", MEANINGS)
def test_the_page_says_what_each_word_means(word):
    page = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    statuses, text = MEANINGS[word]
    assert f"| {word} | {' or '.join(map(str, statuses))} | {text} |" in page
