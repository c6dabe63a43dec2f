"""Settings of the checks."""

from __future__ import annotations

from dataclasses import dataclass

#: Name -> what must hold.
CHECKS = {
    "repeat": "the same inputs again give the same outputs",
    "restart": "a restart of the backend changes nothing",
    "other-shape": "a run with inputs of another shape in between changes nothing",
    "duplicates": "equal rows in a batch give equal results",
    "permute": "reordering the rows reorders the results, and nothing else",
    "neighbours": "a row does not depend on the other rows in its batch",
    "split": "a row alone, as a batch of one, gives the same result as in the batch",
    "fixed-shapes": "writing the input shapes into the model changes nothing",
    "threads": "one thread gives the same results as several",
    "cached": "decoding step by step with the cache gives the same as all tokens at once (with --steps and --state)",
    "left-padded": "padding on the left that the mask hides changes nothing (with --steps and --state)",
}
#: Checks that are made where outputs go back as inputs, or if they are asked for.
OF_STEPS = ("cached", "left-padded")


@dataclass(frozen=True)
class CheckSettings:
    """Settings of the checks.

    Attributes:
        checks: Names of the checks to make.
        repeat: Number of runs with the same inputs.
        batch: Rows of the batch, where the model leaves them open.
        batch_axis: The axis of the batch; None to find it.
        batch_dim: The name of the batch dimension; empty to find it.
        exact: Whether outputs must be bitwise equal.
        fixed_feed: Whether the user gave shapes or data, so that the feed is not to be given other rows.
    """

    checks: tuple[str, ...] = tuple(CHECKS)
    repeat: int = 5
    batch: int = 4
    batch_axis: int | None = None
    batch_dim: str = ""
    exact: bool = False
    fixed_feed: bool = False
