"""Saved metrics: the figures and verdicts of a comparison, one flat record per output, iteration and function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polycmp.errors import FileError, describe_exception
from polycmp.files import write_json

FORMAT = "polycmp metrics"
SCHEMA = 1
HINT = "write such a file with: polycmp run … --save-accuracy-results FILE"


@dataclass(frozen=True)
class MetricRecord:
    """What one compare function said of one output in one iteration.

    Attributes:
        candidate: Label of the candidate.
        reference: Label of the reference.
        iteration: Counted from 0.
        output: The output's name.
        function: The compare function; empty for what no function decides, such as a missing output.
        passed: The verdict; None if the file leaves it to the settings.
        reason: The verdict in words.
        metrics: Figures by name.
        settings: The function's options as far as they concern this output.
        candidate_type: Element type and shape of the candidate's output; empty if it has none.
        reference_type: Likewise of the reference's.
        reference_output: The output's name in the reference.
    """

    candidate: str
    reference: str
    iteration: int
    output: str
    function: str = ""
    passed: bool | None = None
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    candidate_type: str = ""
    reference_type: str = ""
    reference_output: str | None = None


@dataclass(frozen=True)
class PairRecord:
    """One candidate and its reference.

    Attributes:
        candidate: Label of the candidate.
        reference: Label of the reference.
        reason: What is wrong with the pair as a whole; empty if nothing.
    """

    candidate: str
    reference: str
    reason: str = ""


@dataclass
class MetricsFile:
    """The content of a file of metrics.

    Attributes:
        records: In the order of iterations.
        pairs: All pairs, also those without records.
        errors: Why a run failed, by its label.
        command: The command that wrote it.
        average: Whether means over iterations were judged.
    """

    records: list[MetricRecord] = field(default_factory=list)
    pairs: list[PairRecord] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    command: str = ""
    average: bool = False


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
        "records": [vars(item) for item in content.records],
    }
    write_json(path, data)


def load_metrics(path: str) -> MetricsFile:
    """Read a file of metrics, ours or one of Polygraphy's accuracy results.

    Raises:
        FileError: It cannot be read, or holds something else.
    """
    from polycmp.results.accuracyfile import from_accuracy_results

    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError("cannot read these metrics", whose=path, why=describe_exception(error), hint=HINT) from error
    try:
        if isinstance(data, dict) and data.get("polygraphy_class") == "AccuracyResults":
            return from_accuracy_results(data)
        if isinstance(data, dict) and data.get("format") == FORMAT:
            return _from_json(data, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError("this file of metrics is damaged", whose=path, why=describe_exception(error)) from error
    raise FileError("holds no metrics", whose=path, why="it is other JSON", hint=HINT)


def _from_json(data: Mapping[str, Any], path: str) -> MetricsFile:
    if data["schema"] != SCHEMA:
        raise FileError(
            f"is of schema {data['schema']}", whose=path, why=f"this polycmp reads schema {SCHEMA}", hint="update it"
        )
    return MetricsFile(
        [_record(item) for item in data["records"]],
        [PairRecord(**item) for item in data["pairs"]],
        dict(data["errors"]),
        str(data["command"]),
        bool(data["average"]),
    )


def _record(item: Mapping[str, Any]) -> MetricRecord:
    metrics = {str(name): float(value) for name, value in item["metrics"].items()}
    return MetricRecord(**{**item, "metrics": metrics, "iteration": int(item["iteration"])})
