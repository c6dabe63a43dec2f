"""The environment of each side, for a page: versions, platform, processor and its flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.plan import Plan
from polycmp.report import Fact, Facts
from polycmp.runs import backend_environments

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def environments(plan: Plan, registry: Registry) -> list[Facts]:
    """Return a list of facts for each side; sides of the same environment share one.

    Args:
        plan: The plan, which tells the outputs that were read from files.
        registry: The plugins, which know the modules that a backend needs.
    """
    sides: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for label, facts in backend_environments(plan.backends, registry).items():
        sides.setdefault(tuple(facts.items()), []).append(label)
    for path in plan.files.load_outputs:
        sides.setdefault((("not known", "its outputs were read from a file"),), []).append(path)
    return [
        Facts(f"Environment of {' and '.join(labels)}", tuple(Fact(*item) for item in facts), background=True)
        for facts, labels in sides.items()
    ]
