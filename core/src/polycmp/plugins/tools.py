"""The tools of contributions: the objects that say what they can do, made of the classes that descriptors name."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from polycmp.errors import did_you_mean
from polycmp.spec import (
    CompareFuncSpec,
    CompareFuncTools,
    DataLoaderSpec,
    DataLoaderTools,
    LoaderSpec,
    LoaderTools,
    ReportSpec,
    ReportTools,
    RunnerSpec,
    RunnerTools,
    Switch,
)
from polycmp.spec.former import CHANGED

IMPORT_STRING = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")
BASES = {
    RunnerSpec: RunnerTools,
    LoaderSpec: LoaderTools,
    DataLoaderSpec: DataLoaderTools,
    CompareFuncSpec: CompareFuncTools,
    ReportSpec: ReportTools,
}
"""The class of the tools of each kind of descriptor that may have some."""


def make_tools(spec: Any, load: Callable[[str], Any]) -> Any:
    """Return the tools of a contribution.

    Args:
        spec: Its descriptor.
        load: Imports what a string `"package.module:attribute"` names.

    Raises:
        TypeError: What it names is no class of tools for such a descriptor.
        ValueError: Something in it does not fit the descriptor.
    """
    base: Any = next(base for kind, base in BASES.items() if isinstance(spec, kind))
    tools = load(spec.tools)() if spec.tools else base()
    if not isinstance(tools, base):
        raise TypeError(f"{spec.tools} is no class derived from polycmp.spec.{base.__name__}")
    names = {name for name in dir(base) if not name.startswith("_")}
    for name in dir(tools):
        if not name.startswith("_") and name not in names:
            raise ValueError(f"{base.__name__} has no {name!r}; {did_you_mean(name, names)}")
    for name, value in spec.former.items():
        if name in spec.former_functions:
            if value:
                setattr(tools, name, _imported(load, value))
            if value and name == "graph":
                tools.graph_modules = (value.partition(":")[0],)
            continue
        now, change = CHANGED.get(name, (name, None))
        setattr(tools, now, value if change is None else change(value))
    if isinstance(tools, RunnerTools):
        check_switches(spec, tools)
    elif isinstance(tools, ReportTools):
        _check_report(spec, tools)
    return tools


def _imported(load: Callable[[str], Any], target: str) -> Callable[..., Any]:
    """Return a function that is imported when it is first called.

    Raises:
        ValueError: It is not named as functions are.
    """
    if not IMPORT_STRING.match(target):
        raise ValueError(f"{target!r} is not of the form 'package.module:attribute'")

    def call(*args: Any, **kwargs: Any) -> Any:
        return load(target)(*args, **kwargs)

    return call


def check_switches(spec: RunnerSpec, tools: RunnerTools) -> None:
    """Check that the options exist which the tools of a backend name.

    Args:
        spec: The backend's descriptor.
        tools: Its tools.

    Raises:
        TypeError: A switch is none.
        ValueError: Something in it does not fit the descriptor.
    """
    options = {field.name for field in dataclasses.fields(spec.options)} if spec.options is not None else set()
    for switch in tools.switches:
        if not isinstance(switch, Switch):
            raise TypeError(f"a switch of {spec.name!r} is {type(switch).__name__} instead of Switch")
        if switch.values_from and not IMPORT_STRING.match(switch.values_from):
            raise ValueError(f"{switch.values_from!r} of {spec.name!r} is not of the form 'package.module:attribute'")
    for option in filter(None, (*(switch.option for switch in tools.switches), tools.rewritten)):
        if option not in options:
            raise ValueError(f"{spec.name!r} names an option {option!r} that it does not have")


def _check_report(spec: ReportSpec, tools: ReportTools) -> None:
    name = spec.name or spec.suffix
    if not (spec.suffix or tools.when or tools.instead):
        raise ValueError(f"nothing ever asks for the report {name!r}: it has no suffix, `when` or `instead`")
    if tools.when and not spec.factory:
        raise ValueError(f"nothing writes the report {name!r}: it has no factory")
    if tools.instead and spec.options is None:
        raise ValueError(f"nothing turns the report {name!r} on: it has no options")
