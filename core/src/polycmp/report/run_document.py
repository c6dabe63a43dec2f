"""The JSON document of a run, schema 1: keys that are here stay; more may come."""

from __future__ import annotations

from typing import Any

from polycmp.compare.verdicts import DetailedVerdict, ErrorStats, OutputComparison, PairComparison, verdict_of
from polycmp.results.outcome import BackendResult, Outcome
from polycmp.tensors import TensorMetadata, dtype_name

SCHEMA = 1


def document_of(outcome: Outcome) -> dict[str, Any]:
    """Return the JSON report of a run, of schema 1."""
    return {
        **outcome.extra,
        "schema": SCHEMA,
        "verdict": outcome.verdict,
        "exit_code": outcome.exit_code,
        "reference": outcome.reference or None,
        "command": outcome.command,
        "seconds": outcome.seconds,
        "environment": dict(outcome.environment),
        "notes": list(outcome.notes),
        "inputs": _tensors(outcome.inputs),
        "inference_results": {backend.label: _backend(backend) for backend in outcome.backends},
        "comparison_results": [_pair(pair) for pair in outcome.comparisons],
        "repeats": [vars(item) for item in outcome.repeats],
        "next_steps": [vars(item) for item in outcome.next_steps],
        "invalid_outputs": [vars(item) | {"first": list(item.first)} for item in outcome.invalid],
    }


def _backend(result: BackendResult) -> dict[str, Any]:
    timing = result.timing
    return {
        "backend": result.backend,
        "version": result.version,
        "options": dict(result.options),
        "model": result.model,
        "iterations": result.iterations,
        "runtime": None
        if timing is None
        else {
            "mean": timing.mean,
            "median": timing.median,
            "p90": timing.p90,
            "p99": timing.p99,
            "first": timing.first,
        },
        "outputs": _tensors(result.outputs),
        "error": result.error or None,
        "hint": result.hint or None,
        "precision": result.precision or None,
        "notes": list(result.notes),
    }


def _tensors(metadata: TensorMetadata) -> dict[str, Any]:
    return {
        name: {"dtype": None if entry.dtype is None else dtype_name(entry.dtype), "shape": list(entry.shape or ())}
        for name, entry in metadata.items()
    }


def _pair(pair: PairComparison) -> dict[str, Any]:
    return {
        "candidate": pair.candidate,
        "reference": pair.reference,
        "passed": pair.passed,
        "verdict": pair.verdict,
        "reason": pair.reason,
        "iterations": pair.iterations,
        "outputs": {name: _output(output) for name, output in pair.outputs.items()},
    }


def _output(output: OutputComparison) -> dict[str, Any]:
    functions: dict[str, dict[str, Any]] = {
        name: {
            "passed": verdict.passed,
            "verdict": verdict_of(verdict),
            "reason": verdict.reason,
            "metrics": dict(verdict.metrics),
            "tolerance": dict(verdict.tolerance) if isinstance(verdict, DetailedVerdict) else {},
        }
        for name, verdict in output.verdicts.items()
    }
    return {
        "passed": output.passed,
        "verdict": output.verdict,
        "reason": output.reason,
        **_statistics(output.stats),
        "metrics": {key: value for item in functions.values() for key, value in item["metrics"].items()},
        "functions": functions,
        "reference_output": output.reference_output,
        "candidate_type": output.candidate_type,
        "reference_type": output.reference_type,
        "iterations": output.iterations,
        "failed_iterations": output.failed_iterations,
        "worst_iteration": output.worst_iteration,
    }


def _statistics(stats: ErrorStats | None) -> dict[str, Any]:
    if stats is None:
        names = ("max_error", "mean_error", "median_error", "max_relative_error", "worst")
        return {**dict.fromkeys(names), "error_distribution": None, "required_tolerance": None}
    histogram = stats.histogram
    return {
        "max_error": stats.max_abs,
        "mean_error": stats.mean_abs,
        "median_error": stats.median_abs,
        "max_relative_error": stats.max_rel,
        "share_of_range": stats.share,
        "largest_magnitude": stats.scale,
        "mean_relative_error": stats.mean_rel,
        "elements": stats.count,
        "failed_elements": stats.failed,
        "error_distribution": {
            "p90": stats.p90,
            "p95": stats.p95,
            "p99": stats.p99,
            "histogram": None
            if histogram is None
            else {"edges": list(histogram.edges), "counts": list(histogram.counts)},
        },
        "required_tolerance": {"abs": stats.required_abs, "rel": stats.required_rel},
        "worst": None
        if stats.worst is None
        else {
            "index": list(stats.worst.index),
            "candidate": stats.worst.candidate,
            "reference": stats.worst.reference,
        },
    }
