"""The outcome as one HTML page that needs nothing else: no network, no other file, and no script to be read."""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime, timezone
from importlib import resources

from polycmp import __version__
from polycmp.files import atomic_write, to_bytes
from polycmp.report.page.elements import Markup, escape, join, tag
from polycmp.report.page.outputs import pair_section
from polycmp.report.page.sections import VERDICTS, about, command, hero, problems, timings, tools
from polycmp.results.outcome import Outcome


def write(outcome: Outcome, path: str) -> None:
    """Write the page, whole or not at all.

    Raises:
        FileError: The file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(to_bytes(to_html(outcome)))


def to_html(outcome: Outcome) -> str:
    """Return the page. Whatever came from a model or a user is text in it, and only its own script may run."""
    script, style = _asset("page.js"), _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    pairs = sorted(outcome.comparisons, key=lambda pair: pair.passed)
    written = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    main = tag(
        "main",
        hero(outcome),
        command(outcome),
        problems(outcome),
        tools(outcome),
        *(pair_section(pair, number) for number, pair in enumerate(pairs)),
        timings(outcome),
        about(outcome),
    )
    title = f"{VERDICTS[outcome.verdict]} · {' · '.join(pair.candidate for pair in pairs[:3]) or 'polycmp'}"
    head = join(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        tag("title", title),
        tag("style", Markup(style)),
    )
    foot = tag("footer", f"polycmp {__version__} · {written}")
    body = tag("body", main, foot, tag("script", Markup(script)))
    return f"<!DOCTYPE html>\n{tag('html', tag('head', head), body, lang='en')}\n"


def _asset(name: str) -> str:
    return resources.files("polycmp.report.page").joinpath(name).read_text(encoding="utf-8")
