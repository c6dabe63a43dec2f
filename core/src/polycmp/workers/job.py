"""What a worker is told to run: plain values, since the other environment may hold other versions of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from polycmp.plan import BackendPlan, Plan
from polycmp.plan.text import to_values

if TYPE_CHECKING:
    from polycmp.plugins import Registry


@dataclass(frozen=True)
class Job:
    """One backend with one model.

    Attributes:
        label: Its name in reports.
        backend: The backend's name.
        plan: As plain values, a plan of this backend alone, its model and its data.
        part: Whether the file holds a part cut out of a model.
    """

    label: str
    backend: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    part: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the job as plain values."""
        return asdict(self)


def make_job(plan: Plan, backend: BackendPlan, registry: Registry, *, part: bool = False) -> Job:
    """Return what a worker has to know of a plan.

    Args:
        plan: The plan.
        backend: One of its backends.
        registry: The plugins.
        part: Whether the backend's model is a part cut out of one.

    Raises:
        PluginError: An option has a value that cannot be written down.
    """
    alone = Plan(
        model=backend.model or plan.model,
        model_kind=plan.model_kind,
        loader_options=plan.loader_options,
        backends=(replace(backend, model="", python=""),),
        data=plan.data,
    )
    return Job(backend.label, backend.backend, to_values(alone, registry), part)
