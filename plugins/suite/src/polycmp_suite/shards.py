"""Shards of a suite for machines of a CI or a cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from polycmp.errors import UsageError

T = TypeVar("T")


class _Variables(NamedTuple):
    """The variables in which a CI or a scheduler tells a job which of how many it is.

    Attributes:
        whose: Whose they are.
        number: Name of the variable with the job's number.
        total: Name of that with the number of jobs; empty where there is none.
        first: What the first job's number is, or the name of the variable that says so.
    """

    whose: str
    number: str
    total: str
    first: int | str


_CI_SYSTEMS = (
    _Variables("GitHub Actions", "STRATEGY_JOB_INDEX", "STRATEGY_JOB_TOTAL", 0),
    _Variables("GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    _Variables("Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
    _Variables("CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    _Variables("Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"),
    _Variables("Kubernetes", "JOB_COMPLETION_INDEX", "", 0),
)


class Shard(NamedTuple):
    """One part of a suite.

    Attributes:
        number: Which, from 1.
        total: Of how many.
    """

    number: int
    total: int

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def of(self, items: Sequence[T]) -> list[T]:
        """Return every `total`-th item, so that neighbours, which are alike, go to different shards."""
        return list(items[self.number - 1 :: self.total])


def find_shard(text: str, environment: Mapping[str, str]) -> Shard:
    """Return the shard that `--shard` names: `3/8`, or `auto` and `auto/8`, which a CI's variables complete.

    Args:
        text: The option's value.
        environment: The variables.

    Raises:
        UsageError: It names none.
    """
    number, _, total = text.partition("/")
    if number == "auto":
        return _of_variables(text, total, environment)
    if not (re.fullmatch(r"\d+", number) and re.fullmatch(r"\d+", total)):
        raise UsageError(f"--shard {text!r} is no shard", hint="--shard 3/8, or auto in a CI")
    return _checked(text, int(number), int(total))


def _of_variables(text: str, explicit_total: str, environment: Mapping[str, str]) -> Shard:
    known = next((item for item in _CI_SYSTEMS if item.number in environment), None)
    if known is None:
        raise UsageError(
            f"--shard {text}: nothing tells which shard this is",
            why=f"none of {', '.join(item.number for item in _CI_SYSTEMS)} is set",
            hint="--shard 3/8",
        )
    total = explicit_total or environment.get(known.total, "")
    if not total:
        raise UsageError(
            f"--shard {text}: nothing tells how many shards there are",
            why=f"{known.whose} tells only which this is ({known.number})",
            hint="--shard auto/8",
        )
    first = environment.get(known.first, "0") if isinstance(known.first, str) else str(known.first)
    numbers = ((known.number, environment[known.number]), (str(known.first), first), (known.total or "--shard", total))
    for name, value in numbers:
        if not re.fullmatch(r"\d+", value):
            raise UsageError(f"--shard {text}: {name} is {value!r}, and no number", hint="--shard 3/8")
    return _checked(text, int(environment[known.number]) - int(first) + 1, int(total))


def _checked(text: str, number: int, total: int) -> Shard:
    if not 1 <= number <= total:
        raise UsageError(f"--shard {text}: there is no shard {number} of {total}", hint=f"--shard 1/{max(total, 1)}")
    return Shard(number, total)
