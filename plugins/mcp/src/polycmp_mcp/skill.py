"""The page for agents, which lies beside this module."""

from __future__ import annotations

from importlib.resources import files


def skill_text() -> str:
    """Return the page: which command answers which symptom."""
    return (files("polycmp_mcp") / "SKILL.md").read_text(encoding="utf-8")
