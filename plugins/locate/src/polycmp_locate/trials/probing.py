"""Rules that weigh probes and trials as evidence of an error; their thresholds are neither bounded nor measured.

`make truth` shows that its scenarios are judged rightly with them.
"""

from __future__ import annotations

import math

#: Probing may move the result by this share of the error before the tensors seen stop being evidence, and an error of
#: which probing leaves no more than this share comes from what probing prevents. A choice.
SHARE = 0.25
#: An operator whose own error is at least this share of the outputs' explains it without a trial (choice).
_OBVIOUS_SHARE = 0.25
#: A trial explains an error if replacing the tensor takes away at least half of it (choice).
_EXPLAINED_SHARE = 0.5


def is_evidence(relative: float, error: float, *, plain_passed: bool, probed_passed: bool) -> bool:
    """Return whether tensors seen with probes stand for those of the model without probes.

    Args:
        relative: Change of the outputs through probing, relative.
        error: The outputs' error without probes.
        plain_passed: Whether the outputs pass without probes.
        probed_passed: Whether they pass with probes.
    """
    if relative == 0.0 or (plain_passed and probed_passed):
        return True
    return plain_passed == probed_passed and relative <= SHARE * error


def is_fusion(error: float, probed_error: float) -> bool:
    """Return whether probing removes the outputs' error.

    Args:
        error: The outputs' error without probes.
        probed_error: The same, where both sides are probed.
    """
    return probed_error < error and probed_error <= SHARE * error


def is_moved(moved: float, error: float) -> bool:
    """Return whether a backend whose outputs `moved` by so much with probes is the one whose fusion probing prevents.

    Where probes leave at most a quarter of an error, one side or both moved by three quarters of it together.
    """
    return moved >= 0.5 * (1.0 - SHARE) * error


def is_removed(remaining: float, error: float) -> bool:
    """Return whether a probe removes most of an error, by the remaining error.

    An error as large as the numbers leaves nothing of them, and so does half of one that is many times as large.
    """
    return remaining < error and remaining <= _EXPLAINED_SHARE * min(error, 1.0)


def is_obvious(operator_error: float, final: float) -> bool:
    """Return whether an operator's own error is large enough to explain that of the outputs without a trial.

    An error as large as the numbers leaves nothing of them. That of outputs may be many times as large where they are
    next to nothing; what is inside the model need not be.
    """
    return operator_error >= _OBVIOUS_SHARE * min(final, 1.0)


def explains(patched: float, control: float, final: float) -> bool:
    """Return whether an operator's error leads to that of the outputs, by a trial.

    Args:
        patched: The outputs' error if its tensor is replaced by the reference's.
        control: The same where the model is cut at the tensor, but the tensor stays the candidate's.
        final: The outputs' error in the model as it is; infinite where shapes differ or NaN is new.
    """
    remains = control == final if math.isinf(final) else control > SHARE * final
    return remains and patched <= _EXPLAINED_SHARE * control and math.isfinite(patched)
