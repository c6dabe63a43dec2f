"""The environment of each side, for a page: versions, platform, processor and its flags."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from polycmp.errors import describe_exception
from polycmp.plan import BackendPlan, Plan
from polycmp.report import Fact, Facts
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
    modules = {python: _modules(plan, python, registry) for python in {item.python for item in plan.backends}}
    known = {python: _describe(python, names) for python, names in modules.items()}
    for backend in plan.backends:
        sides.setdefault(tuple(known[backend.python].items()), []).append(backend.label)
    for path in plan.files.load_outputs:
        sides.setdefault((("not known", "its outputs were read from a file"),), []).append(path)
    return [
        Facts(f"Environment of {' and '.join(labels)}", tuple(Fact(*item) for item in facts), background=True)
        for facts, labels in sides.items()
    ]


def _modules(plan: Plan, python: str, registry: Registry) -> list[str]:
    """Return the modules whose versions count for the backends of an interpreter."""
    return [*_ALWAYS, *(name for item in plan.backends if item.python == python for name in _needs(item, registry))]


def _needs(backend: BackendPlan, registry: Registry) -> list[str]:
    known = registry.runners.get(backend.backend)
    return [] if known is None else [name for item in known.spec.needs for name in item.split("|")]


def _describe(python: str, modules: Iterable[str]) -> Mapping[str, str]:
    if not python or python == sys.executable:
        return machine.describe(modules)
    words = [python, "-I", machine.__file__, *modules]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE, check=True)
        told: dict[str, str] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"interpreter": python, "not known": describe_exception(error)}
    return {"interpreter": python, **told}
