"""Contributions of this package: the light module that polycmp reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import ObserverSpec, ReportSpec, hookimpl, opt


@dataclass(frozen=True)
class PictureOptions:
    """Choice of pictures, and their folders."""

    heatmaps: str = opt(
        "",
        help="Save heat maps of the error to this folder.",
        alias="--save-heatmaps",
        metavar="DIR",
        writes=True,
    )
    show_heatmaps: bool = opt(False, help="Show heat maps of the error.", alias="--show-heatmaps")
    error_plots: str = opt(
        "",
        help="Save plots of the error against the value to this folder.",
        alias="--save-error-metrics-plot",
        metavar="DIR",
        writes=True,
    )
    show_error_plots: bool = opt(
        False, help="Show plots of the error against the value.", alias="--show-error-metrics-plot"
    )


#: Adds what files show beside what was found: the models' identity, both sides' environment, the graph.
_CONTEXT = "polycmp_report.context:complete"


@hookimpl
def polycmp_reports() -> Iterable[ReportSpec]:
    """Contribute the reports."""
    yield ReportSpec(
        ".html",
        "One page that needs nothing else",
        "polycmp_report.html:write",
        completes=_CONTEXT,
        inline="polycmp_report.card:card",
    )
    yield ReportSpec(
        ".xml", "JUnit, for the test pages of CI systems", "polycmp_report.junit:write", completes=_CONTEXT
    )
    yield ReportSpec(
        ".md", "Markdown for a pull request's comment", "polycmp_report.markdown:write", completes=_CONTEXT
    )
    yield ReportSpec(".sarif", "SARIF 2.1.0, for code scanning", "polycmp_report.sarif:write", completes=_CONTEXT)
    yield ReportSpec(
        "",
        "Annotations and summary of GitHub Actions",
        "polycmp_report.github:annotate",
        name="github",
        completes=_CONTEXT,
        when="GITHUB_ACTIONS",
    )


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute what shows the arrays themselves, which are gone when a report is written."""
    yield ObserverSpec(
        "pictures",
        "Pictures of the error, drawn while it compares",
        "polycmp_report.pictures:draw_pictures",
        options=PictureOptions,
    )
    yield ObserverSpec("page", "What a page shows of the arrays", "polycmp_report.observers:look", searches=True)
