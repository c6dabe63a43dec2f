"""A plugin whose descriptors name tools, or have the fields that there were before: what tests of both write."""

from __future__ import annotations

from polycmp.plugins import Registry

HEAD = """\
from dataclasses import dataclass
from polycmp.spec import (
    DataLoaderSpec, DataLoaderTools, LoaderSpec, LoaderTools, RunnerSpec, RunnerTools, Switch, hookimpl, opt
)
@dataclass(frozen=True)
class Options:
    fast: bool = opt(False, help="h")
"""
RUNNER = "@hookimpl\ndef polycmp_runners():\n    yield RunnerSpec('mine', 'x', 'mine_heavy:make', Options, {})\n"
LOADER = "@hookimpl\ndef polycmp_loaders():\n    yield LoaderSpec('mine', 'x', 'mine_heavy:make', {})\n"
HEAVY = """\
def describe(source, options):
    return source, options
def graph(loader):
    return ["graph", loader]
def inside(model, options):
    return "none"
def complete(result, registry, plan, model):
    return result, model
"""


def tools_of(site, source, kind="runners"):
    """Return the tools of the contribution `mine` of a plugin with this light module."""
    site.plugin("mine", HEAD + source)
    (site.folder / "mine_heavy.py").write_text(HEAVY)
    registry = Registry.discover()
    return registry.tools(getattr(registry, kind)["mine"])
