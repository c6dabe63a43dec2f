"""Asks every release of a package about an issue, with the runtime alone: what a search over releases is held against.

    python -m truth.history.every_release

makes one environment per release, in the folder of `truth.history.environments`, and keeps each answer, so that it goes
on where it was stopped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.version import Version

from truth.history.checking import state
from truth.history.environments import FOLDER, Environment, NotMadeError, make
from truth.history.issue import Issue, onnxruntime
from truth.history.issues import ISSUES

#: What pip is asked for beside a release; a version from which on it is, where that matters.
_BESIDE: Mapping[str, str] = {"onnxslim": "colorama"}
_PROTOBUF_SINCE = (1, 23)
#: There are more than a hundred releases of OnnxSlim; these issues were one of a few of them.
_SLIM = ("OnnxSlim: Mul by ones", "OnnxSlim: constant behind Cast")
RIGHT = "right"
_ANSWERS = FOLDER / "every-release.json"


def package_of(issue: Issue) -> str:
    """Return the package whose release was wrong."""
    return issue.bad.packages[0].partition("==")[0]


def asked() -> Iterator[Issue]:
    """Yield the issues of packages whose releases differ in nothing else that matters here."""
    for issue in ISSUES:
        runtime = package_of(issue) in {"onnxruntime", "openvino", "onnx"} and "quantiser" not in issue.producer
        if runtime or issue.name in _SLIM:
            yield issue


def releases_of(package: str) -> list[str]:
    """Return the releases that have a wheel for the versions of Python that are used here, from old to new."""
    found: set[str] = set()
    pip = (sys.executable, "-m", "pip")
    for python in ("3.10", "3.11"):
        done = subprocess.run(
            [*pip, "index", "versions", package, "--only-binary", ":all:", "--python-version", python],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        for line in done.stdout.splitlines():
            if line.startswith("Available versions:"):
                found |= {item.strip() for item in line.partition(":")[2].split(",")}
    return sorted(found, key=Version)


def environment_of(package: str, release: str) -> Environment:
    """Return the environment of a release."""
    if package == "onnxruntime":
        return onnxruntime(release)
    words = (f"{package}=={release}", *filter(None, [_BESIDE.get(package)]))
    if package != "onnx":
        return Environment(words)
    newer = tuple(int(part) for part in release.split(".")[:2]) >= _PROTOBUF_SINCE
    return Environment((*words, *(["protobuf==6.33.0"] if newer else [])), "3.11", "numpy>=2")


def answers() -> dict[str, dict[str, str]]:
    """Return what is known: for each issue what came of each release, from old to new."""
    try:
        found: dict[str, dict[str, str]] = json.loads(_ANSWERS.read_text("utf-8"))
    except OSError:
        return {}
    return found


def main() -> int:
    """Ask what is not known yet."""
    known = answers()
    issues = list(asked())
    for package in sorted({*map(package_of, issues)}, reverse=True):
        for release in releases_of(package):
            for issue in issues:
                of_issue = known.setdefault(issue.name, {})
                if package_of(issue) == package and release not in of_issue:
                    of_issue[release] = _state(issue, environment_of(package, release))
                    _ANSWERS.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
                    print(f"{package} {release}: {issue.name}: {of_issue[release][:120]}", flush=True)
    return 0


def _state(issue: Issue, environment: Environment) -> str:
    folder = FOLDER / "every-release" / issue.name.replace(" ", "-").replace(":", "")
    try:
        make(environment)
    except NotMadeError as error:
        return f"not installed: {error}"
    return state(issue, environment, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
