"""Reading the accuracy results that Polygraphy saves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polycmp.builtin.accuracy.metrics import MetricRecord, MetricsFile, PairRecord

#: Their names of the errors' statistics -> ours.
_STATISTICS = {
    f"{statistic}_{theirs}": f"{statistic}_{ours}"
    for statistic in ("max", "mean", "median", "quantile")
    for theirs, ours in (("absdiff", "abs"), ("reldiff", "rel"))
}
#: Class of a result -> the compare function's name and the metric's.
_SINGLE = {
    "L2Result": ("l2", "l2_norm", "l2"),
    "CosineSimilarityResult": ("cosine_similarity", "cosine_similarity", "cosine_similarity"),
    "PsnrResult": ("psnr", "psnr", "psnr"),
    "SnrResult": ("snr", "snr", "snr"),
    "PerceptualMetricsResult": ("perceptual_metrics", "lpips", "lpips"),
}
#: They do not say what the outputs were, only that there were some.
UNKNOWN_TYPE = "unknown"


@dataclass(frozen=True)
class _Place:
    candidate: str
    reference: str
    iteration: int
    output: str


def from_accuracy_results(data: Mapping[str, Any]) -> MetricsFile:
    """Return the content of such a file.

    Raises:
        KeyError: Something is missing; likewise TypeError and ValueError where something is of another kind.
    """
    content = MetricsFile()
    for result in data["lst"]:
        content.average = content.average or result.get("aggregation") == "average"
        for (candidate, reference), iterations in result["lst"]:
            pair = PairRecord(str(candidate), str(reference))
            if pair not in content.pairs:
                content.pairs.append(pair)
            content.records += _records(pair, iterations)
    return content


def _records(pair: PairRecord, iterations: list[Mapping[str, Any]]) -> Iterator[MetricRecord]:
    for index, outputs in enumerate(iterations):
        for output, value in outputs.items():
            yield _record(_Place(pair.candidate, pair.reference, index, output), value)


def check_passed(value: Any, output: str) -> bool | None:
    """Return the verdict of a record, None where it has none.

    Raises:
        ValueError: It is neither true nor false: texts such as "false" would be taken for true.
    """
    if value is None or isinstance(value, bool):
        return value
    raise ValueError(f"the verdict on output {output!r} is {value!r}, not true or false")


def _record(place: _Place, value: Any) -> MetricRecord:
    common = {**vars(place), "candidate_type": UNKNOWN_TYPE, "reference_type": UNKNOWN_TYPE}
    if isinstance(value, bool):
        return MetricRecord(**common, passed=value, reason="" if value else "the file says so, without figures")
    kind = value["polygraphy_class"]
    thresholds = value.get("thresholds") or {}
    if kind == "OutputCompareResult":
        metrics = {ours: float(value[name]) for name, ours in _STATISTICS.items() if value.get(name) is not None}
        settings = {
            name: thresholds[name] for name in ("atol", "rtol", "check_error_stat") if thresholds.get(name) is not None
        }
        if isinstance(settings.get("check_error_stat"), str):
            settings["check_error_stat"] = [settings["check_error_stat"]]
        passed = check_passed(value.get("passed"), place.output)
        reason = "" if passed in (None, True) else "the file says so"
        return MetricRecord(
            **common, function="simple", passed=passed, reason=reason, metrics=metrics, settings=settings
        )
    function, theirs, ours = _SINGLE[kind]
    metrics = {} if value.get(theirs) is None else {ours: float(value[theirs])}
    settings = {} if thresholds.get("threshold") is None else {"threshold": thresholds["threshold"]}
    return MetricRecord(**common, function=function, metrics=metrics, settings=settings)
