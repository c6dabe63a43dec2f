"""All models of all packages through all commands; see the package."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from pathlib import Path

from truth.packages.commands import Model, Said, graded, graded_together, written
from truth.packages.fetching import Shipped, fetch

HERE = Path(__file__).parent


def main() -> int:
    """Do what is not done yet, write the table, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m truth.packages")
    parser.add_argument("--only", default="", help="models whose name matches")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per command")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / ".cache" / "packages")
    parser.add_argument("--table", action="store_true", help="only write down what was done before")
    parser.add_argument("--again", action="store_true", help="forget what was done before")
    parser.add_argument("--output", type=Path, default=HERE / "results.md")
    options = parser.parse_args()
    models = fetch(options.folder, options.only)

    def work(shipped: Shipped) -> list[Said]:
        place = options.folder / "work" / re.sub(r"[^\w.]+", "_", shipped.name)
        kept = place / "said.json"
        if kept.exists() and not options.again:
            before = [Said(**{**item, "words": tuple(item["words"])}) for item in json.loads(kept.read_text())]
            return graded_together([graded(item, written(place, item.command).read_text()) for item in before])
        if options.table:
            return []
        print(shipped.name, flush=True)
        said = list(Model(shipped, place, options.limit).all())
        kept.write_text(json.dumps([asdict(item) for item in said]))
        return graded_together(said)

    with ThreadPoolExecutor(options.processes) as pool:
        found = [said for items in pool.map(work, models) for said in items]
    days = {date.fromtimestamp(path.stat().st_mtime) for path in options.folder.glob("work/*/said.json")}
    options.output.write_text(page(found, options.limit, days))
    wrong = [said for said in found if said.grade == "wrong"]
    for said in wrong:
        print(f"wrong: {said.model}: polycmp {' '.join(said.words)}\n    {said.status} {said.sentence}\n    {said.why}")
    print(Counter(said.grade for said in found))
    return 1 if wrong else 0


def page(found: Iterable[Said], limit: float, days: Iterable[date]) -> str:
    """Return the table.

    Args:
        found: What was said.
        limit: Seconds that a command had.
        days: When it was.
    """
    found = list(found)
    grades = Counter(said.grade for said in found)
    models = len({said.model for said in found})
    packages = len({said.model.partition(":")[0] for said in found})
    when = " and ".join(sorted({day.isoformat() for day in days}))
    lines = [
        "# Models from packages, and what polycmp says of them",
        "",
        f"{packages} packages, {models} models, {len(found)} commands with {limit:.0f} seconds each, on {when}: "
        f"{grades['right']} right, {grades['wrong']} wrong, {grades['time']} out of time, {grades['open']} about which "
        "the runtimes alone say too little to grade them. `python -m truth.packages` makes this table. What is right "
        f"was found with ONNX Runtime {version('onnxruntime')}, the evaluator of onnx {version('onnx')} and OpenVINO "
        "alone, on the inputs that polycmp chose.",
        "",
        *(HERE / "reading.md").read_text().splitlines(),
        "## All commands",
        "",
        "| model | command | exit status | it says | |",
        "|---|---|---|---|---|",
    ]
    last = ""
    for said in found:
        name = "" if said.model == last else said.model
        last = said.model
        sentence = re.sub(r"(/[\w.+-]+){3,}/", "", said.sentence)
        sentence = re.sub(r" \([\d.]+ s\)", "", sentence).replace("|", "\\|")
        sentence = sentence if len(sentence) <= 240 else sentence[:237] + "…"
        grade = said.grade + (f": {said.why}" if said.why else "")
        lines.append(f"| {name} | {said.command} | {said.status} | {sentence} | {grade} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
