"""What the reports of this package can do besides writing a result. Light: few runs write any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import ReportTools

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry
    from polycmp.report import Result


class ContextTools(ReportTools):
    """Files that show the models' identity, both sides' environment and the graph besides."""

    def completes(self, result: Result, registry: Registry, plan: Plan | None, model: str) -> Result:
        """Return a result with its context."""
        from polycmp_report.context import complete

        return complete(result, registry, plan, model)


class PageTools(ContextTools):
    """A page, and a card in notebooks."""

    def inline(self, result: Result, row: str) -> str:
        """Return the card of a result, or the picture of one of its rows."""
        from polycmp_report.card import card

        return card(result, row)


class GithubTools(ContextTools):
    """Annotations, which GitHub's runners ask for."""

    when = "GITHUB_ACTIONS"
