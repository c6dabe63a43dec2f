"""Carrying out a plan from the command line: logging, progress, reports, exit status."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from polycmp.files import atomic_write, to_bytes
from polycmp.logger import setup_logging
from polycmp.plan import Plan
from polycmp.plan.build import Settings
from polycmp.plugins import Registry
from polycmp.report.progress import progress
from polycmp.report.run_result import result_of
from polycmp.report.writers import find_writers, present
from polycmp.session.engine import run_plan
from polycmp.session.export import script_of


def carry_out(
    plan: Plan, settings: Settings, registry: Registry, params: Mapping[str, Any], warnings: Iterable[str] = ()
) -> int:
    """Run a plan, show and write what was found, and return the exit status.

    Args:
        plan: What to do.
        settings: The core's options, for logging.
        registry: The plugins.
        params: The counts of -v and -q.
        warnings: What to say before anything runs.
    """
    writers = find_writers(plan.files.reports, registry, plan.report_options)
    start_logging(settings, params)
    for text in warnings:
        logging.getLogger("polycmp.cli").warning("%s", text)
    with progress(silent=settings.core["log"].silent) as on_stage:
        outcome = run_plan(plan, registry, on_stage)
    return present(result_of(outcome), writers, registry, verbose=params.get("verbose", 0) > 0)


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


def export(plan: Plan, registry: Registry, path: str) -> int:
    """Write the plan as a Python script, or print it for the path `-`; return the exit status.

    Raises:
        UsageError: The plan holds something that a script cannot say.
        FileError: The file cannot be written.
    """
    source = script_of(plan, registry)
    if path == "-":
        click.echo(source, nl=False)
        return 0
    with atomic_write(path) as file:
        file.write(to_bytes(source))
    Path(path).chmod(Path(path).stat().st_mode | 0o111)
    return 0
