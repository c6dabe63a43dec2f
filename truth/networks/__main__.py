"""Makes the files, asks polycmp, and writes the table; see the package."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from truth.networks.asking import ACCUSED, GRADES, PASSED, RIGHT, Said, ask_all, contradictions, grade, is_named
from truth.networks.making import NO_FAULT, SHOWS, Case, make_all

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HEAD = """# Networks that no scenario has

Written by `python -m truth.networks write`, from answers up to {when}.
Networks of transformers with random weights, exported by torch; files by ONNX Runtime's quantisers (GPTQ and HQQ among
them), onnxconverter-common, onnx-neural-compressor (SmoothQuant) and weight equalisation. {pairs} of {all} pairs were
asked, in a random order: `run` in both orders of the files, and `--mark-all` and `locate` in both for one pair in
three. What is true of each pair was written down before, by the rule in [making.py](making.py). {named} of {shown}
faults that `locate` found are named by their tensor or operator.
"""


def main(words: Sequence[str]) -> int:
    """Do what the words say, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m truth.networks")
    parser.add_argument("do", choices=("make", "ask", "write"))
    parser.add_argument("--only", default="", help="make only networks whose name matches")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "networks")
    parser.add_argument("--minutes", type=float, default=0, help="stop asking after so many; 0 for no limit")
    parser.add_argument("--output", type=Path, default=HERE / "results.md")
    given = parser.parse_args(words)
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.do == "make":
        make_all(given.folder, given.only)
        return 0
    kept = json.loads((given.folder / "cases.json").read_text())
    cases = [Case(**{**item, "tensors": tuple(item["tensors"])}) for item in kept]
    start, asked = time.monotonic(), []
    if given.do == "ask":
        _note(given.folder / "asked.json")
    for case, said in ask_all(cases, given.folder, only_kept=given.do == "write"):
        asked.append((case, said))
        if given.do == "ask":
            _tell(case, said)
            if given.minutes and time.monotonic() - start > 60 * given.minutes:
                break
    if given.do == "write":
        when = datetime.fromtimestamp((given.folder / "said.jsonl").stat().st_mtime, timezone.utc)
        by = " and ".join(json.loads((given.folder / "asked.json").read_text()))
        given.output.write_text(page(asked, len(cases), f"{when:%Y-%m-%d, %H:%M}, {by}"), "utf-8")
        print(f"wrote {given.output}")
    return int(any(grade(case, item) in {ACCUSED, PASSED} for case, said in asked for item in said.values()))


def _note(path: Path) -> None:
    """Note with which tree and packages polycmp is asked."""
    of = ", ".join(f"{name} {_version(name)}" for name in ("onnx", "onnxruntime", "numpy"))
    known = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps(list(dict.fromkeys([*known, f"tree {_tree()} ({of})"]))))


def _tell(case: Case, said: Mapping[str, Said]) -> None:
    """Print what is wrong."""
    for name, item in said.items():
        if grade(case, item) in {ACCUSED, PASSED}:
            print(f"{grade(case, item)}: {case.key}: {name}: {item.sentence[:160]}", flush=True)
    for text in contradictions(case, said):
        print(f"contradiction: {case.key}: {text}", flush=True)


def page(asked: Sequence[tuple[Case, Mapping[str, Said]]], count: int, when: str) -> str:
    """Return the table."""
    answers = [(case, name, item, grade(case, item)) for case, said in asked for name, item in said.items()]
    located = [
        is_named(case, item) for case, name, item, _ in answers
        if name.startswith("locate") and item.exit == 1 and case.truth == SHOWS
    ]  # fmt: skip
    lines = [HEAD.format(
        when=when, pairs=len(asked), all=count, named=sum(located), shown=len(located)
    )]  # fmt: skip
    for title, key in (
        ("what is true", lambda case, name: f"{case.truth}, {'no fault' if case.fault == NO_FAULT else 'a fault'}"),
        ("tool", lambda case, name: case.tool),
        ("command", lambda case, name: name),
        ("network", lambda case, name: case.network),
    ):
        rows: dict[str, Counter[str]] = {}
        for case, name, _, word in answers:
            rows.setdefault(key(case, name), Counter())[word] += 1
        lines += [f"| {title} | answers | {' | '.join(GRADES)} |", f"|---|{'---|' * (len(GRADES) + 1)}"]
        for row, counts in sorted(rows.items()):
            cells = [row, counts.total(), *(counts[word] or "" for word in GRADES)]
            lines.append(f"| {' | '.join(map(str, cells))} |")
        if title == "what is true":
            total = Counter(word for *_, word in answers)
            cells = ["**all**", total.total(), *(total[word] or "" for word in GRADES)]
            lines.append(f"| {' | '.join(map(str, cells))} |")
        lines.append("")
    judged = [word for *_, word in answers if word != GRADES[-1]]
    lines += [
        f"Right: {judged.count(RIGHT)} of {len(judged)} answers to which there is one.",
        "",
        "## What is wrong",
        "",
    ]
    lines += [
        f"- {case.key}, `{name}`: {word}; noise {case.noise:.2g}, effect {case.effect:.2g}. “{item.sentence[:200]}”"
        for case, name, item, word in answers if word in {ACCUSED, PASSED}
    ]  # fmt: skip
    lines += ["", "## Contradictions", ""]
    lines += [f"- {case.key}: {text}" for case, said in asked for text in contradictions(case, said)]
    return "\n".join(lines) + "\n"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _tree() -> str:
    words = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
