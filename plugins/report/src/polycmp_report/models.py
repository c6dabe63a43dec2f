"""The models of a result, as headings name them."""

from __future__ import annotations

from pathlib import Path

from polycmp.report import Result


def named(result: Result) -> str:
    """Return the models' file names with what identifies each; empty where a result knows of none."""
    return " and ".join(_named(path, words) for path, words in result.models.items())


def file_names(result: Result) -> str:
    """Return the models' file names alone."""
    return " and ".join(dict.fromkeys(Path(path).name for path in result.models))


def _named(path: str, words: str) -> str:
    name = Path(path).name
    return f"{name} ({words})" if words else name


def prefixed(result: Result, text: str) -> str:
    """Return a name after those of the models' files, which stays the same when a model is trained again."""
    models = file_names(result)
    return f"{models}: {text}" if models else text
