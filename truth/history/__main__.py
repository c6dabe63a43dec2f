"""All issues: `make truth-history`.

    python -m truth.history [--only REGEX] [--list] [--processes N] [--output FILE]

Each issue's model is written to a folder under .cache/truth-history/issues. The runtime alone has to show that the
first release is wrong and the second right; then `polycmp locate` and `polycmp run` are asked about both. The table of
a whole run is written to truth/history/results.md; with --only and --output it has the last answer to each issue. The
exit status is 0 if no repaired release is accused and nine of ten answers are right.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from truth.history.issues import ISSUES
from truth.history.replaying import SHOWN, Replayed
from truth.history.table import page
from truth.history.working import kept, replay_one

HERE = Path(__file__).parent


def main(words: Sequence[str]) -> int:
    """Replay what the words say and return the exit status."""
    options = _options(words)
    chosen = [issue for issue in ISSUES if re.search(options.only, f"{issue.name} {issue.number} {issue.producer}")]
    if options.list:
        print(*(f"{issue.number:32} {issue.producer:28} {issue.name}" for issue in chosen), sep="\n")
        return 0
    start, found = time.monotonic(), []
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        for number, item in enumerate(pool.map(replay_one, (ISSUES.index(issue) for issue in chosen))):
            found.append(item)
            _tell(item)
            print(f"  {number + 1} of {len(chosen)} issues, {time.monotonic() - start:.0f} s", flush=True)
    output = options.output or (None if options.only else HERE / "results.md")
    if output is not None:
        output.write_text(page(list(kept())), "utf-8")
        print(f"wrote {output}")
    shown = [item for item in found if item.shown == SHOWN]
    right = sum(not item.grade for item in shown)
    accused = sum(bool(item.accuses) for item in shown)
    print(f"{right} of {len(shown)} issues are named; {accused} repaired releases are accused")
    return int(accused > 0 or 10 * right < 9 * len(shown))


def _tell(item: Replayed) -> None:
    """Print what is not right."""
    if item.shown != SHOWN:
        print(f"{item.issue.number} {item.issue.name}: {item.shown}")
        return
    if item.grade:
        print(f"{item.issue.number} {item.issue.name}: {item.grade}\n    {item.command}\n    {_said(item.bad)}")
        print(f"    {item.facts[:200]}")
    if item.accuses:
        print(f"{item.issue.number} {item.issue.name}: the repaired release: {item.accuses}\n    {_said(item.good)}")
    if not item.sees:
        print(f"{item.issue.number} {item.issue.name}: `run` does not see it")
    if not item.passes:
        print(f"{item.issue.number} {item.issue.name}: `run` does not pass the repaired release")


def _said(said: object) -> str:
    sentence, text = getattr(said, "sentence", ""), getattr(said, "text", "")
    return str(sentence or " ".join(text.split())[-400:])


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m truth.history", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="only issues whose name, number or producer matches")
    parser.add_argument("--processes", type=int, default=2, help="how many at a time; 2 by default")
    parser.add_argument("--list", action="store_true", help="print the issues")
    parser.add_argument("--output", type=Path, help="where the table goes")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
