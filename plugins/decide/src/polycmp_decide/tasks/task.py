"""Interface of tasks, and helpers that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from polycmp.errors import DataError, UsageError
from polycmp.tensors import to_numpy
from polycmp_decide.scores import Scores

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TaskOptions:
    """Options of a task.

    Attributes:
        output: Name of the output to look at; empty if the model's only one of the right form is meant.
        classes: Names of the classes, or characters, in the model's order; empty if they are numbers.
        decoder: Form of a detector's outputs; empty if their shapes tell.
    """

    output: str = ""
    classes: tuple[str, ...] = ()
    decoder: str = ""


class Task(Protocol):
    """A task: how outputs become predictions, and predictions scores."""

    @property
    def measure(self) -> str:
        """Name of the score."""

    def predictions(self, outputs: Mapping[str, Any], feed: Mapping[str, Any]) -> list[Any]:
        """Return the predictions in the outputs of one step, one for each sample; they outlive the outputs.

        Args:
            outputs: The outputs.
            feed: The inputs that they were made of.

        Raises:
            DataError: No output has the form that the task needs.
            UsageError: Several have.
        """

    def truth(self, label: Any) -> Any:
        """Parse a label.

        Raises:
            DataError: The task cannot read it.
        """

    def scores(self, new: Sequence[Any], old: Sequence[Any], truths: Sequence[Any]) -> Scores:
        """Return the scores of predictions of both sides."""

    def shown(self, prediction: Any) -> str:
        """Return a prediction or a truth in few characters; empty if it is too large for that."""


def only_output(
    outputs: Mapping[str, Any], name: str, fits: Callable[[Array], bool], form: str, task: str
) -> tuple[str, Array]:
    """Return the output that a task looks at, with its name.

    Args:
        outputs: All outputs.
        name: The one that was asked for; empty for the only one that fits.
        fits: Returns whether an array has the form that the task needs.
        form: That form in words.
        task: Name of the task.

    Raises:
        DataError: None fits.
        UsageError: There is no output of that name, or several fit.
    """
    arrays = {key: np.asarray(to_numpy(value)) for key, value in outputs.items()}
    shapes = ", ".join(f"{key} {array.dtype}{list(array.shape)}" for key, array in arrays.items())
    if name and name not in arrays:
        raise UsageError(f"the model has no output {name!r}", whose="--output", why=f"it has {shapes}")
    fitting = {key: array for key, array in arrays.items() if fits(array) and name in ("", key)}
    if len(fitting) > 1:
        raise UsageError(
            f"several outputs may be meant: {', '.join(fitting)}", whose=f"--task {task}",
            hint=f"--output {next(iter(fitting))}",
        )  # fmt: skip
    if not fitting:
        raise DataError(f"needs {form}", whose=f"--task {task}", why=f"the model has {shapes}")
    return next(iter(fitting.items()))


def is_real(array: Array) -> bool:
    """Return whether an array holds real numbers, bfloat16 among them."""
    return array.dtype.kind == "f" or array.dtype.name in {"bfloat16"}


def scores_places(array: Array) -> bool:
    """Return whether an array holds scores of several classes for each place of each sequence."""
    return is_real(array) and array.ndim == 3 and array.shape[2] > 1


def class_of(label: Any, classes: Sequence[str]) -> int:
    """Return the number of a class.

    Raises:
        DataError: There is no such class.
    """
    text = str(label).strip()
    if text in classes:
        return list(classes).index(text)
    if text.isdecimal() and not classes:
        return int(text)
    known = f"the classes are {', '.join(classes[:5])}{', …' if len(classes) > 5 else ''}" if classes else ""
    raise no_class(text, known or "labels are numbers where nothing names them")


def no_class(label: str, why: str) -> DataError:
    """Return the error of a label that names no class."""
    hint = "--classes FILE, with a name in each line, in the model's order"
    return DataError(f"the label {label!r} is no class", whose="--labels", why=why, hint=hint)
