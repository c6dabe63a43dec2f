"""Files that converters make, good and with a planted fault: `python -m truth.converters`.

    python -m truth.converters [--part networks|trained|exported] [--only REGEX] [--models REGEX] [--no-faults]
                               [--seconds S] [--again] [--write]

Every producer that takes an ONNX file converts every network and every trained file; every exporter writes the networks
of its framework. All of it lies below .cache/converters, with what was found of each file, so that a run that was
stopped goes on and slices add up; `--again` judges anew what matches. Those that need packages of their own run in an
environment of their own, and are left out where that cannot be made. Each file is judged in a process of its own, so
that a crash of native code, or `--seconds` gone by, is a row of the table. What is true of each file is established
with ONNX Runtime and the framework alone (`measuring.py`). `--write` writes the sections of the chosen parts into
results.md. The exit status is 0 if no good file is accused and every fault that shows is named.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import numpy as np

from truth.build import Net
from truth.converters.architectures import ARCHITECTURES
from truth.converters.environments import environment
from truth.converters.isolating import CRASH, LATE, kept
from truth.converters.judging import (
    ACCUSED,
    ELSEWHERE,
    GOOD,
    MISSED,
    NAMED,
    NO_ANSWER,
    NOT_MADE,
    PASSED,
    RUINED_FILE,
    WRONG,
    Case,
    Count,
    loads,
)
from truth.converters.making import target_of
from truth.converters.producers import CHANGED, PRODUCERS, Producer
from truth.converters.trained import trained

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".cache" / "converters"
#: Frameworks, with the list of packages that each needs.
FRAMEWORKS = {"torch": "torch", "tensorflow": "tf2onnx", "sklearn": "skl2onnx", "paddle": "paddle2onnx"}
#: Files of exporters are right to a few units of float32, so that a fault shows with this share of the signal (choice).
SEEN = 0.01
#: Seconds that a producer has for all models.
_CONVERTING = 1200
COLUMNS = (GOOD, ACCUSED, NO_ANSWER, CRASH, LATE, RUINED_FILE, PASSED, NOT_MADE, NAMED, ELSEWHERE, MISSED)
HEAD = """| {what} | not accused | **accused** | no answer | crash | out of time | ruined | \
**passed in ruins** | not made | faults named | elsewhere | **missed** |
|---|---|---|---|---|---|---|---|---|---|---|---|"""
TITLES = {
    "networks": "## Small networks with random weights, by tools that take an ONNX file",
    "trained": "## Trained files from packages, by the same tools",
    "exported": "## Networks of frameworks, by their exporters",
}


class Corpus:
    """What was asked for, and what was found.

    Args:
        given: The arguments of the command line.
    """

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self.left_out: dict[str, str] = {}
        self.models: set[str] = set()

    def networks(self) -> Mapping[str, Count]:
        """Judge what producers make of small networks."""
        return self._produced(ARCHITECTURES, every=True)

    def trained(self) -> Mapping[str, Count]:
        """Judge what producers make of trained files; of the faults in each the first one that shows."""
        return self._produced(trained(FOLDER.parent / "packages"), every=False)

    def _produced(self, models: Mapping[str, Callable[[], Net]], *, every: bool) -> Mapping[str, Count]:
        folders = list(self._written(models))
        counts: dict[str, Count] = {}
        for producer in PRODUCERS:
            if not re.search(self._given.only, producer.name):
                continue
            why = convert(producer, folders)
            if why:
                self.left_out[producer.name] = why
                continue
            count = counts[producer.name] = Count()
            for folder in folders:
                with np.load(folder / "x.npz") as held:
                    feed = list(held.values())
                made = target_of(folder, producer.name)
                what = f"{producer.name} x {folder.name}"
                changed = CHANGED.get((producer.name, folder.name), "")
                self._judge(count, Case(what, made, folder / "model.onnx", feed, every=every, changed=changed))
            print(producer.name, count.grades, flush=True)
        return counts

    def _written(self, models: Mapping[str, Callable[[], Net]]) -> Iterator[Path]:
        """Write networks and their inputs where they are missing, and yield their folders."""
        for name, make in models.items():
            folder = FOLDER / re.sub(r"\W+", "-", name)
            if not re.search(self._given.models, folder.name):
                continue
            if not (folder / "x.npz").exists():
                make().write(folder)
            self.models.add(folder.name)
            yield folder

    def exported(self) -> Mapping[str, Count]:
        """Judge what exporters write, beside what the framework computes and the file of another exporter."""
        counts: dict[str, Count] = {}
        for framework, requires in FRAMEWORKS.items():
            folder = FOLDER / "exported" / framework
            why = export(framework, requires, folder, self._given.models)
            if why:
                self.left_out[framework] = why
                continue
            for network in sorted(item for item in folder.iterdir() if item.is_dir()):
                if re.search(self._given.models, network.name):
                    self._exports(network, counts)
        return dict(sorted(counts.items()))

    def _exports(self, network: Path, counts: dict[str, Count]) -> None:
        with np.load(network / "x.npz") as x, np.load(network / "golden.npz") as golden:
            feed, expected = list(x.values()), list(golden.values())
        names = json.loads((network / "exporters.json").read_text("utf-8"))
        files = {name: target_of(network, name) for name in names}
        for name, made in files.items():
            if not re.search(self._given.only, name):
                continue
            others = [file for other, file in files.items() if other != name and loads(file)]
            case = Case(f"{name} x {network.name}", made, others[-1] if others else made, feed, expected, least=SEEN)
            self._judge(counts.setdefault(name, Count()), case)
            self.models.add(f"{network.parent.name} {network.name}")

    def _judge(self, count: Count, case: Case) -> None:
        file = case.made.with_suffix(".said.json")
        if self._given.again:
            file.unlink(missing_ok=True)
        count.join(kept(file, case, faults=not self._given.no_faults, seconds=self._given.seconds))


def convert(producer: Producer, folders: Sequence[Path]) -> str:
    """Have a producer convert the models of some folders; return why it could not even begin.

    Args:
        producer: The producer.
        folders: The folders.
    """
    left = [folder for folder in folders if not _is_tried(target_of(folder, producer.name))]
    if not left:
        return ""
    python, why = environment(producer.requires, FOLDER / "environments")
    if why:
        return why
    while left:
        words = [python, "-m", "truth.converters.making", producer.name, *map(str, left)]
        try:
            done = subprocess.run(words, cwd=ROOT, capture_output=True, timeout=_CONVERTING, check=False)
            why = f"the converter ended with exit status {done.returncode}"
        except subprocess.TimeoutExpired:
            why = f"{_CONVERTING} s were not enough"
        left = [folder for folder in left if not _is_tried(target_of(folder, producer.name))]
        if left:
            target_of(left.pop(0), producer.name).with_suffix(".why").write_text(why, "utf-8")
    return ""


def _is_tried(target: Path) -> bool:
    return target.exists() or target.with_suffix(".why").exists()


def export(framework: str, requires: str, folder: Path, chosen: str) -> str:
    """Have the exporters of a framework write its networks; return why they could not.

    Args:
        framework: A module of `frameworks`.
        requires: The list of packages that it needs.
        folder: Where to.
        chosen: A pattern of names of networks.
    """
    if (folder / "complete").exists():
        return ""
    python, why = environment(requires, FOLDER / "environments")
    if why:
        return why
    folder.mkdir(parents=True, exist_ok=True)
    words = [python, "-m", "truth.converters.exporting", framework, str(folder), chosen]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it failed"])[-1][:200]
    return ""


def section(part: str, counts: Mapping[str, Count], corpus: Corpus) -> str:
    """Return one part of the page."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("onnxruntime", "onnx"))
    releases = [file.read_text("utf-8") for file in sorted(FOLDER.glob("exported/*/releases.json"))]
    if part == "exported":
        packages += "".join(f", {name} {release}" for text in releases for name, release in json.loads(text).items())
    day = datetime.now(tz=timezone.utc).date()
    lines = [TITLES[part], "", f"{len(corpus.models)} of them, with {packages}; measured on {day}.", ""]
    lines.append(HEAD.format(what="exporter" if part == "exported" else "producer"))
    total = Count()
    for name, count in counts.items():
        lines.append(f"| {name} | " + " | ".join(str(count.grades.get(column, 0)) for column in COLUMNS) + " |")
        total.join(count)
    lines.append("| all | " + " | ".join(str(total.grades.get(column, 0)) for column in COLUMNS) + " |")
    if corpus.left_out:
        lines += ["", "Left out: " + "; ".join(f"{name} ({why})" for name, why in corpus.left_out.items()) + "."]
    if total.told:
        lines += ["", "Not right:", "", *(f"- {line[:600]}" for line in total.told)]
    return "\n".join(lines) + "\n"


def write(part: str, text: str, page: Path) -> None:
    """Put a section into the page, in the place of the one that is there.

    Args:
        part: Which.
        text: The section.
        page: The file.
    """
    before, *sections = re.split(r"(?m)^(?=## )", page.read_text("utf-8"))
    found = {item.partition("\n")[0]: item.rstrip("\n") + "\n" for item in sections} | {TITLES[part]: text}
    order = sorted(found, key=lambda title: [*TITLES.values(), title].index(title))
    page.write_text("\n".join([before.rstrip("\n") + "\n", *(found[title] for title in order)]), "utf-8")


def main() -> int:
    """Convert, judge, and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m truth.converters")
    parser.add_argument("--part", choices=tuple(TITLES), nargs="+", default=tuple(TITLES))
    parser.add_argument("--only", default="", help="producers and exporters whose name matches")
    parser.add_argument("--models", default="", help="models whose name matches")
    parser.add_argument("--no-faults", action="store_true")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each file, after which it is given up")
    parser.add_argument("--again", action="store_true", help="judge anew what was judged before")
    parser.add_argument("--write", action="store_true", help="write the chosen parts into results.md")
    given = parser.parse_args()
    wrong = False
    for part in given.part:
        corpus = Corpus(given)
        counts = {"networks": corpus.networks, "trained": corpus.trained, "exported": corpus.exported}[part]()
        if given.write:
            write(part, section(part, counts, corpus), HERE / "results.md")
        wrong = wrong or any(count.grades.get(grade) for count in counts.values() for grade in WRONG)
        for count in counts.values():
            print(*count.told, sep="\n")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
