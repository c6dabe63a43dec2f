"""`polycmp suite merge RUN …`: one answer of the shards that several machines ran, or none where one is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp_suite.sections import HistorySection

if TYPE_CHECKING:
    from polycmp.command import Invocation

EPILOG = """\b
RUN is the folder of one run, a folder of runs, of which the last counts, or a folder that holds such folders.
Exit status: 0 all as expected, 1 a case differs or is worse than the baseline, 2 wrong usage, 3 a case could not be
compared, a shard is missing or has not ended, or shards ran on machines of different kinds."""


def _merge(call: Invocation) -> int:
    import time
    from pathlib import Path

    from polycmp.errors import UsageError
    from polycmp.terminal import echo
    from polycmp_suite.baseline_store import is_uri
    from polycmp_suite.concluding import PastRuns, conclude
    from polycmp_suite.merging import gaps, merged, shards_in
    from polycmp_suite.store import new_run

    begun, paths = time.monotonic(), call.params["runs"]
    call.begin(reads=[("RUN", path) for path in paths])
    history = call.section(HistorySection)
    if is_uri(history.baseline):
        raise UsageError(
            "shards compare their cases with the last passes themselves",
            whose="--baseline",
            hint="polycmp suite SUITE --shard K/N --baseline URI",
        )
    past = PastRuns(history)
    shards = shards_in(paths)
    if not shards[0].cases and not any(gaps(shards)):
        echo("no case was chosen in any shard", err=True)
        return 0
    run = new_run(Path(history.results or f"{shards[0].suite}-results"))
    return conclude(call, run, merged(shards, run, begun), past)


merge_command = BackendCommand(
    "merge",
    _merge,
    options=(HistorySection, "result.report", "log"),
    plugins=("report",),
    params=[
        click.Argument(["runs"], metavar="RUN...", nargs=-1, required=True),
        *verbosity_params("all cases"),
    ],
    help="Make one run of the shards of a suite, which must all be there."
    + examples(
        "polycmp suite merge shards/* --report junit.xml summary.md",
        "polycmp suite merge a/nightly-results b/nightly-results --results merged --history all.sqlite",
    ),
    epilog=EPILOG,
)
