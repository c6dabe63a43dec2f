"""Calling a runner so that it can change nothing of the others', and nothing but what the contract says comes back."""

from __future__ import annotations

from typing import Any

from polycmp.arrays import checked_outputs, read_only, refuses_to_write
from polycmp.errors import BackendError, describe_exception
from polycmp.runner import Runner
from polycmp.tensors import Feed, TensorMetadata

__all__ = ["infer", "input_metadata"]


def infer(runner: Runner, feed: Feed, *, check_inputs: bool = False) -> dict[str, Any]:
    """Run a model once on inputs that the runner can only read.

    Args:
        runner: An active runner.
        feed: Arrays that fit the model.
        check_inputs: Whether the runner is to check that they do.

    Returns:
        Plain arrays by output name, valid until the next call.

    Raises:
        BackendError: The runner writes into its inputs, or returns something else than arrays by name.
    """
    given = {name: read_only(array) for name, array in feed.items()}
    try:
        outputs = runner.infer(given, check_inputs=check_inputs)
    except ValueError as error:
        if not refuses_to_write(error):
            raise
        raise BackendError(
            "writes into its inputs, which belong to all backends",
            whose=runner.name,
            why=describe_exception(error),
            hint="the backend's infer_impl() has to copy what it changes",
        ) from error
    return checked_outputs(outputs, runner.name)


def input_metadata(runner: Runner) -> TensorMetadata:
    """Return names, types and shapes of a runner's inputs.

    Args:
        runner: An active runner.

    Raises:
        BackendError: It returns something else.
    """
    inputs: Any = runner.get_input_metadata()
    if not isinstance(inputs, TensorMetadata):
        raise BackendError(
            f"describes its inputs by {type(inputs).__name__} instead of TensorMetadata",
            whose=runner.name,
            hint="get_input_metadata_impl() has to return TensorMetadata().add(name, dtype, shape)",
        )
    return inputs
