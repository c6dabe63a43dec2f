"""Checks of the steps of `debug`: programs that look at a model's file without a library that reads it.

Importing onnx would take ten times as long as all else of a step, and starting Python longer than a shell and grep.
"""

from __future__ import annotations

from pathlib import Path

#: Counts the operators of the model file that is a script's first word, by their names.
COUNT = """names=$(LC_ALL=C grep -aoE "$(printf '\\032').[a-z]+[0-9]*\\"" "$1" | wc -l)"""


def _printed(content: bytes) -> str:
    """Return an expression of a shell for bytes, none of which is 0."""
    return "$(printf '" + "".join(f"\\{byte:03o}" for byte in content) + "')"


def operator_in_file(name: str) -> str:
    """Return a pattern of grep for an operator's name, as it stands in a file before the operator's type."""
    return _printed(b"\x1a" + bytes([len(name)]) + name.encode() + b'"')


def float32_in_file(name: str) -> str:
    """Return a pattern of grep for a weight of type float32 by its name."""
    return _printed(b"\x10\x01B" + bytes([len(name)]) + name.encode())


def save_check(path: str | Path, pattern: str, *, there: int = 0, gone: int = 0, before: str = "") -> list[str]:
    """Write a check of the model file that is its first word; return the command without that word.

    Args:
        path: The script.
        pattern: Pattern of grep.
        there: Exit status where the file has it.
        gone: Exit status where it has not.
        before: Lines that come first.
    """
    look = f'LC_ALL=C grep -aq "{pattern}" "$1"'
    Path(path).write_text(f"{before}\nif {look}; then exit {there}; else exit {gone}; fi\n")
    return ["sh", str(path)]
