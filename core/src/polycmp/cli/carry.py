"""Carrying out a plan from the command line: logging, progress, reports, exit status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycmp.cli.build import Settings
from polycmp.logger import setup_logging
from polycmp.plan import Plan
from polycmp.plugins import Registry
from polycmp.report import check_reports, write_reports
from polycmp.report.console import print_outcome
from polycmp.report.progress import progress
from polycmp.session.session import run_plan


def carry_out(plan: Plan, settings: Settings, registry: Registry, params: Mapping[str, Any]) -> int:
    """Run a plan, show and write what was found, and return the exit status.

    Args:
        plan: What to do.
        settings: The core's options, for logging.
        registry: The plugins.
        params: The counts of -v and -q.
    """
    check_reports(plan.files.reports)
    start_logging(settings, params)
    with progress(silent=settings.core["log"].silent) as on_stage:
        outcome = run_plan(plan, registry, on_stage)
    print_outcome(outcome, verbose=params.get("verbose", 0) > 0)
    write_reports(outcome, plan.files.reports)
    return outcome.exit_code


def start_logging(settings: Settings, params: Mapping[str, Any]) -> None:
    """Set logging up as the options say."""
    log = settings.core["log"]
    setup_logging(
        verbose=params.get("verbose", 0),
        quiet=params.get("quiet", 0),
        verbosity=log.verbosity,
        silent=log.silent,
        log_format=log.log_format,
        log_file=log.log_file or None,
    )
