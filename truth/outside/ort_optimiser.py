"""ONNX Runtime's own tests of its optimisers: each file with the optimisers on beside off, in releases since 1.17.

    python -m truth.outside.ort_optimiser [--data FOLDER] [--releases R...] [--output FILE]

The files are those that ONNX Runtime's unit tests make, as the repository ShenQingchao/OATest collected them; the
variable ORT_OPTIMISER_FILES names the folder where they lie. Without it, this says so and does nothing. Each release
has an environment of its own below .cache/truth-history. There `polycmp suite FOLDER` is asked, and `plain_loop.py`,
which knows nothing of polycmp. The page is docs/outside/ort-optimiser.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truth.history.environments import ROOT, Environment, NotMadeError, make
from truth.outside.looping import ask_each
from truth.table import machine, markdown_table, write_page

VARIABLE = "ORT_OPTIMISER_FILES"
PAGE = ROOT / "docs" / "outside" / "ort-optimiser.md"
#: The last release of each series since 1.17.
RELEASES = (
    *("1.17.3", "1.18.1", "1.19.2", "1.20.1", "1.21.1", "1.22.1", "1.23.2", "1.24.4"),
    *("1.25.1", "1.26.0", "1.27.0", "1.28.0", "1.29.0", "1.30.0", "1.31.1", "1.32.0"),
)
BACKENDS = ("onnxrt:optimization=all", "onnxrt:optimization=off")
STATES = ("passed", "failed", "undecided", "blind", "error")
#: The classes of differences, over the range of the outputs, that the plain loop measures.
CLASSES = ((0.0, "equal"), (1e-6, "≤ 1e-6"), (1e-3, "≤ 1e-3"), (1e-2, "≤ 1e-2"), (float("inf"), "> 1e-2"))
#: Differences, over the range, that are no rounding, and those that are.
_LARGE, _SMALL = 1e-3, 1e-6
#: What the oldest of the releases reads, so that all are given the same files.
_IR_VERSION = 9
_WORK = ROOT / ".cache" / "truth-outside" / "ort-optimiser"
#: Seconds after which a file is given up, and after which all of them are.
_FILE, _ALL = 60, 1800


@dataclass(frozen=True)
class Release:
    """What was said of all files with one release.

    Attributes:
        name: The release.
        cases: What `polycmp suite` says of each file, by its path.
        plain: What the plain loop measures of each file, by its path.
        seconds: How long the suite took.
    """

    name: str
    cases: Mapping[str, Mapping[str, Any]]
    plain: Mapping[str, Mapping[str, Any]]
    seconds: float


def copy_files(source: Path, target: Path) -> int:
    """Copy models, stamped with a version of the format that all releases read, and return their number."""
    import onnx

    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    paths = sorted(target.rglob("*.onnx"))
    for path in paths:
        try:
            model = onnx.load(path, load_external_data=False)
        except Exception:  # noqa: BLE001 - it stays as it is, and each release says what it thinks of it
            continue
        if model.ir_version > _IR_VERSION:
            model.ir_version = _IR_VERSION
            path.write_bytes(model.SerializeToString())
    return len(paths)


def ask(release: str, folder: Path) -> Release:
    """Ask `polycmp suite` and the plain loop with one release.

    Raises:
        NotMadeError: The release is not to be had here.
    """
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    interpreter = str(make(Environment((f"onnxruntime=={release}",), python)))
    # A release that is older than an operator set refuses it, unless this asks it to run what it knows of it.
    environ = {**os.environ, "ALLOW_RELEASED_ONNX_OPSET_ONLY": "0"}
    report, settings = _WORK / f"{release}.json", _WORK / "settings.toml"
    settings.write_text(f"timeout = {_FILE}\n", "utf-8")
    report.unlink(missing_ok=True)
    words = [interpreter, "-m", "polycmp", "suite", ".", "-j", "auto", "-q", "--settings", str(settings), "--keep", "1"]
    words += [word for backend in BACKENDS for word in ("-b", backend)]
    words += ["--results", str(_WORK / f"results-{release}"), "--report", str(report)]
    begun = time.monotonic()
    subprocess.run(words, cwd=folder, env=environ, stdout=subprocess.DEVNULL, timeout=_ALL, check=False)
    seconds = time.monotonic() - begun
    cases = {case["case"]: case for case in json.loads(report.read_text("utf-8"))["cases"]}
    return Release(release, cases, measure(interpreter, folder, environ), seconds)


def measure(interpreter: str, folder: Path, environ: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
    """Return what the plain loop says of each file; where it dies, it goes on behind that file."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.onnx"))
    words = [interpreter, str(Path(__file__).with_name("plain_loop.py")), str(folder)]
    return {name.removesuffix(".onnx"): said for name, said in ask_each(words, names, _ALL, environ).items()}


def class_of(plain: Mapping[str, Any]) -> str:
    """Return the class of a difference in words."""
    if "refused" in plain:
        return "not run"
    if plain["equal"]:
        return CLASSES[0][1]
    return next(name for limit, name in CLASSES[1:] if plain["error"] <= limit)


def page(releases: Sequence[Release], count: int) -> str:
    """Return the whole page."""
    newest = releases[-1]
    command = " ".join(["polycmp suite FOLDER", *(f"-b {backend}" for backend in BACKENDS)])
    counts = ([item.name, *(_count(item, state) for state in STATES), f"{item.seconds:.0f}"] for item in releases)
    return f"""# ONNX Runtime's optimisers, on beside off

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()}.

{count} models that ONNX Runtime's unit tests of its optimisers make, as the repository ShenQingchao/OATest collected
them. Each was run with all optimisers beside none, by ONNX Runtime {releases[0].name} to {newest.name}:
`{command}`, with inputs of its own. Files are stamped with
version {_IR_VERSION} of the format, which all of these releases read. The folder is the test that a file was made for,
not the optimiser that moves it.

{markdown_table(["release", *STATES[:-1], "not compared", "seconds"], counts)}

## What is not equal

Every file that is FAILED or UNDECIDED in a release: the word is polycmp's verdict, the figure the difference over the
range of the outputs that a loop without polycmp measures on other inputs (`truth/outside/plain_loop.py`); – is PASSED.

{_unequal(releases)}

## What each release changed

{_changes(releases)}

## Verdicts beside the plain loop, {newest.name}

{_beside(newest)}

### To be looked at

Misses would be among these: polycmp passes what the plain loop finds off by more than 1e-3 of the range, or fails what
it finds equal to 1e-6. Inputs differ, so that either may be right.

{_doubtful(releases)}

## Not compared, {newest.name}

{_reasons(newest)}
"""


def _count(release: Release, state: str) -> int:
    return sum(case["state"] == state for case in release.cases.values())


def _unequal(releases: Sequence[Release]) -> str:
    names = sorted({n for r in releases for n, case in r.cases.items() if case["state"] in ("failed", "undecided")})
    return markdown_table(
        ["file", *(r.name for r in releases)], ([name, *(_cell(r, name) for r in releases)] for name in names)
    )


def _cell(release: Release, name: str) -> str:
    state, plain = str(release.cases[name]["state"]), release.plain.get(name, {})
    if state in ("passed", "blind", "error"):
        return {"passed": "–", "error": "not run"}.get(state, state)
    figure = f" {plain['error']:.1g}" if "error" in plain else ""
    return f"{state.upper()}{figure}"


def _changes(releases: Sequence[Release]) -> str:
    lines = []
    for old, new in itertools.pairwise(releases):
        kinds: dict[tuple[str, str], list[str]] = {}
        for name, case in new.cases.items():
            before = old.cases[name]["state"]
            if before != case["state"]:
                kinds.setdefault((before, case["state"]), []).append(name)
        for (before, after), names in sorted(kinds.items()):
            words = {"error": "not compared"}
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            lines.append([new.name, words.get(before, before), words.get(after, after), len(names), shown])
    return markdown_table(["release", "before", "now", "files", "which"], lines)


def _beside(release: Release) -> str:
    classes = [name for _, name in CLASSES] + ["not run"]
    found = Counter((case["state"], class_of(release.plain[name])) for name, case in release.cases.items())
    rows = ([{"error": "not compared"}.get(s, s), *(found[s, name] or "" for name in classes)] for s in STATES)
    return markdown_table(["verdict", *classes], rows)


def _doubtful(releases: Sequence[Release]) -> str:
    found: dict[tuple[str, str], list[tuple[str, float, Any]]] = {}
    for release in releases:
        for name, case in sorted(release.cases.items()):
            error, state = release.plain[name].get("error"), case["state"]
            if error is not None and (
                (state == "passed" and error > _LARGE) or (state == "failed" and error <= _SMALL)
            ):
                found.setdefault((name, state.upper()), []).append((release.name, error, case["max_error"]))
    rows = []
    for (name, verdict), items in sorted(found.items()):
        last, error, largest = items[-1]
        which = last if len(items) == 1 else f"{items[0][0]} to {last}: {len(items)} of {len(releases)}"
        rows.append([name, verdict, which, f"{error:.2g}", "" if largest is None else f"{float(largest):.2g}"])
    if not rows:
        return "None."
    return markdown_table(["file", "verdict", "releases", "plain loop, of the range", "polycmp, absolute"], rows)


def _reasons(release: Release) -> str:
    said: dict[str, list[str]] = {}
    for name, case in sorted(release.cases.items()):
        if case["state"] == "error":
            reason = str(case["reason"]).removeprefix(f"{BACKENDS[0]}: ").replace(f"{name}.onnx", "the model")
            said.setdefault(" ".join(reason.split())[:120], []).append(name)
    return markdown_table(
        ["files", "said"], ([", ".join(names), reason.replace("|", "\\|")] for reason, names in said.items())
    )


def main(words: Sequence[str]) -> int:
    """Ask every release and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.ort_optimiser",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default=os.environ.get(VARIABLE, ""), help=f"the folder; by default {VARIABLE}")
    parser.add_argument("--releases", nargs="*", default=RELEASES, help="releases, from old to new")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    if not options.data:
        print(f"skipped: {VARIABLE} does not name the folder of ONNX Runtime's optimiser tests")
        return 0
    if not Path(options.data).is_dir():
        print(f"skipped: there is no folder {options.data}, which {VARIABLE} names")
        return 0
    _WORK.mkdir(parents=True, exist_ok=True)
    count = copy_files(Path(options.data), _WORK / "files")
    asked = []
    for name in options.releases:
        try:
            asked.append(ask(name, _WORK / "files"))
        except NotMadeError as error:
            print(f"{name}: left out, since it cannot be installed here: {error}")
            continue
        print(name, {state: _count(asked[-1], state) for state in STATES}, f"{asked[-1].seconds:.0f} s", flush=True)
    if not asked:
        print("no release could be installed: is there an index for pip?")
        return 3
    write_page(options.output, page(asked, count))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
