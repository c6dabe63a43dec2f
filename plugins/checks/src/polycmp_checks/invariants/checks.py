"""The checks. Each takes a bench and returns its result; one that does not apply raises and says why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from polycmp_checks.invariants.batch import Arrays, DoesNotApplyError
from polycmp_checks.invariants.bench import Bench
from polycmp_checks.invariants.decoding import check_cached, check_left_padded
from polycmp_checks.invariants.findings import Check

Pairs = Iterator[tuple[Arrays, Arrays]]


def check_repeat(bench: Bench) -> Check:
    """The same inputs again."""
    times = bench.settings.repeat
    if times < 2:
        raise DoesNotApplyError("--repeat is below 2")
    pairs = ((bench.infer(bench.feed), bench.outputs) for _ in range(times - 1))
    return bench.compare("repeat", pairs, f"the same inputs {times} times")


def check_restart(bench: Bench) -> Check:
    """The same inputs after deactivation and activation."""
    before = bench.outputs
    bench.runner.deactivate()
    bench.runner.activate()
    return bench.compare("restart", [(bench.infer(bench.feed), before)], "before and after a restart")


def check_other_shape(bench: Bench) -> Check:
    """The same inputs after a larger batch, and after a batch of one."""
    batch, rows = bench.rows(1)
    sizes = [bench.other_rows, *([1] if rows > 1 else [])]

    def pairs() -> Pairs:
        for size in sizes:
            bench.infer(batch.take(bench.feed, [row % rows for row in range(size)]))
            yield bench.infer(bench.feed), bench.outputs

    return bench.compare("other-shape", pairs(), f"a batch of {rows} after batches of {' and '.join(map(str, sizes))}")


def check_duplicates(bench: Bench) -> Check:
    """A batch of equal rows."""
    batch, rows = bench.rows()
    outputs = bench.infer(batch.take(bench.feed, [0] * rows))
    pairs = [(bench.take(outputs, range(rows)), bench.take(outputs, [0] * rows))]
    return bench.compare("duplicates", pairs, f"{rows} equal rows")


def check_permute(bench: Bench) -> Check:
    """The rows in another order: turned round, and moved on by one."""
    batch, rows = bench.rows()
    orders = [list(reversed(range(rows))), [*range(1, rows), 0]]

    def pairs() -> Pairs:
        for order in orders[: 1 if rows == 2 else 2]:
            yield bench.take(bench.infer(batch.take(bench.feed, order)), range(rows)), bench.take(bench.outputs, order)

    return bench.compare("permute", pairs(), f"{rows} rows reordered")


def check_neighbours(bench: Bench) -> Check:
    """Each row with copies of itself instead of its neighbours."""
    batch, rows = bench.rows()

    def pairs() -> Pairs:
        for row in range(rows):
            outputs = bench.infer(batch.take(bench.feed, [row] * rows))
            yield bench.take(outputs, [row]), bench.take(bench.outputs, [row])

    return bench.compare("neighbours", pairs(), f"each of {rows} rows with different neighbours")


def check_split(bench: Bench) -> Check:
    """Each row as a batch of one."""
    batch, rows = bench.rows()
    batch.require_free_rows()

    def pairs() -> Pairs:
        for row in range(rows):
            yield bench.take(bench.infer(batch.take(bench.feed, [row])), [0]), bench.take(bench.outputs, [row])

    return bench.compare("split", pairs(), f"a batch of {rows} against {rows} batches of one")


def check_fixed_shapes(bench: Bench) -> Check:
    """The model with fixed shapes against the one with open shapes."""
    if not any(entry.is_dynamic() for entry in bench.inputs.values()):
        raise DoesNotApplyError("all shapes are fixed already")
    runner = bench.fixed(bench.feed)
    if runner is None:
        raise DoesNotApplyError("the backend does not run changed models")
    with runner:
        outputs = bench.infer(bench.feed, runner)
    return bench.compare("fixed-shapes", [(outputs, bench.outputs)], "fixed shapes against open ones")


def check_threads(bench: Bench) -> Check:
    """One thread against as many as there are processors, but at least two."""
    many = max(2, os.cpu_count() or 1)
    outputs = []
    for threads in (1, many):
        runner = bench.with_threads(threads)
        if runner is None:
            raise DoesNotApplyError("the backend has no option for threads")
        with runner:
            outputs.append(bench.infer(bench.feed, runner))
    return bench.compare("threads", [(outputs[1], outputs[0])], f"{many} threads against one")


CHECK_FUNCTIONS: Mapping[str, Callable[[Bench], Check]] = {
    "repeat": check_repeat,
    "restart": check_restart,
    "other-shape": check_other_shape,
    "duplicates": check_duplicates,
    "permute": check_permute,
    "neighbours": check_neighbours,
    "split": check_split,
    "fixed-shapes": check_fixed_shapes,
    "threads": check_threads,
    "cached": check_cached,
    "left-padded": check_left_padded,
}
