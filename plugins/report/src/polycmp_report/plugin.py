"""Contributions of this package: the light module that polycmp reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import ReportSpec, hookimpl, opt


@dataclass(frozen=True)
class PictureOptions:
    """Choice of pictures, and their folders."""

    heatmaps: str = opt(
        "",
        help="Save heat maps of the error in this folder.",
        alias="--save-heatmaps",
        metavar="DIR",
        writes=True,
    )
    show_heatmaps: bool = opt(False, help="Show heat maps of the error.", alias="--show-heatmaps")
    error_plots: str = opt(
        "",
        help="Save plots of the error against the value in this folder.",
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
        look="polycmp_report.page.looks:watch",
        completes=_CONTEXT,
        inline="polycmp_report.card:card",
    )
    yield ReportSpec(
        ".xml", "JUnit, for the test pages of CI systems", "polycmp_report.junit:write", completes=_CONTEXT
    )
    yield ReportSpec(
        ".md", "Markdown for a pull request's comment", "polycmp_report.markdown:write", completes=_CONTEXT
    )
    yield ReportSpec(
        "",
        "Annotations and summary of GitHub Actions",
        "polycmp_report.github:annotate",
        name="github",
        completes=_CONTEXT,
        when="GITHUB_ACTIONS",
    )
    yield ReportSpec(
        "",
        "Pictures of the error, drawn while it compares",
        "",
        name="pictures",
        options=PictureOptions,
        watch="polycmp_report.pictures:watch",
    )
