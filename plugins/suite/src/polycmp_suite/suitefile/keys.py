"""The keys of a case that are the suite's own; every other key is an option of the case's command."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polycmp.errors import UsageError, did_you_mean
from polycmp.options import parse_size
from polycmp_suite.suitefile.case import Expected

#: Other names of options, as issue trackers and people use them.
SYNONYMS: Mapping[str, str] = {"backends": "backend", "shapes": "input-shapes", "input_shapes": "input-shapes"}


def text(value: Any) -> str:
    """Return a text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError("a text is wanted")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts; a single text is a list of one."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) and item.strip() for item in items):
        raise UsageError("a list of texts is wanted")
    return tuple(items)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def seconds(value: Any) -> float:
    """Return a number of seconds above zero."""
    if not _number(value) or not 0 < value < float("inf"):
        raise UsageError("a number of seconds above 0 is wanted")
    return float(value)


def count(value: Any) -> int:
    """Return a whole number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError("a whole number from 0 is wanted")
    return value


def size(value: Any) -> int:
    """Return a number of bytes, from a number or a text such as `2G`."""
    return count(value) if isinstance(value, int) else parse_size(text(value))


def resources(value: Any) -> dict[str, float]:
    """Return amounts by name."""
    if not isinstance(value, Mapping) or not all(_number(amount) and amount > 0 for amount in value.values()):
        raise UsageError("a table of amounts is wanted: { trt86 = 1 }")
    return {name: float(amount) for name, amount in value.items()}


def table(value: Any) -> dict[str, Any]:
    """Return a table."""
    if not isinstance(value, Mapping):
        raise UsageError("a table is wanted")
    return dict(value)


def expected(value: Any) -> Expected:
    """Return an expected failure."""
    if not isinstance(value, Mapping):
        raise UsageError('a table is wanted: { reason = "WHY", until = 2027-01-31 }')
    unknown = [key for key in value if key not in {"reason", "verdict", "until"}]
    if unknown:
        raise UsageError(
            f"there is no key {unknown[0]!r}", why=did_you_mean(unknown[0], ("reason", "verdict", "until"))
        )
    if not isinstance(value.get("reason"), str) or not value["reason"].strip():
        raise UsageError("a reason is missing", why="readers of the report need to know why a failure is expected")
    if value.get("verdict", "failed") not in ("failed", "undecided", "blind", "error"):
        raise UsageError("verdict is 'failed', 'undecided', 'blind' or 'error'")
    until = value.get("until")
    if isinstance(until, datetime.datetime) or not isinstance(until, (datetime.date, type(None))):
        raise UsageError("until is a date without quotes: until = 2027-01-31")
    return Expected(value["reason"], value.get("verdict", ""), until)


@dataclass(frozen=True)
class SuiteKey:
    """A key of a case that belongs to the suite and not to the case's command.

    Attributes:
        read: Turns its value into what a case holds.
        default: Value of a case that does not have the key.
        help: Meaning of the key, for editors.
        schema: JSON Schema of its values, for editors.
    """

    read: Callable[[Any], Any]
    default: Any
    help: str
    schema: Mapping[str, Any]


_TEXT: Mapping[str, Any] = {"type": "string", "pattern": r"\S"}
_TEXTS: Mapping[str, Any] = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}
_TABLE: Mapping[str, Any] = {"type": "object"}
_SECONDS: Mapping[str, Any] = {"type": "number", "exclusiveMinimum": 0}
_BYTES: Mapping[str, Any] = {"anyOf": [_COUNT, _TEXT]}
_AMOUNTS: Mapping[str, Any] = {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}
_EXPECTED: Mapping[str, Any] = {
    "type": "object",
    "required": ["reason"],
    "properties": {
        "reason": _TEXT,
        "verdict": {"enum": ["failed", "undecided", "blind", "error"]},
        "until": {"type": "string", "format": "date", "description": "Last day on which it is expected, a date."},
    },
    "additionalProperties": False,
}
_NO_AXES = ("matrix", "name", "config", "releases")
_MATRIX: Mapping[str, Any] = {
    "type": "object",
    "properties": {key: {"not": {"description": "no axis of a matrix"}} for key in _NO_AXES},
    "additionalProperties": {
        "anyOf": [{"type": "array", "minItems": 1}, {"type": "object", "minProperties": 1}],
    },
}

SUITE_KEYS: Mapping[str, SuiteKey] = {
    "name": SuiteKey(text, "", "Name of the case; by default the model's path without its ending.", _TEXT),
    "model": SuiteKey(texts, (), "A model, a pattern, or a list of both: a case for each.", _TEXTS),
    "command": SuiteKey(text, "run", "Command of the case.", _TEXT),
    "config": SuiteKey(text, "", "A run file; keys of the case win over it.", _TEXT),
    "tags": SuiteKey(texts, (), "Words for --tag and -k.", _TEXTS),
    "needs": SuiteKey(texts, (), "Requirements on the machine: cuda, a module, a name given with --provide.", _TEXTS),
    "files": SuiteKey(texts, (), "Further files that the case reads, for executors that run it elsewhere.", _TEXTS),
    "timeout": SuiteKey(seconds, 0.0, "Seconds after which the case is ended.", _SECONDS),
    "locate": SuiteKey(
        seconds,
        0.0,
        "Seconds in which polycmp locate may look for the first wrong tensor, if the case differs.",
        _SECONDS,
    ),
    "retries": SuiteKey(count, 0, "Further attempts at a case that could not be compared.", _COUNT),
    "memory": SuiteKey(size, 0, 'Bytes that its processes may take together: "4G".', _BYTES),
    "gpus": SuiteKey(count, 0, "GPUs that the case takes for itself.", _COUNT),
    "resources": SuiteKey(resources, {}, "Further resources on a cluster: { trt86 = 1 }.", _AMOUNTS),
    "expected-failure": SuiteKey(expected, None, 'A known failure: { reason = "WHY", until = 2027-01-31 }.', _EXPECTED),
    "options": SuiteKey(table, {}, "Options of the command whose names are also keys of a case.", _TABLE),
    "matrix": SuiteKey(table, {}, "Keys with a list of values for each: a case for every combination.", _MATRIX),
    "releases": SuiteKey(texts, (), "Releases of the first backend's runtime: a case for each.", _TEXTS),
}

FORBIDDEN: Mapping[str, str] = {
    "report": "the suite writes the reports of its cases itself; give --report to `polycmp suite`",
    "write-config": "a suite writes no run files",
    "gen-script": "a suite writes no scripts",
}
"""Options that a case cannot have, with the reason."""
