"""The cases of `truth.outside.is_it_a_bug`: what was reported, a model of our own, and the answer to expect.

The answers were written down before polycmp was asked.
"""

from __future__ import annotations

from truth.outside.is_it_a_bug_cases.case import IR, NEWEST, NOTHING, READ, SCRIPT, Report
from truth.outside.is_it_a_bug_cases.confirmed import CONFIRMED
from truth.outside.is_it_a_bug_cases.false_positives import FALSE_POSITIVES

__all__ = ["IR", "NEWEST", "NOTHING", "READ", "REPORTS", "SCRIPT", "Report"]

#: All, the newest first.
REPORTS: tuple[Report, ...] = tuple(sorted((*CONFIRMED, *FALSE_POSITIVES), key=lambda item: -item.number))
