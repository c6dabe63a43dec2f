"""Whole pages of a suite, with their style and script."""

from __future__ import annotations

from importlib import resources

from polycmp import __version__
from polycmp.report import elements
from polycmp.report.elements import Markup, tag


def page(title: str, body: Markup, *, script: bool = False) -> str:
    """Return a page.

    Args:
        title: Title of the page.
        body: Content of the page.
        script: Whether it has the script of the index.
    """
    foot = tag("footer", f"polycmp {__version__}")
    return elements.page(title, body, foot, style=_asset("index.css"), scripts=[_asset("index.js")] if script else [])


def badge(state: str) -> Markup:
    """Return the name of a state in its colour."""
    return tag("span", state, class_=f"badge {state}")


def _asset(name: str) -> str:
    return resources.files("polycmp_suite.page").joinpath(name).read_text(encoding="utf-8")
