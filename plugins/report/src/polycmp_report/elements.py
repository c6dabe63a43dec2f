"""HTML elements as text in which everything is escaped that was not made by these functions."""

from __future__ import annotations

import html
import re

__all__ = ["Markup", "escape", "join", "tag"]

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
        name: Its name.
        children: Its content; None is left out.
        attributes: `class_` stands for `class`, other `_` for `-`; None and False leave an attribute out, True gives it
            without a value.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    content = "".join(escape(child) for child in children if child is not None)
    return Markup(f"<{name}{written}>{content}</{name}>")


def join(*parts: object) -> Markup:
    """Return the parts one after another; None is left out."""
    return Markup("".join(escape(part) for part in parts if part is not None))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
