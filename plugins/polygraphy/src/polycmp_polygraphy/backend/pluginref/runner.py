"""The runner under the name of `polygraphy.backend.pluginref`."""

from __future__ import annotations

from polycmp_pluginref import PluginRefRunner as _PluginRefRunner
from polycmp_polygraphy.backend.base.runner import TypedRunner


class PluginRefRunner(_PluginRefRunner, TypedRunner):
    """Runs a model in the CPU references of plugins."""

    default_name = "pluginref-runner"
