"""The error messages of all packages, read from their source, for the page `reference/errors.md` of the site."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
MARK = "<!-- error messages -->"
#: What raises an error with a message as its first argument -> exit status on the command line.
ERRORS = {
    "UsageError": 2,
    "InvalidValueError": 2,
    "PluginError": 3,
    "ModelError": 3,
    "BackendError": 3,
    "WorkerError": 3,
    "DataError": 3,
    "FileError": 3,
    "ComparisonError": 3,
}


class Entry(NamedTuple):
    """One message.

    Attributes:
        message: Its text, with an ellipsis where names and figures stand.
        status: The exit status of a command that ends with it.
        next: What the error tells to do, in the same form; empty if it tells nothing, or it is put together elsewhere.
        package: The distribution that raises it.
    """

    message: str
    status: int
    next: str
    package: str


@cache
def entries() -> tuple[Entry, ...]:
    """Return all messages in alphabetical order, each once."""
    found = {
        entry
        for folder in (ROOT / "core", *sorted((ROOT / "plugins").iterdir()))
        for path in sorted((folder / "src").rglob("*.py"))
        for entry in _of_file(path, "polycmp" if folder.name == "core" else f"polycmp-{folder.name}")
    }
    return tuple(sorted(found, key=lambda entry: (entry.message.lstrip("…'\" ").lower(), entry)))


def table() -> str:
    """Return the messages as a Markdown table."""
    rows = [f"| {_cell(item.message)} | {_cell(item.next)} | {item.status} | {item.package} |" for item in entries()]
    return "\n".join(["| message | next | exit | package |", "|---|---|---|---|", *rows])


def _of_file(path: Path, package: str) -> Iterator[Entry]:
    text = path.read_text(encoding="utf-8")
    if not any(f"{name}(" in text for name in ERRORS):  # parsing takes most of the time
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in ERRORS and (message := _text(node.args[0])).strip("… "):
            hint = next((_text(item.value) for item in node.keywords if item.arg == "hint"), "")
            yield Entry(message, ERRORS[name], hint if hint.strip("… ") else "", package)


def _text(node: ast.expr) -> str:
    """Return a text as it stands in the source, an ellipsis for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return "…"


def _cell(text: str) -> str:
    escaped = " ".join(text.split()).replace("|", "\\|").replace("`", "'")
    return f"`{escaped}`" if escaped else ""
