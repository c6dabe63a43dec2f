"""The runner under the name of `polygraphy.backend.pluginref`."""

from __future__ import annotations

from polycmp_pluginref import PluginRefRunner as PluginRefRunner
