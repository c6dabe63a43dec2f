"""The backend `onnx` beside ONNX Runtime, OpenVINO and PyTorch, over every operator's attributes, types and sizes.

    python -m truth.outside.reference_survey [--most N] [--output FILE]

The models are made from the operators' schemas (`truth.operators`). Each runtime runs all of them in a process of its
own, which goes on behind a model that it dies of. What a runtime gives is compared with what the backend `onnx`
computes in float64, and each disagreement is decided in `truth.operators.decisions`. Runtimes that are not installed
are left out. The page is docs/outside/reference-survey.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pickle
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truth.history.environments import ROOT
from truth.operators.agreeing import difference
from truth.operators.case import Case
from truth.operators.decisions import DECISIONS, Decision, decide
from truth.operators.everything import NOT_ASKED, cases, left_out
from truth.outside.looping import ask_each
from truth.table import machine, markdown_table, write_page

PAGE = ROOT / "docs" / "outside" / "reference-survey.md"
_WORK = ROOT / ".cache" / "truth-outside" / "reference-survey"
_OWN, _WIDE = "onnx", "onnx in float64"
_OTHERS = ("onnxruntime", "openvino", "torch")
#: At most so many cases of each operator; of runtimes that take longer to make a model ready, fewer.
_MOST, _FEWER = 120, {"openvino": 40}
#: Seconds that all cases may take in a runtime.
_ALL = 3600


@dataclass(frozen=True)
class Answers:
    """What a runtime gave.

    Attributes:
        outputs: Outputs by the key of a case.
        refused: Why there are none, by key.
    """

    outputs: Mapping[str, Mapping[str, Any]]
    refused: Mapping[str, str]


@dataclass(frozen=True)
class Disagreement:
    """A case of which the reference and a runtime say contrary things.

    Attributes:
        case: The case.
        runtime: The runtime; `onnx` where the reference's own precision and float64 differ.
        said: How they differ.
        decision: Who is right; None if nobody has looked.
    """

    case: Case
    runtime: str
    said: str
    decision: Decision | None


def ask(runtime: str, chosen: Sequence[Case]) -> Answers:
    """Run cases in a runtime."""
    _WORK.mkdir(parents=True, exist_ok=True)
    held, path = _WORK / f"{runtime}.cases", _WORK / f"{runtime}.pickle"
    held.write_bytes(pickle.dumps({case.key: case for case in chosen}))
    path.unlink(missing_ok=True)
    words = [sys.executable, "-m", "truth.outside.survey_loop", runtime, str(held), str(path)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = ask_each(words, [case.key for case in chosen], _ALL, environ)
    outputs = {}
    with path.open("rb") as file:
        while file.peek(1):
            key, found = pickle.load(file)
            outputs[key] = found
    return Answers(outputs, {key: str(item.get("refused", "")) for key, item in said.items()})


def compare(chosen: Sequence[Case], answers: Mapping[str, Answers]) -> list[Disagreement]:
    """Return every disagreement: with a runtime, of the reference's precisions, and what the reference refuses."""
    found = []
    own, wide = answers[_OWN].outputs, answers[_WIDE].outputs
    for case in chosen:
        for runtime, given in answers.items():
            if runtime == _WIDE:
                continue
            said = _said(own.get(case.key), wide.get(case.key), given.outputs.get(case.key))
            if said:
                found.append(Disagreement(case, runtime, said, decide(case, runtime, said)))
    return found


def _said(own: Any, wide: Any, given: Any) -> str:
    if given is None:
        return ""
    if own is None or wide is None:
        return "the reference refuses it"
    return difference(given, wide)


def page(chosen: Sequence[Case], answers: Mapping[str, Answers], found: Sequence[Disagreement], seconds: float) -> str:
    """Return the whole page."""
    others = [runtime for runtime in answers if runtime not in {_OWN, _WIDE}]
    operators = {case.operator for case in chosen}
    open_cases = [item for item in found if item.decision is None]
    not_asked = "; ".join(f"{name} {why}" for name, why in sorted(NOT_ASKED.items()))
    unknown = ", ".join(left_out()) or "none"
    return f"""# The backend `onnx` beside three runtimes, over every operator

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()}.

{len(chosen)} models of one operator each, {len(operators)} operators, made from the operators' schemas: attributes and
their values, optional inputs given or left out, types, ranks, sizes 0, 1 and odd ones, negative axes, ties, NaN and
infinity, in each version of the operator from set 7 on; of an operator with more, {_MOST} are drawn. What a runtime
gives is held beside what the backend `onnx` computes in float64, and so is what that computes in the model's own types.
It took {seconds:.0f} s. Of PyTorch its own functions are asked,
    not a converted file; OpenVINO and ONNX Runtime read the file,
the latter without optimisers. Each disagreement was decided by the text of the standard: the reference was corrected
([what it corrects](../../plugins/onnx/README.md#corrected-here)), or the other one is wrong
([faults of others](../found.md)), or the standard leaves it open.

{markdown_table(["", *others], _summary(answers, found, others))}

Not asked: {not_asked}. Without a case and without a reason: {unknown}.

## Decisions

{markdown_table(["operators", "cases", "runtime", "decision", "where and why"], _decisions(found))}

## What a runtime dies of

{_deaths(chosen, answers)}

## Not decided

{_list(open_cases)}

## By operator

Cases; then, of each runtime, how many are equal, differ (**bold**) and are refused (–). The reference refuses what
stands in its own column.

{markdown_table(["operator", "cases", "reference refuses", *others], _by_operator(chosen, answers, found, others))}
"""


def _summary(
    answers: Mapping[str, Answers], found: Sequence[Disagreement], others: Sequence[str]
) -> Iterable[Sequence[object]]:
    differ = Counter(item.runtime for item in found)
    yield ["asked", *(len(answers[name].refused) for name in others)]
    yield ["refused", *(len(answers[name].refused) - len(answers[name].outputs) for name in others)]
    yield ["of these it died", *(sum("died" in why for why in answers[name].refused.values()) for name in others)]
    yield ["equal", *(len(answers[name].outputs) - differ[name] for name in others)]
    kinds = Counter((item.runtime, item.decision.kind if item.decision else "not decided") for item in found)
    for kind in sorted({kind for _, kind in kinds}):
        yield [kind, *(kinds[name, kind] for name in others)]


def _decisions(found: Sequence[Disagreement]) -> Iterable[Sequence[object]]:
    for decision in DECISIONS:
        of = Counter(item.runtime for item in found if item.decision is decision)
        if of:
            names = ", ".join(sorted({item.case.operator for item in found if item.decision is decision}))
            counts = ", ".join(f"{name} {count}" for name, count in sorted(of.items()))
            yield [names, sum(of.values()), counts, decision.kind, decision.why]


def _deaths(chosen: Sequence[Case], answers: Mapping[str, Answers]) -> str:
    """Return a list of the operators whose models end a process, with one model of each."""
    found: dict[tuple[str, str], list[str]] = {}
    for runtime, given in answers.items():
        for case in chosen:
            if "died" in given.refused.get(case.key, ""):
                found.setdefault((runtime, case.operator), []).append(case.name)
    lines = (
        f"- {runtime}: {operator}, {len(names)} models, such as `{names[0]}`"
        for (runtime, operator), names in found.items()
    )
    return "\n".join(lines) or "Nothing."


def _list(items: Sequence[Disagreement]) -> str:
    rows = (
        [f"`{item.case.name}`".replace("|", "\\|").replace("\n", " "), item.runtime, item.said.replace("|", "\\|")]
        for item in items
    )
    return markdown_table(["case", "runtime", "difference"], rows) if items else "Nothing."


def _by_operator(
    chosen: Sequence[Case], answers: Mapping[str, Answers], found: Sequence[Disagreement], others: Sequence[str]
) -> Iterable[Sequence[object]]:
    differ = Counter((item.case.operator, item.runtime) for item in found)
    for operator in sorted({case.operator for case in chosen}):
        keys = [case.key for case in chosen if case.operator == operator]
        refuses = sum(key not in answers[_OWN].outputs or key not in answers[_WIDE].outputs for key in keys)
        cells = []
        for runtime in others:
            asked = sum(key in answers[runtime].refused for key in keys)
            answered, wrong = sum(key in answers[runtime].outputs for key in keys), differ[operator, runtime]
            parts = [str(answered - wrong)] if answered - wrong else []
            parts += [f"**{wrong}**"] if wrong else []
            parts += [f"{asked - answered}–"] if answered < asked else []
            cells.append(" ".join(parts))
        yield [operator, len(keys), refuses or "", *cells]


def main(words: Sequence[str]) -> int:
    """Ask every runtime and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.reference_survey",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--most", type=int, default=_MOST, help="largest number of cases of an operator")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    chosen, begun = cases(options.most), time.monotonic()
    answers = {}
    for runtime in (_OWN, _WIDE, *_OTHERS):
        if runtime in _OTHERS and importlib.util.find_spec(runtime) is None:
            print(f"{runtime}: left out, since it is not installed")
            continue
        started = time.monotonic()
        asked = chosen if runtime not in _FEWER else cases(min(options.most, _FEWER[runtime]))
        answers[runtime] = ask(runtime, asked)
        print(
            f"{runtime}: {len(answers[runtime].outputs)} of {len(asked)}, {time.monotonic() - started:.0f} s",
            flush=True,
        )
    found = compare(chosen, answers)
    unseen = [decision.why for decision in DECISIONS if not any(item.decision is decision for item in found)]
    for why in unseen:
        print(f"not seen any more: {why}")
    write_page(options.output, page(chosen, answers, found, time.monotonic() - begun))
    return int(any(item.decision is None for item in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
