"""Lookup of a suite's executor."""

from __future__ import annotations

import importlib
import importlib.util
from importlib.metadata import EntryPoint, entry_points

import pluggy

from polycmp.errors import PluginError, UsageError, describe_exception, did_you_mean
from polycmp_suite.spec import GROUP, Executor, ExecutorHooks, ExecutorSpec, Resources


def make_executor(name: str, resources: Resources) -> Executor:
    """Return an executor.

    Args:
        name: Name of the executor.
        resources: Resources that it may use.

    Raises:
        UsageError: There is none of this name.
        PluginError: The executor's plugin cannot be imported, or lacks a module.
    """
    specs, broken = find_executors()
    spec = specs.get(name)
    if spec is None:
        if broken:
            raise PluginError(f"there is no executor {name!r}", why="; ".join(broken), hint="--executor local")
        raise UsageError(f"there is no executor {name!r}", why=did_you_mean(name, specs), hint="--executor local")
    missing = [module for module in spec.needs if importlib.util.find_spec(module) is None]
    if missing:
        raise PluginError(f"the executor {name!r} lacks the module {missing[0]!r}", hint=spec.install)
    module, _, attribute = spec.factory.partition(":")
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PluginError(
            f"the executor {name!r} cannot be imported",
            why=describe_exception(error),
            hint=spec.install or f"python -c 'from {module} import {attribute}'",
        ) from error
    executor: Executor = factory(resources)
    return executor


def find_executors() -> tuple[dict[str, ExecutorSpec], list[str]]:
    """Return the executors by name, and descriptions of broken plugins."""
    specs: dict[str, ExecutorSpec] = {}
    broken: list[str] = []
    for entry in entry_points(group=GROUP):
        try:
            plugin_specs = _specs_of(entry)
        except Exception as error:  # noqa: BLE001 - one plugin's failure must not take the others away
            broken.append(f"the plugin {entry.name} does not work: {describe_exception(error)}")
            continue
        for spec in plugin_specs:
            specs.setdefault(spec.name, spec)
    return specs, broken


def _specs_of(entry: EntryPoint) -> list[ExecutorSpec]:
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(ExecutorHooks)
    manager.register(entry.load(), entry.name)
    return [spec for specs in manager.hook.polycmp_suite_executors() for spec in specs]
