"""The environment of each side, for a page: versions, platform, processor and its flags."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from polycmp.errors import PolycmpError, describe_exception
from polycmp.plan import BackendPlan, Plan
from polycmp.report import Fact, Facts
from polycmp.runs import open_environments
from polycmp_report import machine

if TYPE_CHECKING:
    from polycmp.plugins import Registry

_ALWAYS = ("polycmp", "numpy")
#: Seconds that another interpreter has to tell of itself.
_PATIENCE = 30.0


def environments(plan: Plan, registry: Registry) -> list[Facts]:
    """Return a list of facts for each side; sides of the same environment share one.

    Args:
        plan: The plan, which tells the outputs that were read from files.
        registry: The plugins, which know the modules that a backend needs.
    """
    sides: dict[tuple[tuple[str, str], ...], list[str]] = {}
    pythons = {item.label: _interpreter(item, registry) for item in plan.backends}
    modules = {python: _modules(plan, python, pythons, registry) for python in dict.fromkeys(pythons.values())}
    known = {python: _describe(python, names) for python, names in modules.items()}
    for label, python in pythons.items():
        sides.setdefault(tuple(known[python].items()), []).append(label)
    for path in plan.files.load_outputs:
        sides.setdefault((("not known", "its outputs were read from a file"),), []).append(path)
    return [
        Facts(f"Environment of {' and '.join(labels)}", tuple(Fact(*item) for item in facts), background=True)
        for facts, labels in sides.items()
    ]


def _interpreter(backend: BackendPlan, registry: Registry) -> str:
    """Return the interpreter that runs a backend; empty for this one, and the release asked for where none could."""
    if not backend.version:
        return backend.python
    try:
        return open_environments(registry, backend.elsewhere)(backend.backend, backend.version)
    except PolycmpError:
        return backend.elsewhere


def _modules(plan: Plan, python: str, pythons: Mapping[str, str], registry: Registry) -> list[str]:
    """Return the modules whose versions count for the backends of an interpreter."""
    there = (item for item in plan.backends if pythons[item.label] == python)
    return [*_ALWAYS, *(name for item in there for name in _needs(item, registry))]


def _needs(backend: BackendPlan, registry: Registry) -> list[str]:
    known = registry.runners.get(backend.backend)
    return [] if known is None else [name for item in known.spec.needs for name in item.split("|")]


def _describe(python: str, modules: Iterable[str]) -> Mapping[str, str]:
    if python.startswith("version="):
        return {"not known": f"there is no environment with {python}"}
    if not python or python == sys.executable:
        return machine.describe(modules)
    if "://" in python:
        return {"not known": f"it ran on {python}"}
    words = [python, "-I", machine.__file__, *modules]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE, check=True)
        facts: dict[str, str] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"interpreter": python, "not known": describe_exception(error)}
    return {"interpreter": python, **facts}
