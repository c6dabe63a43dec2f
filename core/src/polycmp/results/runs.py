"""Outputs of a runner in one iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polycmp.tensors import to_numpy

_UNNAMED = "custom_runner"


class LazyArray:
    """An array that is loaded when it is asked for; here it is in memory all the time.

    Attributes:
        arr: The array.
        tmpfile: None: it lies in no file.
    """

    tmpfile = None

    def __init__(self, arr: Any) -> None:
        self.arr = arr

    def load(self) -> Any:
        """Return the array."""
        return self.arr

    def numpy(self) -> Any:
        """Return the array as NumPy's."""
        return to_numpy(self.arr)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = np.asarray(self.arr, dtype)
        return array.copy() if copy else array


class IterationResult(dict[str, Any]):
    """The outputs of one inference: arrays by output name, in the model's order.

    Args:
        outputs: Arrays by name.
        runtime: Duration of the inference in seconds; None if it was not measured.
        runner_name: The label of the runner.

    Attributes:
        runtime: Duration of the inference in seconds; None if it was not measured.
        runner_name: The label of the runner.
        insensitive: Names of the outputs of which the run that made them found that they do not move, so that it shows
            nothing that they agree.
        environment: Facts about the environment that made them, by what they are; in the first iteration of a run.
    """

    def __init__(
        self,
        outputs: Mapping[str, Any] | None = None,
        runtime: float | None = None,
        runner_name: str | None = None,
    ) -> None:
        super().__init__(outputs or {})
        self.runtime = runtime
        self.runner_name: str = runner_name or _UNNAMED
        self.insensitive: tuple[str, ...] = ()
        self.environment: Mapping[str, str] = {}

    @property
    def dct(self) -> dict[str, LazyArray]:
        """The arrays in wrappers, as Polygraphy keeps them: some programs reach for `dct[name].arr`."""
        return {name: LazyArray(array) for name, array in self.items()}

    def holding(self, outputs: Mapping[str, Any]) -> IterationResult:
        """Return the same iteration with its outputs in another form."""
        result = IterationResult(outputs, self.runtime, self.runner_name)
        result.insensitive, result.environment = self.insensitive, self.environment
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IterationResult):
            return NotImplemented
        return (
            self.runtime == other.runtime
            and self.runner_name == other.runner_name
            and self.keys() == other.keys()
            and all(_same(self[name], other[name]) for name in self)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


def _same(one: Any, other: Any) -> bool:
    first, second = to_numpy(one), to_numpy(other)
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    both_nan = (first != first) & (second != second)  # noqa: PLR0124  (true only for NaN, in any element type)
    return bool(np.all((first == second) | both_nan))
