"""Tolerances that are found while a run goes on, for `--tolerance NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from polycmp.errors import OthersCode, PluginError, PolycmpError, UsageError
from polycmp.plan.defaults import DEFAULT_COMPARE, DEFAULT_TOLERANCE

if TYPE_CHECKING:
    from polycmp.plan import ComparePlan
    from polycmp.runs.resolution import Resolved
    from polycmp.spec import CompareFunction
    from polycmp.tensors import Feed


_GIVEN = "--atol and --rtol are given, too"


class Tolerances(Protocol):
    """Judges by tolerances of its own in place of `--atol` and `--rtol`; see `ToleranceSpec`."""

    def begin(self, feed: Feed, outputs: Sequence[str] | None = None, /) -> None:
        """Take the inputs of the next tensors that are compared, and their names; None for the model's outputs."""

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


def open_tolerances(resolved: Resolved, reference: str) -> Tolerances | None:
    """Open the tolerances of a plan; None where they are given as numbers, or nothing can find any.

    Args:
        resolved: The run.
        reference: Label of the reference.

    Raises:
        PluginError: They are not there, or fail.
        UsageError: There is no such name, or it makes no sense for the plan.
    """
    name, registry = resolved.plan.compare.tolerance, resolved.registry
    if not name and resolved.backends and is_measured(resolved.plan.compare):
        name = DEFAULT_TOLERANCE
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
        tolerances: Tolerances = make(resolved, reference, name) if suffix else make(resolved, reference)
    return tolerances


def is_measured(plan: ComparePlan) -> bool:
    """Return whether measured rounding judges: by name, or since nobody gave a tolerance, or anything in its place."""
    return plan.tolerance == DEFAULT_TOLERANCE or not (plan.tolerance or _contradiction(plan))


def check_tolerance(plan: ComparePlan) -> None:
    """Check that `--tolerance NAME` makes sense for a plan.

    Raises:
        UsageError: It does not.
    """
    options = _simple(plan)
    why = _contradiction(plan)
    if not why and options is not None and (options.atol or options.rtol):
        why = _GIVEN
    if why:
        raise UsageError(f"--tolerance {plan.tolerance} has no meaning here", why=why, hint="give only one of them")


def _contradiction(plan: ComparePlan) -> str:
    """Return in words what a plan judges by in place of a tolerance of each output; empty for nothing."""
    options = _simple(plan)
    if plan.script or options is None:
        return f"it sets the tolerance of the compare function {DEFAULT_COMPARE}, which does not take part"
    if "" in options.atol or "" in options.rtol or options.scale_atol:
        return _GIVEN
    if set(options.check_error_stat.values()) != {("elemwise",)}:
        return "--check-error-stat is given, and it looks at every element and at the mean square"
    if plan.check_average:
        return "--check-average judges means, and it judges each iteration by its own inputs"
    return ""


def _simple(plan: ComparePlan) -> Any:
    return next((choice.options for choice in plan.functions if choice.name == DEFAULT_COMPARE), None)
