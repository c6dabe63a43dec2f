"""Tolerances that are found while a run goes on, for `--tolerance NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from polycmp.errors import OthersCode, PluginError, PolycmpError, UsageError

if TYPE_CHECKING:
    from polycmp.runs.resolution import Resolved
    from polycmp.spec import CompareFunction
    from polycmp.tensors import Feed


class Tolerances(Protocol):
    """Judges by tolerances of its own in place of `--atol` and `--rtol`; see `ToleranceSpec`."""

    def begin(self, feed: Feed, /) -> None:
        """Take the inputs of the next outputs that are compared."""

    def close(self) -> None:
        """Deactivate what was run."""

    def judge(self, options: Any, candidate: str, reference: str, /, *, detail: bool) -> CompareFunction:
        """Return a compare function in place of the default one.

        Args:
            options: Options of the default compare function, except its tolerances.
            candidate: Label of a run.
            reference: Label of the other.
            detail: Whether to compute what only a report shows, too.

        Returns:
            The function; with an attribute `any_shape` that is true, it judges arrays of different shapes, too.
        """
        ...


def open_tolerances(resolved: Resolved, reference: str, name: str = "") -> Tolerances | None:
    """Open tolerances by name; None if there is none to open.

    Args:
        resolved: The run.
        reference: Label of the reference.
        name: Their name, or a file; empty for that in the plan.

    Raises:
        PluginError: It is not there, or fails.
        UsageError: There is no such name, or it makes no sense for the plan.
    """
    name, registry = name or resolved.plan.compare.tolerance, resolved.registry
    if not name:
        return None
    try:
        item = registry.find_tolerance(name)
    except PolycmpError as error:
        error.whose = error.whose or f"--tolerance {name}"
        raise
    suffix = item.spec.suffix
    if suffix and not name.lower().endswith(suffix):
        raise UsageError(f"--tolerance {name} needs a file", hint=f"--tolerance FILE{suffix}")
    make = registry.load(item)
    with OthersCode(PluginError, "cannot find tolerances", whose=item.label):
        made: Tolerances = make(resolved, reference, name) if suffix else make(resolved, reference)
    return made
