"""Saved metrics on disk: our own file, and reading Polygraphy's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from polycmp.builtin.accuracy.metrics import MetricRecord, MetricsFile, PairRecord
from polycmp.builtin.accuracy.polygraphy_file import check_passed, from_accuracy_results
from polycmp.errors import FileError, describe_exception
from polycmp.files import write_document
from polycmp.options import parse_json

FORMAT = "polycmp metrics"
SCHEMA = 1
#: Annotations of fields, and what a value read for them has to be.
_KINDS = {"str": str, "int": int, "Mapping": Mapping}
#: Metrics that count elements.
COUNTS = ("elements", "failed_elements")
HINT = "write such a file with: polycmp run … --save-accuracy-results FILE"


def save_metrics(content: MetricsFile, path: str) -> None:
    """Write the file, whole or not at all.

    Raises:
        FileError: It cannot be written.
    """
    data = {
        "format": FORMAT,
        "schema": SCHEMA,
        "command": content.command,
        "average": content.average,
        "errors": content.errors,
        "pairs": [vars(item) for item in content.pairs],
        "records": [_values(item) for item in content.records],
    }
    write_document(path, data)


def _values(record: MetricRecord) -> dict[str, Any]:
    """Return a record as its file holds it; what earlier versions do not know is there only where it says something."""
    return {name: value for name, value in vars(record).items() if value or name != "inconclusive"}


def load_metrics(path: str) -> MetricsFile:
    """Read a file of metrics, ours or one of Polygraphy's accuracy results.

    Raises:
        FileError: It cannot be read, or holds something else.
    """
    try:
        data = parse_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError("cannot read these metrics", whose=path, why=describe_exception(error), hint=HINT) from error
    try:
        if isinstance(data, dict) and data.get("polygraphy_class") == "AccuracyResults":
            return from_accuracy_results(data)
        if isinstance(data, dict) and data.get("format") == FORMAT:
            return _from_json(data, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError("this file of metrics is damaged", whose=path, why=describe_exception(error)) from error
    raise FileError("holds no metrics", whose=path, why="it is JSON of another kind", hint=HINT)


def _from_json(data: Mapping[str, Any], path: str) -> MetricsFile:
    if data["schema"] != SCHEMA:
        raise FileError(
            f"is of schema {data['schema']}",
            whose=path,
            why=f"this polycmp reads schema {SCHEMA}",
            hint="pip install -U polycmp",
        )
    pairs = [PairRecord(**_of_their_kinds(PairRecord, item)) for item in data["pairs"]]
    records = [_record(item) for item in data["records"]]
    listed = {(pair.candidate, pair.reference) for pair in pairs}
    for record in records:
        if (record.candidate, record.reference) not in listed:
            raise ValueError(f"{record.candidate!r} against {record.reference!r} is not one of the pairs")
    return MetricsFile(
        records,
        pairs,
        dict(data["errors"]),
        str(data["command"]),
        bool(data["average"]),
    )


def _record(item: Mapping[str, Any]) -> MetricRecord:
    values = _of_their_kinds(MetricRecord, item)
    metrics = {str(name): float(value) for name, value in item["metrics"].items()}
    if any(math.isnan(metrics.get(name, 0.0)) for name in COUNTS):
        raise ValueError("a count of elements is not a number")
    check_passed(item["passed"], item["output"])
    return MetricRecord(**{**values, "metrics": metrics})


def _of_their_kinds(record: type, item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a record, each a text, a whole number or a table as its field says.

    Raises:
        TypeError: A value is of another kind.
    """
    for each in fields(record):
        kind = next((kind for name, kind in _KINDS.items() if str(each.type).startswith(name)), object)
        value = item.get(each.name, each.default)
        if not isinstance(value, kind) and not (value is None and "None" in str(each.type)) and each.name in item:
            raise TypeError(f"{each.name!r} is {value!r}")
    return item
