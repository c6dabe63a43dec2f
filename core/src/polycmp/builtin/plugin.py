"""Contributions of the core itself, through the hooks of all plugins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polycmp._builtin_options import RandomOptions, SimpleOptions
from polycmp.spec import (
    CommandSpec,
    CompareFuncSpec,
    CompareFuncTools,
    DataLoaderSpec,
    ObserverSpec,
    ReportSpec,
    hookimpl,
)


@hookimpl
def polycmp_compare_funcs() -> Iterable[CompareFuncSpec]:
    """Contribute the compare function of the core."""
    yield CompareFuncSpec(
        "simple",
        "Absolute and relative error of each element, or a statistic of them",
        "polycmp.compare.simple:Simple",
        SimpleOptions,
        tools="polycmp.builtin.plugin:SimpleTools",
    )


class SimpleTools(CompareFuncTools):
    """Details for reports, and metrics that can be judged again unless each element counts."""

    detail = True
    rejudges = True
    no_mean: tuple[tuple[str, Any, str], ...] = (
        ("check_error_stat", "elemwise", "a statistic: --check-error-stat max (or mean, median, quantile)"),
    )
    yields: tuple[tuple[str, str], ...] = (("scale_atol", "atol"),)
    python = "polycmp.comparator:CompareFunc.simple"


@hookimpl
def polycmp_reports() -> Iterable[ReportSpec]:
    """Contribute the report format of the core."""
    yield ReportSpec(".json", "JSON, for programs", "polycmp.report.writers:write_json")


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute the observer of the core."""
    yield ObserverSpec("save", "Saves inputs and outputs", "polycmp.session.observers:save")


@hookimpl
def polycmp_data_loaders() -> Iterable[DataLoaderSpec]:
    """Contribute the data loader of the core."""
    yield DataLoaderSpec(
        "random",
        "Reproducible random numbers",
        "polycmp.data.random:make_random",
        RandomOptions,
        tools="polycmp.data.random_tools:RandomTools",
    )


_PLUGINS = "List, check and create plugins; plugins may add commands."
#: The words, one line of help, the module and its command, and a line on all commands that begin alike.
_COMMANDS = (
    ("run", "Run a model on several backends and compare all outputs.", "run:run_command", ""),
    ("plugins list", "Show every plugin and what it provides.", "plugins:list_command", _PLUGINS),
    ("completion", "Print a shell completion script.", "completion:completion_command", ""),
)


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands of the core."""
    for words, summary, target, group in _COMMANDS:
        purpose = "compare" if words == "run" else ""
        yield CommandSpec(tuple(words.split()), summary, f"polycmp.cli.{target}", group, purpose=purpose)
