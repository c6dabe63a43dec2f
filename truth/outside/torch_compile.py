"""Silent bugs of torch.compile that others published: each asked about knowing nothing, and with the issue's inputs.

    python -m truth.outside.torch_compile [--releases R...] [--cases NAME...] [--output FILE]

The issues are those of arXiv 2604.08720: 130 that were mended, and those that its authors found. Each case is a module
of our own in `torch_compile_cases`, made from what the issue says. Each release of PyTorch has an environment of its
own (`torch_releases.py`). In it `asking.py` asks polycmp's command line, and `plain_torch.py`, which knows nothing of
polycmp, says which layer is wrong. Answers are kept below .cache/truth-outside/torch-compile; `--cases` asks again. The
page is docs/outside/torch-compile.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from truth.history.environments import ROOT, NotMadeError
from truth.outside.torch_compile_cases import AOT, CASES, INDUCTOR, OPEN, RECORDING, Case
from truth.outside.torch_compile_page import page
from truth.outside.torch_releases import RELEASES, Release
from truth.table import write_page

PAGE = ROOT / "docs" / "outside" / "torch-compile.md"
_WORK = ROOT / ".cache" / "truth-outside" / "torch-compile"
#: What torch.testing.assert_close of the study's scripts takes for equal.
_EQUAL = ("--nan", "equal", "--infinities-compare-equal")
_COMPILED = "torch:compile"
#: Seconds after which the questions about a case are given up.
_SECONDS = 1200


def questions(case: Case, compiled: str = _COMPILED) -> Iterator[tuple[str, list[str]]]:
    """Yield what polycmp is asked about a case, by name: first the same of every case, knowing nothing.

    Args:
        case: The case.
        compiled: The backend that is asked about.
    """
    model = [f"{case.name}.py", "--model-type", "torch"]
    compiles = ":compile" in compiled
    several = ["-b", compiled, *(["-b", f"{compiled},dynamic"] if compiles else []), "-b", "torch"]
    stress = ["run", *model, *several, "--data-loader", "stress"]
    yield "stress", stress
    yield "layouts", [*stress, "--stress-layouts", "transposed", "sliced"]
    yield "recording", [*stress, "--torch-grad", "on"]
    yield "backward", ["run", *model, "-b", compiled, "-b", "torch", *stress[-2:], "--torch-grad", "backward"]
    pair = ["-b", f"{compiled},dynamic" if case.called == OPEN and compiles else compiled, "-b", "torch"]
    recorded = ["--torch-grad", "on"] if case.called == RECORDING else []
    given = [*model, *pair, *recorded, "--data-loader-script", f"{case.name}.py", *_EQUAL]
    yield "inputs", ["run", *given]
    if compiled == _COMPILED:
        yield "passes", ["bisect", *given, "--over", "passes"]
        yield "locate", ["locate", *given]


def control_of(case: Case) -> str:
    """Return what of the same release is right: without the layer at fault, or nothing compiled at all."""
    return {INDUCTOR: f"{_COMPILED},compiler=aot_eager", AOT: f"{_COMPILED},compiler=eager"}.get(
        case.layer, "torch:name=again"
    )


def ask(case: Case, release: Release, compiled: str = _COMPILED) -> dict[str, Any]:
    """Return what is said of a case with a release, by the name of the question."""
    asked = dict(questions(case, compiled))
    found: dict[str, Any] = {}
    while left := {name: words for name, words in asked.items() if name not in found}:
        found |= {line["question"]: line for line in release.run("asking.py", json.dumps(left), _SECONDS)}
        dead = next((name for name in left if name not in found), "")
        if dead:  # the process died of it: the others are asked in a new one
            found[dead] = {"status": None, "verdict": "died", "sentence": "the process died", "seconds": 0.0}
    return found


def ask_all(release: Release, mended: Release | None, cases: Sequence[Case]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what is said of each case that a release has, beside what is right, and where the plain loop sees it."""
    for case in cases:
        plain = release.run("plain_torch.py", json.dumps({case.name: case.called}), _SECONDS)
        said = {"plain": plain[0]["wrong"] if plain else None, "bug": ask(case, release)}
        said["control"] = ask(case, release, control_of(case))
        if mended is not None and case.mended:
            later = mended.run("plain_torch.py", json.dumps({case.name: case.called}), _SECONDS)
            said |= {"plain mended": later[0]["wrong"] if later else None, "mended": ask(case, mended)}
        yield case.name, said


def _kept(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def main(words: Sequence[str]) -> int:
    """Ask about every case and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.torch_compile",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--releases", nargs="*", default=[release.name for release in RELEASES], help="releases")
    parser.add_argument(
        "--cases", nargs="*", default=[], help="names of cases to ask again; by default those not asked"
    )
    parser.add_argument("--keep", action="store_true", help="keep the environments, of a gigabyte or three each")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    path = _WORK / "answers.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    answers = _kept(path)
    made: dict[str, Release] = {}
    for release in RELEASES:
        asked = [case for case in CASES if case.name in options.cases or not (options.cases or case.name in answers)]
        if release.name not in options.releases or not asked:
            continue
        try:
            release.make()
        except NotMadeError as error:
            print(f"PyTorch {release.name}: left out, since it cannot be installed here: {error}")
            continue
        made[release.name] = release
    for release in made.values():
        wanted = options.cases or [case.name for case in CASES if case.name not in answers]
        cases = [case for case in CASES if case.name in wanted and case.wrong == release.name]
        later = next((item for item in made.values() if item.name != release.name), None)
        for name, said in ask_all(release, later, cases):
            answers[name] = said
            path.write_text(json.dumps(answers, indent=1), "utf-8")
            print(name, said["plain"], {key: item.get("verdict") for key, item in said["bug"].items()}, flush=True)
    if not options.keep:
        for release in made.values():
            release.remove()
    asked = [case for case in CASES if case.name in answers]
    if not asked:
        print("skipped: no release of PyTorch built for CPUs alone can be had here")
        return 0
    write_page(options.output, page(asked, answers))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
