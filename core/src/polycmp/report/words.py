"""Words that all reports share."""

from __future__ import annotations

from polycmp.compare.verdicts import OutputComparison, PairComparison


def pair_title(pair: PairComparison) -> str:
    """Return who is compared with whom."""
    return f"{pair.candidate} against {pair.reference}"


def output_name(output: OutputComparison) -> str:
    """Return the output's name, with the reference's where that is another one."""
    if output.reference_output in (None, output.output):
        return output.output
    return f"{output.output} = {output.reference_output}"


def reason_of(output: OutputComparison) -> str:
    """Return the verdict in words, also for an output that passed."""
    stats = output.stats
    reason = output.reason or ("equal" if stats is not None and stats.max_abs == 0 else "within tolerance")
    if output.iterations > 1 and output.failed_iterations:
        return f"{output.failed_iterations} of {output.iterations} iterations: {reason}"
    return reason


def output_type(output: OutputComparison) -> str:
    """Return element type and shape, of both sides where they differ."""
    types = dict.fromkeys(filter(None, (output.candidate_type, output.reference_type)))
    return " / ".join(types)
