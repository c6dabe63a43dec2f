"""Carrying out a plan: runs in lockstep, compared as they go, in memory that does not grow with the iterations."""

from __future__ import annotations

from polycmp.session.engine import judge_outputs, run_plan
from polycmp.session.names import check_names

__all__ = ["check_names", "judge_outputs", "run_plan"]
