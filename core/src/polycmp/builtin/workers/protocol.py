"""Messages between a session and its worker, in plain values: either may have other versions of everything.

Tensors are named by their place in shared memory, see `memory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from polycmp import errors
from polycmp.errors import BackendError, PolycmpError, describe_exception
from polycmp.plan import BackendPlan, DataPlan, Plan, to_values

if TYPE_CHECKING:
    from polycmp.model import Model

#: Raised when either side learns a message that the other must know; sides of different number do not talk.
PROTOCOL = 3


@dataclass(frozen=True)
class Job:
    """One backend with one model.

    Attributes:
        label: Label of the backend in reports.
        backend: The backend's name.
        plan: As plain values, a plan of this backend alone, its model and the shapes asked for.
        part: Whether the file holds a part cut out of a model.
        inputs: As plain values, a plan of the inputs alone. The session's plugins make these; a worker that knows them
            reads this only for a backend that calibrates.
    """

    label: str
    backend: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    part: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the job as plain values."""
        return asdict(self)


def make_job(backend: BackendPlan, model: Model, data: DataPlan, part: str = "") -> Job:
    """Make the job that tells a worker how to run one backend.

    Args:
        backend: The backend.
        model: The model that the backend runs.
        data: The source of inputs: backends may calibrate with them.
        part: The file with a part cut out of the model, which runs in its place.

    Raises:
        PluginError: An option has a value that cannot be written down.
    """
    asks = bool(data.input_shapes or data.dimensions)
    # The worker knows of one model: what was said by another's names is in its own already.
    shapes = model.input_shapes if asks else {}
    dimensions = data.dimensions if asks and model.describe() is None else {}
    alone = Plan(
        model=part or model.source,
        model_kind=model.settings.kind,
        loader_options={} if part else model.settings.loader_options,
        backends=(replace(backend, model="", python="", version=""),),
        data=DataPlan(input_shapes=shapes, dimensions=dimensions),
    )
    inputs = Plan(data=replace(data, followers={}))  # what goes on from outputs is where the outputs are
    written = to_values(inputs, model.registry)
    return Job(backend.label, backend.backend, to_values(alone, model.registry), bool(part), written)


def error_to_json(error: BaseException) -> dict[str, str]:
    """Return an exception as plain text fields."""
    if isinstance(error, PolycmpError):
        return {
            "kind": type(error).__name__,
            "what": error.what,
            "whose": error.whose,
            "why": error.why,
            "hint": error.hint,
        }
    return {"kind": "BackendError", "what": describe_exception(error), "whose": "", "why": "", "hint": ""}


def error_from_json(fields: Mapping[str, str]) -> PolycmpError:
    """Return the exception that `error_to_json` described; a kind unknown here becomes a `BackendError`."""
    kind = getattr(errors, fields.get("kind", ""), BackendError)
    if not (isinstance(kind, type) and issubclass(kind, PolycmpError)):
        kind = BackendError
    return kind(
        fields.get("what", "failed"),
        whose=fields.get("whose", ""),
        why=fields.get("why", ""),
        hint=fields.get("hint", ""),
    )
