"""Whole pages of HTML, with their style, their script and what they may load."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from polycmp import __version__
from polycmp_report.elements import Markup, escape, tag


def page(title: str, body: Markup, *, script: bool = False) -> str:
    """Return a page that needs nothing else; only its own script may run, and nothing is fetched.

    Args:
        title: Its title.
        body: What is in it.
        script: Whether it has the script of the index.
    """
    code = _asset("index.js") if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; " if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; {allowed}base-uri 'none'"
    head = Markup(
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{_asset('index.css')}</style>"
    )
    foot = tag("footer", f"polycmp {__version__}")
    end = Markup(f"<script>{code}</script>") if script else None
    return f"<!DOCTYPE html>\n{tag('html', tag('head', head), tag('body', body, foot, end), lang='en')}\n"


def badge(state: str, word: str = "") -> Markup:
    """Return a word with the colour of a state."""
    return tag("span", word or state, class_=f"badge {state}")


def _asset(name: str) -> str:
    return resources.files("polycmp_suite.page").joinpath(name).read_text(encoding="utf-8")
