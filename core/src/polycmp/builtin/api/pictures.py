"""Pictures of two arrays by the observers of runs, for compare functions in Python programs: `save_heatmaps="maps"`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import Any

from polycmp.errors import PluginError
from polycmp.options import make_options, option_fields
from polycmp.plan import Plan
from polycmp.plugins import Registry, known_names
from polycmp.runs import Observers, resolve
from polycmp.spec import Compared


def flag_of(keyword: str) -> str:
    """Return the option of the command line that a keyword is called after."""
    return f"--{keyword.replace('_', '-')}"


def is_picture(keyword: str) -> bool:
    """Return whether a keyword is called after an option that draws."""
    return flag_of(keyword) in known_names().options


def make_pictures(wanted: Mapping[str, Any]) -> Pictures | None:
    """Open the observers that draw as options of the command line do; None where nothing is asked for.

    Args:
        wanted: Values by keyword; a false one asks for nothing.

    Raises:
        PluginError: What an option belongs to, or a package that it needs, is not installed.
        UsageError: An option's value cannot be right.
    """
    asked = {flag_of(name): _plain(value) for name, value in wanted.items() if value}
    if not asked:
        return None
    registry = Registry.discover()
    options: dict[str, Any] = {}
    for name, item in registry.observers.items():
        fields = {flag: field.name for field in option_fields(item.spec.options) for flag in field.aliases}
        values = {fields[flag]: asked.pop(flag) for flag in list(asked) if flag in fields}
        if values:
            options[name] = make_options(item.spec.options, values, item.name)
    for flag in asked:
        hint = known_names().options.get(flag, "polycmp plugins list")
        raise PluginError(f"the package that brings {flag} is not installed", hint=hint)
    return Pictures(Observers.with_options(resolve(Plan(observer_options=options), registry)))


def _plain(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


class Pictures:
    """Shows observers each two arrays that a program compares."""

    def __init__(self, observers: Observers) -> None:
        self._observers = observers
        self._calls = itertools.count()

    def show(
        self,
        made: Mapping[str, Any],
        expected: Mapping[str, Any],
        names: tuple[str, str] | None = None,
        *,
        map_output: Mapping[str, str] | None = None,
        iteration: int | None = None,
    ) -> None:
        """Show the outputs of an iteration that both sides have.

        Args:
            made: The candidate's outputs.
            expected: The reference's.
            names: Names of both; by default those of the runners that made them.
            map_output: Names in the candidate to names in the reference, where they differ.
            iteration: The iteration, counted from 0; by default the number of calls so far.

        Raises:
            PolycmpError: They cannot be drawn, or not be saved.
        """
        number = next(self._calls) if iteration is None else iteration
        names = names or (_name_of(made, "candidate"), _name_of(expected, "reference"))
        for name, array in made.items():
            other = (map_output or {}).get(name, name)
            if other in expected:
                self._observers.on_pair(Compared(number, *names, name, array, expected[other]))
            for error in self._observers.errors:
                raise error


def _name_of(outputs: Mapping[str, Any], default: str) -> str:
    """Return the name of the runner that made outputs, where they say so."""
    return getattr(outputs, "runner_name", "") or default
