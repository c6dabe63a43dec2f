"""One backend under test: its runner, the feed, and its first outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from polycmp.compare import CompareFunction, PairComparer
from polycmp.data import coerce_feed
from polycmp.errors import DataError, ModelError, describe_exception, is_users_failure
from polycmp.runner import Runner, infer, input_metadata
from polycmp.runs import Feedback, open_feeds
from polycmp.tensors import Feed, Source, TensorMetadata, same_bits, to_numpy
from polycmp_checks.invariants.batch import Arrays, Batch, DoesNotApplyError, find_batch, take
from polycmp_checks.invariants.findings import Check
from polycmp_checks.invariants.settings import CheckSettings


class Bench:
    """A backend under test.

    Args:
        runner: Runner of the backend, active.
        source: The data source.
        settings: Settings of the checks.
        functions: Compare functions by name.
        with_threads: Makes the runner with so many threads, or returns None if the backend has no option for them.
        fixed: Makes the runner of the model with a feed's shapes written into it, or returns None if that cannot be.
        feedback: Makes further inputs of outputs; None if that was not asked for.

    Attributes:
        runner: Runner of the backend.
        source: The data source.
        feedback: See above.
        settings: Settings of the checks.
        with_threads: See above.
        fixed: See above.
    """

    def __init__(
        self,
        runner: Runner,
        source: Source,
        settings: CheckSettings,
        functions: Mapping[str, CompareFunction],
        with_threads: Callable[[int], Runner | None],
        fixed: Callable[[Feed], Runner | None],
        feedback: Feedback | None = None,
    ) -> None:
        self.runner = runner
        self.settings = settings
        self.with_threads = with_threads
        self.fixed = fixed
        self.feedback = feedback
        self.source = source
        self._functions = functions
        self._refused = ""

    @cached_property
    def inputs(self) -> TensorMetadata:
        """The model's inputs."""
        return input_metadata(self.runner)

    @cached_property
    def batch(self) -> Batch | str:
        """The batch, or why there is none."""
        try:
            return find_batch(self.inputs, self.settings.batch_axis, self.settings.batch_dim)
        except DoesNotApplyError as reason:
            return str(reason)

    @cached_property
    def feed(self) -> Arrays:
        """The inputs that all checks start from: the first feed of the data source."""
        return self._feed_of(self.settings.batch)

    def _feed_of(self, rows: int) -> Arrays:
        """Return the first feed of the data source, with so many rows if neither the user nor the model fixes them."""
        inputs = self.inputs
        if isinstance(self.batch, Batch) and self._has_free_rows():
            inputs = self.batch.sized(inputs, rows)
        for feed in open_feeds(self.source, inputs):
            return coerce_feed(feed, self.inputs, self.runner.name)
        raise DataError("the data loader gave no input", whose=self.runner.name)

    def _has_free_rows(self) -> bool:
        return isinstance(self.batch, Batch) and self.batch.size is None and not self.settings.fixed_feed

    def begin(self) -> None:
        """Run the first inference, with one row if the model fails with several although its file leaves them open.

        Raises:
            BaseException: Error of the backend, if it does not run with one row either.
        """
        rows = self.settings.batch
        try:
            _ = self.outputs
        except BaseException as error:
            if not is_users_failure(error) or rows < 2 or not self._has_free_rows():
                raise
            feed = self._feed_of(1)
            try:
                outputs = self.infer(feed)
            except BaseException as second:
                raise error from second
            self.feed, self.outputs = feed, outputs
            self._refused = f"it runs with one row and not with {rows}: {describe_exception(error)}"

    @cached_property
    def outputs(self) -> Arrays:
        """The outputs of the backend's first run with the feed."""
        return self.infer(self.feed)

    def infer(self, feed: Mapping[str, Any], runner: Runner | None = None) -> Arrays:
        """Return outputs that outlive the next call."""
        outputs = infer(runner or self.runner, feed, check_inputs=True)
        return {name: np.array(to_numpy(array)) for name, array in outputs.items()}

    def rows(self, at_least: int = 2) -> tuple[Batch, int]:
        """Return the batch and the number of its rows in the feed.

        Raises:
            DoesNotApplyError: There is no batch, or it has too few rows.
            ModelError: The file leaves the number of rows open, and the model fails with several.
        """
        if self._refused:
            raise ModelError(self._refused, why="if it is meant for one alone: --batch 1")
        if isinstance(self.batch, str):
            raise DoesNotApplyError(self.batch)
        rows = self.batch.rows(self.feed)
        if rows < at_least:
            raise DoesNotApplyError(
                f"the batch has {rows} of the {at_least} rows that it takes; see --batch or --input-shapes"
            )
        return self.batch, rows

    @cached_property
    def other_rows(self) -> int:
        """Another number of rows than the feed has.

        Raises:
            DoesNotApplyError: The model fixes the number.
        """
        batch, rows = self.rows(1)
        batch.require_free_rows()
        if rows == self.settings.batch == 1:
            self._see_two_rows(batch)
        return rows + 1

    def _see_two_rows(self, batch: Batch) -> None:
        try:
            self.infer(batch.take(self.feed, [0, 0]))
        except BaseException as error:
            if not is_users_failure(error):
                raise
            raise DoesNotApplyError(
                f"--batch 1, and it does not run with 2 rows: {describe_exception(error)}"
            ) from error

    @cached_property
    def output_axes(self) -> dict[str, int]:
        """Axis of the batch by output; outputs that are missing have none.

        Where the model leaves the batch open it is the axis that grows with it, else the same axis as at the inputs.

        Raises:
            DoesNotApplyError: No output has one.
        """
        batch, rows = self.rows(1)
        shapes = {name: array.shape for name, array in self.outputs.items()}
        if batch.size is None:
            more = self.infer(batch.take(self.feed, [row % rows for row in range(self.other_rows)]))
            axes = {name: _grown(shape, more[name].shape, rows, self.other_rows) for name, shape in shapes.items()}
        else:
            axis = next(iter(batch.axes.values()))
            axes = {name: axis if axis < len(shape) and shape[axis] == rows else None for name, shape in shapes.items()}
        batch_axes = {name: axis for name, axis in axes.items() if axis is not None}
        if not batch_axes:
            raise DoesNotApplyError("no output has as many rows as the batch")
        return batch_axes

    def take(self, outputs: Mapping[str, Any], rows: Iterable[int]) -> Arrays:
        """Return some rows of the outputs; those without a batch are left out."""
        chosen = list(rows)
        return {name: take(outputs[name], axis, chosen) for name, axis in self.output_axes.items()}

    def compare(self, name: str, pairs: Iterable[tuple[Arrays, Arrays]], what: str) -> Check:
        """Return a check's result: whether each pair of outputs is equal within tolerance, and by how much not.

        Args:
            name: The check.
            pairs: Outputs that should be equal, and what they should be equal to.
            what: Description of the comparison, for the result.
        """
        comparer = PairComparer("this", "that", self._functions)
        bits, largest, nans = True, 0.0, 0
        for outputs, expected in pairs:
            bits = bits and all(key in expected and same_bits(outputs[key], expected[key]) for key in outputs)
            for item in comparer.add(outputs, expected):
                if item.stats is not None:
                    largest = max(largest, item.stats.max_abs)
                    nans += item.stats.nan_candidate
        result = comparer.result()
        what += f" ({nans} NaN count as equal)" if result.passed and nans else ""
        if not result.passed:
            failed = [item for item in result.outputs.values() if not item.passed]
            reason = f"{what}: output {failed[0].output!r}: {failed[0].reason}" if failed else result.reason
            return Check(name, "failed", reason, largest)
        if bits:
            return Check(name, "passed", f"{what}: bitwise equal", 0.0)
        if self.settings.exact:
            return Check(name, "failed", f"{what}: not bitwise equal, the largest error is {largest:.3g}", largest)
        return Check(name, "passed", f"{what}: equal within tolerance, the largest error is {largest:.3g}", largest)


def _grown(one: tuple[int, ...], more: tuple[int, ...], rows: int, more_rows: int) -> int | None:
    if len(one) != len(more):
        return None
    grown = [axis for axis, sizes in enumerate(zip(one, more, strict=True)) if sizes[0] != sizes[1]]
    if len(grown) == 1 and (one[grown[0]], more[grown[0]]) == (rows, more_rows):
        return grown[0]
    return None
