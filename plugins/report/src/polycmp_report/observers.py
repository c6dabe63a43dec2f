"""The observer of runs whose result is written as a page. What it needs is imported when there is such a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polycmp.runs import Resolved
    from polycmp_report.page.error_views import Looker


def look(resolved: Resolved) -> Looker | None:
    """Make the observer that collects what a page shows of the arrays; None where none is written."""
    if not any(path.lower().endswith(".html") for path in resolved.plan.files.reports):
        return None
    from polycmp_report.page.error_views import Looker

    return Looker()
