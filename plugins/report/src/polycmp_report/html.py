"""A result as one HTML page that needs nothing else: no network, no other file, and no script to be read."""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime, timezone
from importlib import resources

from polycmp import __version__
from polycmp.files import atomic_write, to_bytes
from polycmp.report import Facts, Result, Series, Table
from polycmp.report.along import AlongGraph
from polycmp_report.elements import Markup, escape, join, tag
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
    """Return the page. Whatever came from a model or a user is text in it, and only its own script may run."""
    script, style = _asset("page.js"), _asset("page.css")
    series = result.blocks(Series)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    main = _main(result, series)
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    )
    head = join(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        tag(
            "title",
            " · ".join((result.heading.capitalize(), *filter(None, (named(result), result.title or "polycmp")))),
        ),
        tag(
            "style",
            Markup(
                "".join(
                    (
                        style,
                        STYLE if series else "",
                        PICTURES if 'class="looks"' in main else "",
                        GRAPH if 'class="surroundings"' in main else "",
                        OUTLINE if 'scroll outline"' in main else "",
                    )
                )
            ),
        ),
    )
    written = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    foot = tag("footer", f"polycmp {__version__} · {written}")
    body = tag("body", main, foot, tag("script", Markup(script)))
    return f"<!DOCTYPE html>\n{tag('html', tag('head', head), body, lang='en')}\n"


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
        *(diagram_card(row.looks[KEY], places) for table in tables for row in table.rows if KEY in row.looks),
        *(facts_card(item) for item in result.blocks(Facts) if not item.background),
        *sections,
        *(information(table, number) for number, table in enumerate(tables) if not table.judged),
        about(result),
    )


def _asset(name: str) -> str:
    return resources.files("polycmp_report.page").joinpath(name).read_text(encoding="utf-8")
