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


@hookimpl
def polycmp_reports() -> Iterable[ReportSpec]:
    """Contribute the reports."""
    for suffix, summary, factory, tools in (
        (".html", "One page that needs nothing else", "html:write", "PageTools"),
        (".xml", "JUnit, for the test pages of CI systems", "junit:write", "ContextTools"),
        (".md", "Markdown for a pull request's comment", "markdown:write", "ContextTools"),
        (".sarif", "SARIF 2.1.0, for code scanning", "sarif:write", "ContextTools"),
    ):
        yield ReportSpec(suffix, summary, f"polycmp_report.{factory}", tools=f"polycmp_report.tools:{tools}")
    yield ReportSpec(
        "",
        "Annotations and summary of GitHub Actions",
        "polycmp_report.github:annotate",
        name="github",
        tools="polycmp_report.tools:GithubTools",
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
