"""A result as SARIF 2.1.0, which code hosts show as alerts: one for each failure, at the line that it belongs to."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from urllib.parse import quote

import polycmp
from polycmp.files import to_bytes, write_document
from polycmp.report import Result
from polycmp.terminal import shorten, visible
from polycmp_report.failures import Failure, failures

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
HOME = "https://polycmp.github.io/polycmp/"
#: Results of a file; GitHub shows 5,000 of each and drops the rest.
RESULTS = 5000


class _Rule(NamedTuple):
    """A kind of failure: identity, name, level, what it means, and the page that explains it."""

    id: str
    name: str
    level: str
    meaning: str
    page: str


_FIRST = _Rule(
    "first-wrong-tensor",
    "FirstWrongTensor",
    "error",
    "The first tensor inside the model that goes wrong. Errors of the tensors after it follow from it.",
    "locating/",
)
_RULES = {
    "failed": _Rule(
        "differs", "OutputDiffers", "error", "An output is farther from the reference than its tolerance.", "comparing/"
    ),
    "error": _Rule(
        "not-compared", "NotCompared", "error", "A backend failed, so that its outputs were not compared.", "comparing/"
    ),
    "blind": _Rule(
        "blind",
        "BlindComparison",
        "warning",
        "The comparison passes, and would have passed wrong outputs, too: give inputs or tolerances that can fail.",
        "comparing/",
    ),
    "undecided": _Rule(
        "undecided",
        "UndecidedComparison",
        "warning",
        "The outputs differ, and rounding alone may explain any difference of this size.",
        "comparing/",
    ),
}
_ALL = (*_RULES.values(), _FIRST)


def write(result: Result, path: str) -> None:
    """Write the report, whole or not at all.

    Raises:
        FileError: The file cannot be written.
    """
    write_document(path, to_sarif(result))


def to_sarif(result: Result) -> dict[str, Any]:
    """Return the result as a SARIF log of one run, as plain values."""
    driver = {
        "name": "polycmp",
        "version": polycmp.__version__,
        "informationUri": HOME,
        "rules": [_described(rule) for rule in _ALL],
    }
    call = {"executionSuccessful": result.verdict != "error", "exitCode": result.exit_code}
    run = {
        "tool": {"driver": driver},
        "invocations": [{**call, **({"commandLine": result.command_line} if result.command_line else {})}],
        "artifacts": [
            {"location": _uri(path), **({"description": {"text": _text(words)}} if words else {})}
            for path, words in result.models.items()
        ],
        "results": [_result(failure, result) for failure in failures(result)[:RESULTS]],
        "properties": {"verdict": result.verdict, "summary": _text(result.summary)},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _described(rule: _Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.meaning},
        "fullDescription": {"text": rule.meaning},
        "help": {"text": f"{rule.meaning} See {HOME}{rule.page}"},
        "helpUri": HOME + rule.page,
        "defaultConfiguration": {"level": rule.level},
    }


def _result(failure: Failure, result: Result) -> dict[str, Any]:
    rule = _FIRST if failure.first else _RULES[failure.state]
    # Nothing of it changes when a model is trained again, or a case moves in its suite.
    stands_for = "\0".join((rule.id, result.command, *map(_relative, result.models), failure.title))
    place: dict[str, Any] = {}
    file = failure.file or next(iter(result.models), "")
    if file:  # hosts ask for a line; of a model it is the first
        region = {"startLine": max(failure.line, 1)}
        place["physicalLocation"] = {"artifactLocation": _uri(file), "region": region}
    if failure.name:
        place["logicalLocations"] = [{"fullyQualifiedName": visible(failure.name), "kind": "element"}]
    return {
        "ruleId": rule.id,
        "ruleIndex": _ALL.index(rule),
        "level": rule.level,
        "message": {"text": _text(f"{failure.title}: {failure.text}" if failure.text else failure.title)},
        **({"locations": [place]} if place else {}),
        # Under the one name that GitHub reads; else it would take the digest of a line of the model's bytes.
        "partialFingerprints": {"primaryLocationLineHash": hashlib.sha256(to_bytes(stands_for)).hexdigest()[:32]},
    }


def _uri(path: str) -> dict[str, str]:
    relative = _relative(path)
    if PurePath(relative).is_absolute():
        return {"uri": Path(to_bytes(relative).decode()).as_uri()}
    return {"uri": quote(to_bytes(relative)), "uriBaseId": "%SRCROOT%"}


def _relative(path: str) -> str:
    """Return a path as seen from the current folder, with slashes; an absolute one where it lies elsewhere."""
    whole = Path(path).absolute()
    here = Path.cwd()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else str(whole)


def _text(text: str) -> str:
    """Return a text as SARIF's messages want it: braces and links have a meaning there."""
    return visible(shorten(text)).replace("{", "{{").replace("}", "}}").replace("](", "] (")
