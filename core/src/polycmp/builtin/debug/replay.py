"""The steps of a search on disk, so that a search that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polycmp.errors import FileError, describe_exception
from polycmp.files import atomic_write, to_bytes
from polycmp.options import parse_json

__all__ = ["HINT", "Replay"]

_CLASS = "IterationContext"
HINT = "such a file is written with --save-debug-replay FILE"


class Replay:
    """Verdicts by what was tried. The file has Polygraphy's layout.

    Args:
        load: The file of an earlier search; empty for none.
        save: File to which each verdict is saved as soon as it is known; empty for none. If it is the one of the
            earlier search, the steps of that stay in it.

    Attributes:
        taken: Number of verdicts taken from the earlier search.

    Raises:
        FileError: The file cannot be read, or holds something else.
    """

    def __init__(self, load: str = "", save: str = "") -> None:
        self.taken: int = 0
        self._path = save
        earlier = _read(load) if load else {}
        self._known = {_key(entry["state"]): bool(entry["success"]) for entry in earlier.values()}
        self._entries: dict[str, Any] = dict(earlier) if load and _is_one(load, save) else {}

    def find(self, state: Mapping[str, Any]) -> bool | None:
        """Return whether what was tried passed in the earlier search; None if that did not try it."""
        kept = self._known.get(_key(state))
        self.taken += kept is not None
        return kept

    def add(self, index: int, suffix: str, state: Mapping[str, Any], passed: bool) -> None:
        """Keep a verdict.

        Args:
            index: The step, counted from 0.
            suffix: Name of the part of the search that it belongs to; empty for the whole.
            state: The state that was tried, as plain values.
            passed: The verdict.

        Raises:
            FileError: The file cannot be written.
        """
        name = f"_N{index}" + (f"_{suffix}" if suffix else "")
        self._entries[name] = {
            "state": dict(state),
            "iteration_info": {"iteration": index},
            "success": passed,
            "polygraphy_class": _CLASS,
        }
        if self._path:
            with atomic_write(self._path) as file:
                file.write(to_bytes(json.dumps(self._entries, indent=2)))


def _key(state: Mapping[str, Any]) -> str:
    return json.dumps(state, sort_keys=True)


def _is_one(path: str, other: str) -> bool:
    return bool(other) and Path(path).resolve() == Path(other).resolve()


def _read(path: str) -> dict[str, Mapping[str, Any]]:
    try:
        content = parse_json(Path(path).read_text(encoding="utf-8"))
        entries = {name: content[name] for name in content}
        if not all(isinstance(item["state"], dict) and isinstance(item["success"], bool) for item in entries.values()):
            raise FileError("does not hold the steps of a search", whose=path, hint=HINT)
    except (OSError, ValueError) as error:
        raise FileError("cannot be read", whose=path, why=describe_exception(error), hint=HINT) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise FileError("does not hold the steps of a search", whose=path, hint=HINT) from error
    return entries
