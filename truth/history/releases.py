"""Changes between releases, searched with `polycmp bisect --over PACKAGE` and held against every release.

    python -m truth.history.releases [--only REGEX]

needs an environment with polycmp-bisect. What is true of each release comes from `truth.history.every_release`, which
asks the runtime alone. Of each issue two things are asked: which release was the first to be wrong, where only a wrong
one is known; and which one mended it, where the ends are that one and the newest of all. Each search is made twice:
without `locate`, as it comes; and again as a whole, with the environments of the first. What was searched is kept, so
that a run goes on where it was stopped. The table is written to truth/history/releases.md; the exit status is 0 if
every answer is right, with at most 8 environments.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from packaging.version import Version

from truth.history.environments import FOLDER
from truth.history.every_release import RIGHT, answers, asked, package_of, releases_of
from truth.history.issue import Issue
from truth.table import machine

HERE = Path(__file__).parent
_KEPT = FOLDER / "releases"
_MOST = 8
FIRST, MENDED = "first wrong", "mended"
#: Words of messages with which a release says that the model is too new for it.
_TOO_NEW = ("opset", "not implemented", "not_implemented", "not supported", "unsupported", "no opset import", "schema")


@dataclass(frozen=True)
class Line:
    """What is true of the releases of a package about an issue.

    Attributes:
        releases: All that can be installed, from old to new.
        wrong: Those that show the fault.
        right: Those that are right; the others tell nothing.
    """

    releases: Sequence[str]
    wrong: frozenset[str]
    right: frozenset[str]

    def first_wrong(self, bad: str) -> tuple[str, str]:
        """Return the last right release before one that is wrong, empty if there is none, and the first wrong one."""
        good, first = "", bad
        for item in reversed(self.releases[: self.releases.index(bad)]):
            if item in self.right:
                good = item
                break
            first = item if item in self.wrong else first
        return good, first

    @property
    def words(self) -> str:
        """From which release on it is right, wrong, or tells nothing."""
        found: list[tuple[str, str]] = []
        for name in self.releases:
            state = "right" if name in self.right else "wrong" if name in self.wrong else "no answer"
            if not found or found[-1][1] != state:
                found.append((name, state))
        return ", ".join(f"{state} from {name} on" for name, state in found)

    def mended(self, bad: str) -> tuple[str, str]:
        """Return the last wrong release from one on, and the first right one behind it."""
        last = bad
        for item in self.releases[self.releases.index(bad) :]:
            if item in self.right:
                return last, item
            last = item if item in self.wrong else last
        return last, ""


def line_of(issue: Issue, known: Mapping[str, str]) -> Line:
    """Return what is true of all releases, as the runtime alone shows it."""
    bad = issue.bad.packages[0].partition("==")[2]
    fails = not _computes(known[bad])
    wrong = frozenset(
        name
        for name, said in known.items()
        if said != RIGHT and (_computes(said) or (fails and not any(word in said.lower() for word in _TOO_NEW)))
    )
    return Line(sorted(known, key=Version), wrong, frozenset(name for name, said in known.items() if said == RIGHT))


def _computes(said: str) -> bool:
    return " instead of " in said


@dataclass(frozen=True)
class Searched:
    """What came out of a search.

    Attributes:
        issue: The name of the issue.
        question: `FIRST` or `MENDED`.
        words: The command.
        first_bad: The release that was called the first bad one, or the last one of those before the mending.
        last_good: The release that was called the last good one, or the one that mended it.
        looked_at: Releases that were looked at, each in an environment of its own.
        prepared: How many of these environments were not there.
        seconds: Seconds of the first search, which ends before `locate`.
        warm: Seconds of the second, for which all environments were there.
        processor: Seconds that it took of the processors.
        sentence: What was said.
    """

    issue: str
    question: str
    words: str
    first_bad: str
    last_good: str
    looked_at: int
    prepared: int
    seconds: float
    warm: float
    processor: float
    sentence: str

    @property
    def is_right(self) -> bool:
        """Whether both releases are those that every release says."""
        return (self.first_bad, self.last_good) == expected(self)


@dataclass(frozen=True)
class _Done:
    """A search that has ended: its report, and the seconds that it took, of the clock and of the processors."""

    report: Mapping[str, Any]
    seconds: float
    processor: float


def search(issue: Issue, question: str, newest: str) -> Searched:
    """Search twice."""
    net = issue.make().net
    package, _, bad = issue.bad.packages[0].partition("==")
    ends = ["--bad", bad, *(["--good", newest] if question == MENDED else [])]
    backends = ["-b", issue.backend, "-b", "onnxrt" if issue.backend == "onnx" else "onnx"]
    words = ["m.onnx", *backends, "--load-inputs", "x.npz", *issue.words, "--over", package, *ends]
    if issue.tool:
        words = ["m.onnx", "-b", "onnxrt", "-b", "onnxrt:model=source.onnx", "--load-inputs", "x.npz"]
        words += ["--over", package, "--with", "onnx==1.19.1", *ends]
    step = ["--", "python", "tool.py", "source.onnx", "m.onnx"] if issue.tool else []
    with TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(net.model, folder / ("source.onnx" if issue.tool else "m.onnx"))
        np.savez(folder / "x.npz", allow_pickle=False, **net.feed)
        (folder / "tool.py").write_text(f"import sys\nsource, target = sys.argv[1:]\n{issue.tool}", "utf-8")
        cold = _bisect(folder, [*words, "--no-locate", "--report", "r.json", *step])
        warm = _bisect(folder, [*words, "--report", "r.json", *step])
    found = warm.report
    return Searched(
        issue.name, question, shlex.join(["polycmp", "bisect", *words, *step]),
        found["first_bad"] or "", found["last_good"] or "", len(found["judged"]), cold.report["prepared"],
        cold.seconds, warm.seconds, warm.processor, found["sentence"],
    )  # fmt: skip


def _bisect(folder: Path, words: Sequence[str]) -> _Done:
    report = folder / "r.json"
    report.unlink(missing_ok=True)
    environ = {"POLYCMP_CACHE": str(FOLDER / "polycmp"), **os.environ}
    begun, before = time.monotonic(), os.times()
    done = subprocess.run(
        [sys.executable, "-m", "polycmp", "bisect", *words], cwd=folder, capture_output=True, check=False, env=environ
    )
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    nothing = {"first_bad": "", "last_good": "", "judged": {}, "prepared": 0}
    said = {**nothing, "sentence": done.stderr.decode(errors="replace").strip()}
    return _Done(json.loads(report.read_text("utf-8")) if report.exists() else said, time.monotonic() - begun, spent)


def expected(searched: Searched) -> tuple[str, str]:
    """Return the first bad and the last good release, as every release says."""
    issue = next(item for item in asked() if item.name == searched.issue)
    line, bad = line_of(issue, answers()[issue.name]), issue.bad.packages[0].partition("==")[2]
    if searched.question == FIRST:
        good, first = line.first_wrong(bad)
        return first, good
    return line.mended(bad)


def main(words: Sequence[str]) -> int:
    """Search what was not searched yet, write the table, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m truth.history.releases", description=__doc__)
    parser.add_argument("--only", default="", help="search only issues whose name, number or question matches")
    chosen = parser.parse_args(words).only
    for issue in asked():
        for question in (FIRST, MENDED):
            kept = _kept(issue.name, question)
            if re.search(chosen, f"{issue.name} {issue.number} {question}") and not kept.exists():
                found = search(issue, question, releases_of(package_of(issue))[-1])
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(dataclasses.asdict(found), indent=1) + "\n", "utf-8")
                print(f"{question}, {issue.name}: {found.first_bad}, {found.last_good}, {found.warm:.0f} s", flush=True)
    truth = answers()
    files = [_kept(issue.name, question) for issue in asked() for question in (FIRST, MENDED)]
    known = [Searched(**json.loads(path.read_text("utf-8"))) for path in files if path.exists()]
    items = [item for item in known if item.issue in truth]
    (HERE / "releases.md").write_text(_page(items), "utf-8")
    return int(any(not item.is_right or item.looked_at > _MOST for item in items))


def _kept(issue: str, question: str) -> Path:
    """Return the file in which the answer to a question is kept."""
    return _KEPT / (re.sub(r"\W+", "-", f"{issue} {question}") + ".json")


def _page(items: Sequence[Searched]) -> str:
    right = sum(item.is_right for item in items)
    rows = "\n".join(map(_row, items))
    commands = "\n".join(dict.fromkeys(item.words for item in items))
    packages = sorted({_package(item) for item in items})
    looks, warm, spent = (max(getattr(item, name) for item in items) for name in ("looked_at", "warm", "processor"))
    return f"""# Changes between releases

Written by `python -m truth.history.releases`. {machine()}.

`polycmp bisect --over PACKAGE` on {len(items)} changes between releases of {" and ".join(packages)}: {right} of \
{len(items)} times it names both releases that every single release, asked with the runtime alone, says. It took at \
most {looks} environments. With all of them there, a search with `locate` took at most {warm:.0f} s of the clock and \
{spent:.0f} s of the processors; how busy the machine was besides, the table does not say.

| issue | model | asked | found | right | every release, asked by itself | environments | made | seconds without \
`locate` | with `locate`, environments there | of the processors |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

The commands, in a folder with the issue's model and inputs:

```sh
{commands}
```
"""


def _package(item: Searched) -> str:
    return next(package_of(issue) for issue in asked() if issue.name == item.issue)


def _row(item: Searched) -> str:
    issue = next(issue for issue in asked() if issue.name == item.issue)
    line = line_of(issue, answers()[issue.name])
    cells = (
        issue.number, issue.name, f"{item.question}, {package_of(issue)} {issue.bad.packages[0].partition('==')[2]} is",
        _pair(item.question, item.first_bad, item.last_good), "yes" if item.is_right else "no", line.words,
        f"{item.looked_at} of {len(line.releases)}", item.prepared, f"{item.seconds:.0f}", f"{item.warm:.0f}",
        f"{item.processor:.0f}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _pair(question: str, bad: str, good: str) -> str:
    if question == FIRST:
        return f"first wrong {bad}, last right {good or 'none'}"
    return f"mended in {good}, last wrong {bad}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
