"""The outcome on the terminal: what ran, what differs and why, and one line that says it all."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polycmp.compare.verdicts import OutputComparison, PairComparison
from polycmp.report.screen import STYLES, Sentence, cell, make_console, make_table, whole_line, words
from polycmp.results.outcome import BackendResult, Outcome
from polycmp.terminal import visible

#: Rows that pass and are shown without -v; failures are always shown up to `FAILED_ROWS`.
PASSED_ROWS = 8
FAILED_ROWS = 20


def print_outcome(outcome: Outcome, *, verbose: bool = False, console: Console | None = None) -> None:
    """Print the outcome to standard output.

    Args:
        outcome: What to print.
        verbose: Show every output.
        console: Where to print; by default standard output, as wide as the terminal or 120 columns.
    """
    out = console or make_console()
    out.print(_backends(outcome))
    for backend in outcome.failed_backends:
        out.print(Sentence(f"{visible(backend.label)} failed: {backend.error}", "yellow"))
        if backend.hint:
            out.print(Sentence(f"  next: {backend.hint}"))
    of_backends = [f"{backend.label} {note}" for backend in outcome.backends for note in backend.notes]
    for note in [*outcome.notes, *of_backends]:
        out.print(Sentence(f"note: {note}"))
    for item in outcome.invalid:
        out.print(
            Sentence(
                f"{item.label}: output {item.output!r} holds {item.nan} NaN and {item.inf} infinite values in "
                f"iteration {item.iteration}, the first at {list(item.first)}",
                "red",
            )
        )
    for pair in outcome.comparisons:
        out.print(_pair(pair, verbose))
    for repeat in outcome.repeats:
        out.print(Sentence(f"iteration {repeat.iteration} ({repeat.inputs}): {repeat.failed}"))
        out.print(whole_line(f"  repeat: {repeat.command}"), soft_wrap=True)
    out.print(Sentence(summary(outcome), STYLES[outcome.verdict]))


def _backends(outcome: Outcome) -> Table:
    table = make_table(("Run", "Version", ">Iterations", ">First", ">Median", ">p90", "Result"))
    for backend in outcome.backends:
        label = f"{backend.label} (reference)" if backend.label == outcome.reference else backend.label
        state = cell("failed", "yellow") if backend.error else cell("ran" if backend.timing else "read")
        table.add_row(cell(label), cell(backend.version), str(backend.iterations), *_times(backend), state)
    return table


def _times(backend: BackendResult) -> tuple[str, str, str]:
    timing = backend.timing
    if timing is None:
        return "-", "-", "-"
    return duration(timing.first), duration(timing.median), duration(timing.p90)


def duration(seconds: float) -> str:
    """Return a duration with the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def _pair(pair: PairComparison, verbose: bool) -> Table:
    columns = ("", "Output", "Type", ">Max abs", ">Max rel", "Verdict")
    table = make_table(columns, f"{pair.candidate} against {pair.reference}")
    outputs = list(pair.outputs.values())
    failed = [output for output in outputs if not output.passed]
    passed = [output for output in outputs if output.passed]
    shown = outputs if verbose else [*failed[:FAILED_ROWS], *passed[:PASSED_ROWS]]
    for output in shown:
        table.add_row(*_row(output))
    hidden = len(outputs) - len(shown)
    if hidden:
        worse = max(0, len(failed) - FAILED_ROWS)
        table.add_row("", f"… {hidden} more", "", "", "", f"{worse} of them failed; -v shows all")
    if pair.reason:
        table.add_row(cell("FAIL", "red"), "", "", "", "", words(pair.reason))
    return table


def _row(output: OutputComparison) -> Iterable[str | Text]:
    stats = output.stats
    mark = cell("ok", "green") if output.passed else cell("FAIL", "red")
    name = output.output
    if output.reference_output not in (None, name):
        name = f"{name} = {output.reference_output}"
    kind = output.candidate_type or output.reference_type
    if output.candidate_type and output.reference_type and output.candidate_type != output.reference_type:
        kind = f"{output.candidate_type} / {output.reference_type}"
    reason = output.reason or ("equal" if stats is not None and stats.max_abs == 0 else "within tolerance")
    if output.iterations > 1 and output.failed_iterations:
        reason = f"{output.failed_iterations} of {output.iterations} iterations: {reason}"
    figures = ("-", "-") if stats is None else (f"{stats.max_abs:.3g}", f"{stats.max_rel:.3g}")
    return mark, cell(name), cell(kind), *figures, words(reason)


def summary(outcome: Outcome) -> str:
    """Return the one line that says it all."""
    if outcome.failed_backends:
        names = ", ".join(backend.label for backend in outcome.failed_backends)
        return f"COULD NOT COMPARE EVERYTHING: {names} failed{_differences(outcome)}"
    if outcome.verdict == "error":
        return "COULD NOT COMPARE: no output in common" if outcome.comparisons else "COULD NOT COMPARE: nothing ran"
    if outcome.verdict == "failed":
        return f"FAILED{_differences(outcome) or ': outputs hold NaN or infinity'}"
    if not outcome.expected:
        return "PASSED: ran; only one run, so nothing was compared"
    outputs = sum(len(pair.outputs) for pair in outcome.comparisons)
    return f"PASSED: {_count(outputs, 'output')} within tolerance ({outcome.seconds:.2g} s)"


def _differences(outcome: Outcome) -> str:
    outputs = [output for pair in outcome.comparisons for output in pair.outputs.values()]
    failed = sum(not output.passed for output in outputs)
    if failed:
        return f": {failed} of {_count(len(outputs), 'output')} differ{'s' if failed == 1 else ''}"
    reasons = [pair.reason for pair in outcome.comparisons if pair.reason]
    return f": {reasons[0]}" if reasons else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
