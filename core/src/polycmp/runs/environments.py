"""The environments that backends run in: versions, platform, processor and its flags; and how two of them differ."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from polycmp.errors import PolycmpError, describe_exception
from polycmp.results import machine
from polycmp.runs.workers import open_environments

if TYPE_CHECKING:
    from polycmp.plan import BackendPlan
    from polycmp.plugins import Registry

#: What `backend_environments` says of an environment that it cannot look at, instead of facts.
UNKNOWN = "not known"
_ALWAYS = ("polycmp", "numpy")
#: Seconds that another interpreter has to tell of itself.
_PATIENCE = 30.0
_FLAGS, _PROCESSOR, _CORES = "processor flags", "processor", "cores"
#: Facts that follow from others, or decide nothing.
_SILENT = frozenset({_FLAGS, _PROCESSOR, _CORES, "without", "interpreter", "platform", "polycmp"})


def backend_environments(backends: Sequence[BackendPlan], registry: Registry) -> Mapping[str, Mapping[str, str]]:
    """Return the environment of each backend, by its label: facts in words, by what they are; nothing names a person.

    Args:
        backends: The backends.
        registry: The plugins, which know the modules that a backend needs.
    """
    pythons = {item.label: _interpreter(item, registry) for item in backends}
    modules = {python: _modules(backends, python, pythons, registry) for python in dict.fromkeys(pythons.values())}
    remote = {item.python for item in backends if item.is_remote}
    known = {
        python: {UNKNOWN: f"it ran on {python}"} if python in remote else _describe(python, names)
        for python, names in modules.items()
    }
    return {label: known[python] for label, python in pythons.items()}


def _interpreter(backend: BackendPlan, registry: Registry) -> str:
    """Return the interpreter that runs a backend; empty for this one, and the release asked for where none could."""
    if not backend.version:
        return backend.python
    try:
        return open_environments(registry, backend.elsewhere)(backend.backend, backend.version)
    except PolycmpError:
        return backend.elsewhere


def _modules(backends: Iterable[BackendPlan], python: str, pythons: Mapping[str, str], registry: Registry) -> list[str]:
    """Return the modules whose versions count for the backends of an interpreter."""
    there = (item for item in backends if pythons[item.label] == python)
    return [*_ALWAYS, *(name for item in there for name in _needs(item, registry))]


def _needs(backend: BackendPlan, registry: Registry) -> list[str]:
    known = registry.runners.get(backend.backend)
    return [] if known is None else [name for item in known.spec.needs for name in item.split("|")]


def _describe(python: str, modules: Iterable[str]) -> Mapping[str, str]:
    if python.startswith("version="):
        return {UNKNOWN: f"there is no environment with {python}"}
    if not python or python == sys.executable:
        return machine.describe(modules)
    words = [python, "-I", machine.__file__, *modules]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE, check=True)
        facts: dict[str, str] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"interpreter": python, UNKNOWN: describe_exception(error)}
    return {"interpreter": python, **facts}


def environment_differences(
    candidate: Mapping[str, str], reference: Mapping[str, str], names: tuple[str, str]
) -> Iterator[str]:
    """Yield in words what differs between two environments and may change results: flags, versions, cores.

    Args:
        candidate: Facts about the one, as `backend_environments` returns them; none where nothing is known.
        reference: Facts about the other.
        names: What the two are called.
    """
    if not candidate or not reference or UNKNOWN in candidate or UNKNOWN in reference:
        return
    flags = [set(facts.get(_FLAGS, "").split()) for facts in (candidate, reference)]
    if _FLAGS in candidate and _FLAGS in reference and flags[0] != flags[1]:
        lacking = (", ".join(sorted(other - own)) for own, other in (flags, flags[::-1]))
        without = (f"{name} without {words}" for name, words in zip(names, lacking, strict=True) if words)
        yield f"on another kind of processor: {'; '.join(without)}"
    elif candidate.get(_PROCESSOR) != reference.get(_PROCESSOR):
        yield "on another processor, with the same flags: " + _both(_PROCESSOR, candidate, reference, names)
    versions = [name for name in dict.fromkeys([*candidate, *reference]) if name not in _SILENT]
    other = [
        f"{name} {_both(name, candidate, reference, names)}"
        for name in versions
        if name in candidate and name in reference and candidate[name] != reference[name]
    ]
    if other:
        yield f"with other versions: {'; '.join(other)}"
    if candidate.get(_CORES) != reference.get(_CORES):
        yield "on another number of cores: " + _both(_CORES, candidate, reference, names)


def _both(name: str, candidate: Mapping[str, str], reference: Mapping[str, str], names: tuple[str, str]) -> str:
    sides = zip(names, (candidate, reference), strict=True)
    return " and ".join(f"{facts.get(name) or '?'} in {label}" for label, facts in sides)
