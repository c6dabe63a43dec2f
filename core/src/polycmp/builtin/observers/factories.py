"""The observers of runs that this package contributes. What they are made of is imported when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polycmp.builtin.observers.averages import Averages
    from polycmp.builtin.observers.environments import SavedEnvironments
    from polycmp.builtin.observers.follow_ups.collect import FollowUps
    from polycmp.builtin.observers.postprocess import Postprocessing
    from polycmp.runs import Resolved


def averages(resolved: Resolved) -> Averages | None:
    """Make the observer that judges the means of a run's metrics; None without `--check-average`.

    Raises:
        UsageError: Means make no sense for the plan.
    """
    if not resolved.plan.compare.check_average:
        return None
    from polycmp.builtin.observers.averages import Averages

    return Averages(resolved)


def postprocessing(resolved: Resolved) -> Postprocessing | None:
    """Make the observer that postprocesses outputs; None without `--postprocess` and `--postprocess-func-script`.

    Raises:
        UsageError: The options cannot be understood.
        DataError: A user's function is missing.
    """
    compare = resolved.plan.compare
    if not (compare.postprocess or compare.postprocess_script):
        return None
    from polycmp.builtin.observers.postprocess import Postprocessing

    return Postprocessing(compare)


def saved_environments(resolved: Resolved) -> SavedEnvironments | None:
    """Make the observer that says what saved outputs were made with; None where none are loaded."""
    if not resolved.plan.files.load_outputs:
        return None
    from polycmp.builtin.observers.environments import SavedEnvironments

    return SavedEnvironments(resolved)


def follow_ups(resolved: Resolved) -> FollowUps:
    """Make the observer that suggests the next commands after a run."""
    from polycmp.builtin.observers.follow_ups.collect import FollowUps

    return FollowUps(resolved)
