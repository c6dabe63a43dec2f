"""The page of `truth.outside.torch_compile`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truth.outside.torch_compile_cases import AOT, DYNAMO, INDUCTOR, Case
from truth.table import machine, markdown_table

_FOLDER = Path(__file__).parent / "torch_compile_cases"
#: The questions of polycmp that know nothing of the bug.
BLIND = ("stress", "layouts", "recording", "backward")
#: The number of mended issues in the study, and how many of them six fuzzers together find.
ISSUES, FUZZERS = 130, 31

Answers = Mapping[str, Mapping[str, Any]]


def layer_said(words: str) -> str:
    """Return the layer that a search accuses: the one that is left out where the module is right."""
    options = words.partition(":")[2].split(",") if ":" in words else []
    if any(item.startswith("disable=") for item in options) or "compiler=aot_eager" in options:
        return INDUCTOR
    if "compiler=eager" in options:
        return AOT
    return DYNAMO if words else ""


def layer_seen(wrong: Sequence[str] | None) -> str:
    """Return the layer that the plain loop sees: the first compiler that is wrong."""
    names = {"eager": DYNAMO, "aot_eager": AOT, "inductor": INDUCTOR}
    return next((names[compiler] for compiler in names if compiler in (wrong or ())), "none")


def is_found(said: Mapping[str, Any], question: str) -> bool:
    """Return whether a question ended with FAILED."""
    return bool(said[question].get("verdict") == "failed")


def knows_nothing(said: Mapping[str, Any]) -> bool:
    """Return whether any question that knows nothing ended with FAILED."""
    return any(is_found(said, question) for question in BLIND)


def page(cases: Sequence[Case], answers: Answers) -> str:
    """Return the whole page."""
    shown = [case for case in cases if answers[case.name]["plain"]]
    groups = {
        f"mended since ({ISSUES} in the study)": [case for case in shown if case.mended],
        "wrong in 2.13.0": [case for case in shown if not case.mended],
        "all": shown,
    }
    rows = [[name, len(group), *_shares(group, answers)] for name, group in groups.items()]
    head = ["cases", "asked", "knowing nothing", "with the inputs", "layer right", "controls accused"]
    return f"""# Silent bugs of torch.compile

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()}.

A study of silent bugs of `torch.compile` (arXiv 2604.08720) lists {ISSUES} issues of PyTorch that were mended, and what
its authors found themselves. Here are {len(shown)} of them, each as a module of our own made from what the issue says:
{sum(case.mended for case in shown)} of the {ISSUES}, in PyTorch 2.6.0 as Debian 13 builds it, and
{sum(not case.mended for case in shown)} of those that the authors found and that 2.13.0 (the build for CPUs) still has.
All on a CPU. Which compiler is wrong was first seen by a loop without polycmp (`truth/outside/plain_torch.py`).

{markdown_table(head, rows)}

Six fuzzers together find {FUZZERS} of the {ISSUES} ({FUZZERS / ISSUES:.0%}), says the study. That is not the same
question: fuzzers make the modules, too, while polycmp is given the module and makes inputs and ways of calling it.

*Knowing nothing* are four commands, the same for every case; NET.py is the module, with types and shapes of its
inputs. *With the inputs* is the issue's own call. *Layer* is what `bisect --over passes` accuses.

```text
polycmp run NET.py --model-type torch -b torch:compile -b torch:compile,dynamic -b torch --data-loader stress
polycmp run … --data-loader stress --stress-layouts transposed sliced
polycmp run … --data-loader stress --torch-grad on
polycmp run NET.py --model-type torch -b torch:compile -b torch --data-loader stress --torch-grad backward
```

{_located(shown, answers)}

*Controls* are the same questions of what is right: the compiler below the layer at fault in the same release, or
eager mode beside itself; of the issues that were mended, the module in 2.13.0, too.

## Every case

Words are verdicts; – is PASSED. *Refused* means that the module itself refuses such inputs, transposed ones that it
views, say, or gradients of what it writes over.

{_every(shown, answers)}

## Missed

{_missed(shown, answers)}

## Controls accused

{_accusations(shown, answers)}

## Still wrong

What was mended and is no control, as 2.13.0 is wrong, too: shown without polycmp (`plain_torch.py`,
`plain_controls.py`).

{_still_wrong(shown, answers)}

## Not asked

The other {ISSUES - sum(case.mended for case in shown)} of the {ISSUES}: most were mended before 2.6.0, the oldest
release of which a build without CUDA is to be had here; others need a GPU, Triton, memory beyond 16 GB or the order of
random numbers, raise an error in place of a wrong value, or differ in strides alone, which values do not show.
{_unseen(cases, answers)}
"""


def _located(cases: Sequence[Case], answers: Answers) -> str:
    """Return what `locate` says, which has no view of what is compiled of parts."""
    found = Counter(answers[case.name]["bug"]["locate"].get("status") for case in cases)
    counts = ", ".join(f"status {status}: {count}" for status, count in sorted(found.items(), key=str))
    return f"""`locate` was asked with the inputs, too. It looks for nothing inside a compiled module, as what is
compiled of a part says nothing of the whole, and says so ({counts})."""


def _shares(cases: Sequence[Case], answers: Answers) -> list[str]:
    bugs = [answers[case.name]["bug"] for case in cases]
    right = [
        layer_said(answers[case.name]["bug"]["passes"].get("switch") or "") == _layer(case, answers) for case in cases
    ]
    accused = sum(len(_accused(case, answers[case.name])) for case in cases)
    asked = sum(len(_controls(case, answers[case.name])) for case in cases)
    counts = (sum(map(knows_nothing, bugs)), sum(is_found(said, "inputs") for said in bugs), sum(right))
    return [*(f"{count} ({count / max(len(cases), 1):.0%})" for count in counts), f"{accused} of {asked}"]


def _layer(case: Case, answers: Answers) -> str:
    return layer_seen(answers[case.name]["plain"])


def _is_still_wrong(case: Case, said: Mapping[str, Any]) -> bool:
    return case.is_still_wrong or bool(said.get("plain mended"))


def _controls(case: Case, said: Mapping[str, Any]) -> list[str]:
    """Return what of a case is right, as far as is known without polycmp."""
    return [
        key for key in ("control", "mended") if key in said and not (key == "mended" and _is_still_wrong(case, said))
    ]


def _accused(case: Case, said: Mapping[str, Any]) -> list[str]:
    """Return the controls of which any question ended with FAILED."""
    return [key for key in _controls(case, said) if any(is_found(said[key], name) for name in (*BLIND, "inputs"))]


def _every(cases: Sequence[Case], answers: Answers) -> str:
    head = ["issue", "what is wrong", "in", "layer", *BLIND, "inputs", "accused by bisect", "controls"]
    return markdown_table(head, (_row(case, answers[case.name]) for case in cases))


def _row(case: Case, said: Mapping[str, Any]) -> list[str]:
    bug = said["bug"]
    words = (bug["passes"].get("switch") or "").removeprefix("-b ").removeprefix("torch:compile,").replace("torch:", "")
    passes = (
        f"{layer_said(bug['passes'].get('switch') or '')}: `{words}`" if words else str(bug["passes"].get("verdict"))
    )
    accused = _accused(case, said)
    controls = ", ".join(accused) + " accused" if accused else "not accused"
    if _is_still_wrong(case, said):
        controls += "; 2.13.0 still wrong"
    called = f" (`{case.called}`)" if case.called else ""
    link = f"[{case.name}](../../truth/outside/torch_compile_cases/{case.name}.py)"
    return [
        case.link, f"{_what(case)}: {link}{called}", case.wrong, layer_seen(said["plain"]),
        *(_word(bug[name]) for name in (*BLIND, "inputs")), passes, controls,
    ]  # fmt: skip


def _what(case: Case) -> str:
    first = (_FOLDER / f"{case.name}.py").read_text("utf-8").splitlines()[0]
    return first.strip('"').partition(": ")[2].removesuffix(".")


def _word(said: Mapping[str, Any]) -> str:
    verdict = said.get("verdict") or "error"
    return {"failed": "FAILED", "passed": "–", "error": "refused"}.get(verdict, verdict.upper())


def _accusations(cases: Sequence[Case], answers: Answers) -> str:
    lines = []
    for case in cases:
        for key in _accused(case, answers[case.name]):
            asked = [name for name in (*BLIND, "inputs") if is_found(answers[case.name][key], name)]
            lines.append(f"- {case.link}, {key}: {', '.join(asked)}. {case.remark or 'Not looked at.'}")
    return "\n".join(lines) or "None."


def _still_wrong(cases: Sequence[Case], answers: Answers) -> str:
    found = [case for case in cases if case.mended and _is_still_wrong(case, answers[case.name])]
    return "\n".join(f"- {case.link}: {case.remark or 'as the issue says.'}" for case in found) or "None."


def _missed(cases: Sequence[Case], answers: Answers) -> str:
    lines = []
    for case in cases:
        bug = answers[case.name]["bug"]
        blind, given = not knows_nothing(bug), not is_found(bug, "inputs")
        if blind or given:
            words = [word for word, holds in (("knowing nothing", blind), ("with the inputs", given)) if holds]
            lines.append(f"- {case.link}: {' and '.join(words)} ({', '.join(_word(bug[name]) for name in BLIND)})")
    return "\n".join(lines) or "Nothing."


def _unseen(cases: Sequence[Case], answers: Answers) -> str:
    names = [case.link for case in cases if not answers[case.name]["plain"]]
    return f"\nTried, and not wrong in the release here: {', '.join(names)}.\n" if names else ""
