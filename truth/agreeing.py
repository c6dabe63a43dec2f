"""Whether commands say contrary things of one pair.

    python -m truth.agreeing [--only REGEX] [--fast] [--sample N] [--processes N] [--again]

Every scenario is a pair. It is given to `run`, `run --tolerance auto`, `run --mark-all`, `locate`, `suite`, `compare`
of what both sides saved, and its candidate to `invariants`; `contradictions` says what two of them must not say of it.
What is found is printed, and the exit status is 0 if nothing is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from truth.judge import BACKENDS, Said, backends_found, is_contrary, run_words, word_of
from truth.resuming import Kept, each
from truth.scenario import EQUAL, UNSTEADY, Scenario
from truth.scenarios import SCENARIOS
from truth.working import FOLDER, folder_of

PASSED, DIFFERENT = 0, 1
#: What `locate` says where an operator is wrong, and what follows from it is too small for the tolerance.
_HARMLESS = "the outputs are within tolerance"
#: What it says where that is more, and rounding makes as much of the outputs.
_HIDDEN = "the outputs are off by no more than rounding explains"
#: What it says of kernels for several operators that make other numbers in each run.
_RACE = "memory that nothing wrote, or a race"


@dataclass(frozen=True)
class Contrary:
    """A scenario, and what commands say of it that cannot both be true.

    Attributes:
        name: The scenario.
        texts: Each contradiction in words; none if all agree.
        command: The `locate` command; the others take the same words.
    """

    name: str
    texts: tuple[str, ...]
    command: str


def ask_all(scenario: Scenario, folder: Path) -> dict[str, Said]:
    """Return what each command says of a scenario, by the command's name."""
    pair = scenario.write(folder)[1:]
    report = folder / "said.json"
    commands: dict[str, Sequence[str]] = {
        "run": ["run", *pair],
        "run --mark-all": ["run", *pair, "--mark-all"],
        "locate": ["locate", *pair],
    }
    if "--atol" not in pair:
        commands["run --tolerance auto"] = ["run", *pair, "--tolerance", "auto"]
    with backends_found():
        said = {name: run_words(words, report) for name, words in commands.items()}
        said["suite"] = _suite(pair, folder)
        said["compare"] = _saved(scenario, pair, folder)
        said["invariants"] = _alone(pair)
    return said


def _suite(pair: Sequence[str], folder: Path) -> Said:
    """Return what a suite with the pair as its only case says."""
    from polycmp.cli.main import main

    options: dict[str, list[str]] = {}
    key = ""
    for word in pair[1:]:
        if word.startswith("-"):
            key = {"-b": "backend"}.get(word, word.removeprefix("--"))
            options.setdefault(key, [])
        else:
            options[key].append(word)
    named = options.pop("timeout", [])  # a case has a time limit of its own under this name
    lines = ["[[case]]", f"model = {json.dumps(pair[0])}"]
    lines += [f"{name} = {json.dumps(values) if values else 'true'}" for name, values in options.items()]
    lines += [f"options = {{ timeout = {seconds} }}" for seconds in named]
    path = folder / "suite.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    before = os.environ.get("PYTHONPATH")  # cases are processes of their own, which are to find these backends, too
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(BACKENDS), before])
    )  # cases are processes of their own
    try:
        return Said(main(["suite", str(path), "--results", str(folder / f"suite-{time.time_ns()}"), "--jobs", "1"]))
    finally:
        del os.environ["PYTHONPATH"]
        os.environ.update({"PYTHONPATH": before} if before is not None else {})


def _saved(scenario: Scenario, pair: Sequence[str], folder: Path) -> Said:
    """Return what `compare` says of what each side saved alone."""
    from polycmp.cli.main import main

    words, places = list(pair), [index for index, word in enumerate(pair) if word == "-b"]
    files = [str(folder / f"{number}.npz") for number in range(2)]
    for number, file in enumerate(files):
        other = places[1 - number]
        alone = [*words[:other], *words[other + 2 :]]
        status = main(["run", *alone, "--save-outputs", file])
        if status:
            return Said(status)
    return Said(main(["compare", *files, *(word for word in scenario.words if word not in {"--use-subprocess"})]))


def _alone(pair: Sequence[str]) -> Said:
    """Return what `invariants` says of the candidate: whether it makes the same of the same."""
    from polycmp.cli.main import main

    first, last = (index for index, word in enumerate(pair) if word == "-b")
    words = [*pair[: first + 2], *pair[last + 2 :], "--checks", "repeat", "--nan", "equal"]
    return Said(main(["invariants", *(word for word in words if word != "--use-subprocess")]))


def contradictions(said: Mapping[str, Said]) -> list[str]:
    """Return what commands say of one pair that cannot both be true, in words.

    Contrary is:

    - `run` and `suite` end with different statuses: they judge the same numbers by the same rule. Where a side makes
      other numbers in each run, they judge other numbers. (`compare` of saved outputs has no model to measure with.)
    - `run --mark-all` says of an output of the model something else than `run`, although `locate` saw that looking
      inside does not move it. BLIND says nothing of an output, and tensors inside may show what outputs do not.
    - `run` fails and `locate` says that all is equal within the tolerance.
    - `run` passes and `locate` accuses, unless it says itself that the outputs are within tolerance even so,
      or that they fail only where one looks inside.
    - `run --tolerance auto` passes and `locate` accuses, or the other way round: both take rounding into account.
      `locate` sees more than outputs show: where it says itself that rounding explains those, `auto` has to pass them,
      and nothing is contrary. BLIND contradicts nobody.
    - `run --tolerance auto` and `locate` say other words, as `is_contrary` tells them apart.
    - `run` cannot compare, as a backend fails, and `locate` says that nothing is wrong.
    - `invariants` finds that the candidate repeats itself, and `locate` that it does not, or the other way round where
      `run` fails. NaN that is at the same place in both runs is asked for as equal: whether it repeats itself is the
      question here, and by default NaN differs from everything in all commands.
    """
    located = said["locate"]
    return [text for rule in _RULES for text in rule(said, located)]


def _same_numbers(said: Mapping[str, Said], located: Said) -> list[str]:
    if located.verdict == UNSTEADY:
        return []
    run = said["run"].exit
    return [f"run ends with {run}, suite with {said['suite'].exit}"] if said["suite"].exit != run else []


def _marked(said: Mapping[str, Said], located: Said) -> list[str]:
    probe = located.document.get("probe") or {}
    if located.verdict == UNSTEADY or probe.get("moved", True) or probe.get("relative", True):
        return []
    plain, marked = _outputs(said["run"]), _outputs(said["run --mark-all"])
    return [
        f"run says of {name!r} that it {verdict}, with --mark-all that it {marked[name]}"
        for name, verdict in plain.items()
        if marked.get(name, verdict) != verdict and verdict != "blind"
    ]


def _outputs(said: Said) -> dict[str, str]:
    pairs = said.document.get("comparison_results") or []
    return {name: item["verdict"] for pair in pairs for name, item in pair["outputs"].items()}


def _located(said: Mapping[str, Said], located: Said) -> list[str]:
    run = said["run"].exit
    if run == DIFFERENT and located.exit == PASSED and located.verdict == EQUAL:
        return ["run fails, and locate says that all is equal"]
    failed = any(item["error"] for item in (said["run"].document.get("inference_results") or {}).values())
    if failed and located.exit == PASSED:
        return ["run cannot compare, and locate says that nothing is wrong"]
    if run == PASSED and located.exit == DIFFERENT and not _is_harmless(located):
        return [f"run passes, and locate says: {located.sentence}"]
    return []


def _automatic(said: Mapping[str, Said], located: Said) -> list[str]:
    auto = said.get("run --tolerance auto")
    if auto is None:
        return []
    if auto.exit != PASSED and _HIDDEN in located.sentence:
        return [f"run --tolerance auto ends with {auto.exit}, and locate says: {located.sentence}"]
    is_hidden = _is_harmless(located) or _HIDDEN in located.sentence
    accuses = auto.exit == PASSED and located.exit == DIFFERENT and not is_hidden
    if accuses or is_contrary(word_of(auto), word_of(located), located.sentence):
        return [f"run --tolerance auto says {word_of(auto)!r}, and locate: {located.sentence}"]
    return []


def _repeated(said: Mapping[str, Said], located: Said) -> list[str]:
    repeats, unsteady = said["invariants"].exit == PASSED, located.verdict == UNSTEADY or _RACE in located.sentence
    if repeats and unsteady:
        return [f"invariants says that the candidate repeats itself, and locate says: {located.sentence}"]
    if said["invariants"].exit == DIFFERENT and not unsteady and said["run"].exit == DIFFERENT:
        return [f"invariants says that the candidate does not repeat itself, and locate says: {located.sentence}"]
    return []


def _is_harmless(located: Said) -> bool:
    probe = located.document.get("probe") or {}
    return _HARMLESS in located.sentence or bool(probe.get("moved") and probe.get("passed_without"))


_RULES: tuple[Callable[[Mapping[str, Said], Said], list[str]], ...] = (
    _same_numbers,
    _marked,
    _located,
    _automatic,
    _repeated,
)


def ask_one(name: str) -> Contrary:
    """Return what commands say contrary of the scenario of a name, in a folder of its own."""
    import contextlib
    import io

    folder = folder_of(name, FOLDER / "agreeing")
    folder.mkdir(parents=True, exist_ok=True)
    scenario = SCENARIOS[name]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found = contradictions(ask_all(scenario, folder))
    return Contrary(name, tuple(found), " ".join(scenario.write(folder)))


def main(words: Sequence[str]) -> int:
    """Ask of all pairs that the words choose and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m truth.agreeing", description=__doc__)
    parser.add_argument("--only", default="", help="only scenarios whose name matches")
    parser.add_argument("--fast", action="store_true", help="only the scenarios of make test-corpus")
    parser.add_argument("--sample", type=int, help="only so many, drawn at random; a larger sample has them all")
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 8), help="how many at a time")
    parser.add_argument("--again", action="store_true", help="forget what was done before")
    options = parser.parse_args(words)
    chosen = [
        name for name, item in SCENARIOS.items()
        if item.here and item.file is None and (item.fast or not options.fast) and re.search(options.only, name)
    ]  # fmt: skip
    every = len(chosen)
    if options.sample is not None:
        random.Random(1).shuffle(chosen)
        del chosen[options.sample :]
    bad, count = 0, 0
    for found in each(ask_one, chosen, Kept(FOLDER / "agreed", again=options.again), options.processes):
        count += 1
        bad += bool(found.texts)
        for text in found.texts:
            print(f"{found.name}\n    {text}\n    polycmp {found.command}", flush=True)
    sampled = f" (drawn from {every})" if count < every else ""
    print(f"{count - bad} of {count} pairs{sampled}: no command contradicts another")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
