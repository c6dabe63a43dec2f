"""Carrying out a plan: runs in lockstep, compared as they go, in memory that does not grow with the iterations."""

from __future__ import annotations

from polycmp.session.engine import judge_outputs, run_plan
from polycmp.session.invented import invented_numbers
from polycmp.session.names import check_names

__all__ = ["check_names", "invented_numbers", "judge_outputs", "run_plan"]
