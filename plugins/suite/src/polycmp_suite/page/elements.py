"""HTML as text in which everything is escaped that was not made here, and whole pages of it."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib import resources

from polycmp import __version__

#: Characters that HTML cannot hold, and those that change the direction of the text around them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(text: object) -> Markup:
    """Return a text as HTML; `Markup` stays as it is."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_FORBIDDEN.sub("\ufffd", str(text)), quote=True))


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element; `class_` stands for `class`, other `_` for `-`, and None leaves a child or attribute out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{''.join(escape(child) for child in children if child is not None)}</{name}>")


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
