"""Finding the writers of reports before anything runs; showing and writing a result when there is one."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polycmp.errors import PluginError, PolycmpError, describe_exception
from polycmp.files import write_document

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Contributed, Registry
    from polycmp.report.result import Result
    from polycmp.spec import ReportSpec


@dataclass(frozen=True)
class Writer:
    """One report that will be written.

    Attributes:
        contribution: The contribution that writes it.
        path: The file; empty for a report that is written without being asked for.
        options: Arguments of its factory besides result and path: its options, where it has any.
    """

    contribution: Contributed[ReportSpec]
    path: str
    options: tuple[Any, ...] = ()


def find_writers(
    paths: Iterable[str],
    registry: Registry,
    options: Mapping[str, Any] | None = None,
) -> list[Writer]:
    """Find the writer of each report file, and of the reports that the environment asks for.

    Args:
        paths: The files; the suffix of each says what it is to be.
        registry: The plugins.
        options: An options instance for each report that was given any, by name.

    Raises:
        UsageError: No report is written under a suffix.
        PluginError: The plugin that would write it is not installed or broken, or lacks a module.
    """
    wanted = [(_find(path, registry), path) for path in paths]
    equipped = registry.equipped(registry.reports.values())
    wanted += [(item, "") for item, tools in equipped if tools.when and os.environ.get(tools.when)]
    writers = []
    for contribution, path in wanted:
        registry.require(contribution)
        spec = contribution.spec
        chosen = () if spec.options is None else ((options or {}).get(contribution.name) or spec.options(),)
        writers.append(Writer(contribution, path, chosen))
    return writers


def _find(path: str, registry: Registry) -> Contributed[ReportSpec]:
    try:
        return registry.find_report(Path(path).suffix.lower())
    except PolycmpError as error:
        whose = f"{path}: {error.whose}" if error.whose else path
        raise type(error)(f"--report: {error.what}", whose=whose, why=error.why, hint=error.hint) from None


class Subject(NamedTuple):
    """Plan and model that a result is about.

    Attributes:
        plan: The plan of the run; None for a command without one.
        model: The model.
    """

    plan: Plan | None = None
    model: str = ""


def present(
    result: Result,
    writers: Sequence[Writer],
    registry: Registry,
    about: Subject,
    *,
    verbose: bool = False,
    quiet: bool = False,
) -> int:
    """Show a result on the terminal, write its reports, and return the exit status.

    Args:
        result: The result to show.
        writers: The reports.
        registry: The plugins.
        about: The plan and the model that the result is about.
        verbose: Whether the terminal shows every row.
        quiet: Whether it shows one line only.

    Raises:
        PolycmpError: The first thing that went wrong with a report; the others are written all the same.
    """
    from polycmp.report.console import print_result, result_text
    from polycmp.terminal import PRINTED

    print_result(result, verbose=verbose, quiet=quiet)
    if PRINTED.isEnabledFor(logging.INFO):  # a file of messages, which holds every row
        PRINTED.info("%s", result_text(result))
    write_reports(result, writers, registry, about)
    return result.exit_code


def write_reports(result: Result, writers: Iterable[Writer], registry: Registry, about: Subject) -> None:
    """Write a result's reports.

    Raises:
        FileError: A file cannot be written; the other reports are written all the same.
        PluginError: A report cannot be imported or fails; likewise.
    """
    completed: dict[Any, Result] = {}
    errors = [_write(result, completed, writer, registry, about) for writer in writers]
    for error in filter(None, errors):
        raise error


def _write(
    result: Result, completed: dict[Any, Result], writer: Writer, registry: Registry, about: Subject
) -> PolycmpError | None:
    """Write one report; return what went wrong.

    Args:
        result: The result to write.
        completed: The same, as completed for reports before, by the method that completed it.
        writer: The report.
        registry: The plugins.
        about: The plan and the model that the result is about.
    """
    item = writer.contribution
    try:
        completes = registry.tools(item).completes
        method = getattr(completes, "__func__", completes)  # classes that inherit it have it in common
        if method not in completed:
            completed[method] = completes(result, registry, about.plan, about.model)
        registry.load(item)(completed[method], writer.path, *writer.options)
    except PolycmpError as error:
        return error
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises, the other reports shall be written
        return PluginError(
            f"cannot write {writer.path or 'its report'}",
            whose=item.label,
            why=describe_exception(error),
            hint=f"polycmp plugins check {item.plugin}",
        )
    return None


def write_json(result: Result, path: str) -> None:
    """Write the JSON document that the command made of what it found: the core's own report.

    Raises:
        FileError: The file cannot be written.
    """
    write_document(path, result.document)
