"""HTML elements and pages as text; everything that these functions did not make is escaped.

Every page that polycmp writes is made of them: reports, suites, and drawings of a model.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence

__all__ = ["Markup", "escape", "join", "page", "tag"]

#: Elements that have neither content nor an end.
_VOID = frozenset({"br", "img", "input", "meta", "wbr"})

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
    """Return an element.

    Args:
        name: Name of the element.
        children: Content of the element; None is left out, and a void element such as `input` has none.
        attributes: `class_` means `class`, other `_` mean `-`; None and False leave an attribute out, True gives it
            without a value.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{written}>" if name in _VOID else f"<{name}{written}>{join(*children)}</{name}>")


def join(*parts: object) -> Markup:
    """Return the parts one after another; None is left out."""
    return Markup("".join(escape(part) for part in parts if part is not None))


def page(title: str, *body: object, style: str, scripts: Sequence[str] = ()) -> str:
    """Return a page that needs nothing else: nothing is fetched, and only its own scripts may run.

    Args:
        title: Title of the page.
        body: Content of the page.
        style: CSS of the page.
        scripts: Scripts of the page, at its end, run in this order.
    """
    digests = (f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'" for code in scripts)
    allowed = f"script-src {' '.join(digests)}; " if scripts else ""
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; {allowed}base-uri 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    code = (tag("script", Markup(code)) for code in scripts)
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *body, *code), lang='en')}\n"


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
