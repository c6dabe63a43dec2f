"""Sentences on a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polycmp_generate.divergence import Decision
    from polycmp_generate.generation import GenerationFindings


def answer(findings: GenerationFindings, decision: Decision) -> str:
    """Return the answer in one sentence."""
    sure = f"({100 * findings.demand.confidence:.4g} % sure)"
    limit, divergence = f"{findings.demand.max_kl:.3g}", f"KL {decision.kl:.2g} per token"
    tops = _tops(findings)
    if decision.word == "worse":
        return f"worse: {divergence}, {decision.low:.2g} to {decision.high:.2g} {sure}; {tops}"
    if decision.word == "not worse":
        return f"not worse: {divergence}, above {decision.high:.2g} is ruled out {sure}; {tops}"
    take = f"; take {decision.needed:,}" if decision.needed else ""
    number = len(findings.traces)
    if number < 2:
        return f"{divergence}; one prompt tells nothing of others{take}"
    between = f"{decision.low:.2g} to {decision.high:.2g} {sure}"
    return f"{divergence}, {between}: with {number:,} prompts it is not certain whether that is above {limit}{take}"


def _tops(findings: GenerationFindings) -> str:
    """Describe how many tokens the new side would choose differently."""
    parts = [findings.is_tie(trace, place) for trace in findings.traces for place in trace.parts]
    if not parts:
        return f"the same top token at all {findings.tokens:,} places"
    ties = f", {sum(parts)} of them ties" if any(parts) else ""
    return f"another top token at {len(parts):,} of {findings.tokens:,} places{ties}"
