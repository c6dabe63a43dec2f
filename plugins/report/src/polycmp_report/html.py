"""A result as one HTML page that needs nothing else: no network, no other file, and no script to be read."""

from __future__ import annotations

from datetime import datetime, timezone
from importlib import resources

from polycmp import __version__
from polycmp.files import atomic_write, to_bytes
from polycmp.report import AlongGraph, Facts, Result, Series, Table
from polycmp.report.elements import Markup, page, tag
from polycmp_report.models import named
from polycmp_report.page.diagram import STYLE as GRAPH
from polycmp_report.page.diagram import diagram_card
from polycmp_report.page.outline import STYLE as OUTLINE
from polycmp_report.page.outline import outline_card
from polycmp_report.page.pictures import STYLE as PICTURES
from polycmp_report.page.sections import about, command, facts_card, hero, problems, tools
from polycmp_report.page.series import STYLE, series_card
from polycmp_report.page.tables import information, judged_tables
from polycmp_report.surroundings import KEY


def write(result: Result, path: str) -> None:
    """Write the page, whole or not at all.

    Raises:
        FileError: The file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(to_bytes(to_html(result)))


def to_html(result: Result) -> str:
    """Return the page. All that came from a model or a user is text in it, and only its own script may run."""
    series = result.blocks(Series)
    main = _main(result, series)
    styles = (
        _asset("page.css"),
        STYLE if series else "",
        PICTURES if 'class="looks"' in main else "",
        GRAPH if 'class="surroundings"' in main else "",
        OUTLINE if 'scroll outline"' in main else "",
    )
    title = " · ".join((result.heading.capitalize(), *filter(None, (named(result), result.title or "polycmp"))))
    written = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    foot = tag("footer", f"polycmp {__version__} · {written}")
    return page(title, main, foot, style="".join(styles), scripts=[_asset("page.js")])


def _main(result: Result, series: tuple[Series, ...]) -> Markup:
    tables = result.blocks(Table)
    sections, places = judged_tables(table for table in tables if table.judged)
    return tag(
        "main",
        hero(result),
        command(result),
        problems(result),
        tools(result),
        *(series_card(item, places) for item in series),
        *(outline_card(item, places) for item in series if isinstance(item, AlongGraph) and item.places),
        *(() if series else sections),  # what was judged comes before what is known around it
        *(diagram_card(row.looks[KEY], places) for table in tables for row in table.rows if KEY in row.looks),
        *(facts_card(item) for item in result.blocks(Facts) if not item.background),
        *(sections if series else ()),
        *(information(table, number) for number, table in enumerate(tables) if not table.judged),
        about(result),
    )


def _asset(name: str) -> str:
    return resources.files("polycmp_report.page").joinpath(name).read_text(encoding="utf-8")
