"""The page of `truth.outside.is_it_a_bug`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from truth.outside.is_it_a_bug_cases import NEWEST, SCRIPT, Report
from truth.table import machine, markdown_table

#: OpenVINO's reports in the study's data set: those labelled confirmed, and as no bug.
_CONFIRMED, _FALSE = 202, 220
_ACCUSED = 1
#: What was said at first contact, before anything was mended.
_FIRST = """When first asked (2026-11-27, tree cf400241), 29 of 31 were decided so; 20700 and 20540 were not, and
`locate` accused the newest release of 21044, where it is right. 22338 and 22905 were written and asked later that day,
and were decided so at once. 20700 was asked again with a judge that knows of weights which a file holds in float16: of
an .xml it does not, whose operators no loader shows; `run` still says FAILED, and a note tells why. 20540 is told since
an error of reading names the inputs that hold a type which the release does not know.

Six more confirmed ones were written that afternoon (tree dfd0b2bb) and asked once: 4 of 6 were decided so. 11918 and
11501 ended with status 3 and no word of where, as every part of the model runs, cut out of the file with the dimensions
of its inputs; `locate` tells that now. 16468 was FOUND, and the wrong operator named, a slice that fails alone for
another reason; of operators that fail alone, the one in the backend's message is tried first now. 24370 is FAILED,
which is right, yet what `locate` says of it is not: a model with probes is another one for the cache, and computed
anew, and that is why it is right. The two that had been given to `run` alone, 15819 and 7379, were asked again, of both
commands.

24509 was written on 2026-11-29 (tree 5a528401), asked once, and not decided so: `run` and `locate` ended with status 3,
as each operator dies alone, too, and did not say that; `locate` says so now. The fault is a race, and no operator is to
blame: of two more answers of `locate` one accused LayerNormalization, as others had come through by luck; the last one
is in the table. All were asked again that day, with polycmp-openvino where polycmp is: the other rows are as they were.
Where only the releases' environments had it, 24779 was accused, whose `own_precision` nobody knew of."""

Answers = Mapping[str, Mapping[str, Any]]


def is_accused(answers: Mapping[str, Any]) -> bool:
    """Return whether `run` says FAILED or `locate` FOUND."""
    return any(answer["status"] == _ACCUSED for answer in answers.values())


def is_told(report: Report, answers: Mapping[str, Any]) -> bool:
    """Return whether a command says what a report is that is no bug."""
    words = [answer["text"] + answer["sentence"] for answer in answers.values()]
    return any(re.search(pattern, text) for pattern in report.says for text in words)


def is_right(report: Report, said: Mapping[str, Any]) -> bool:
    """Return whether polycmp decides as the maintainers did."""
    if report.confirmed:
        return is_accused(said["asked"])
    return not is_accused(said["asked"]) or is_told(report, said["asked"])


def page(reports: Sequence[Report], answers: Answers) -> str:
    """Return the whole page."""
    shown = [item for item in reports if not item.confirmed or answers[str(item.number)]["plain"] != "right"]
    kinds = {"confirmed": [item for item in shown if item.confirmed]}
    kinds |= {"no bug": [item for item in shown if not item.confirmed], "all": shown}
    rows = [[name, len(group), _share(group, answers), _plain_right(group, answers)] for name, group in kinds.items()]
    newest = [item for item in shown if "newest" in answers[str(item.number)]]
    accused = [item for item in newest if is_accused(answers[str(item.number)]["newest"])]
    return f"""# Is it a bug?

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()}.

A study of reports that turn out to be no bugs (*False-Positive Bug Reports in Deep Learning Compilers*, ACM TOSEM,
2025) labels {_CONFIRMED + _FALSE} reports on OpenVINO as their maintainers decided: {_CONFIRMED} are confirmed,
{_FALSE} are no bugs. Here are {len(shown)} of them, each as a model of our own made from what the issue says, with the
answer to expect written into the case file (`truth/outside/is_it_a_bug_cases/`) before polycmp was asked.

{markdown_table(["label", "asked", "decided as the maintainers did", "outputs alone"], rows)}

*Decided as the maintainers did* is of a confirmed report that `run` says FAILED or `locate` FOUND; of one that is no
bug, that neither does, or that what is said tells it for what it is. *Outputs alone* is a script without polycmp that
takes every refusal and every difference for a bug. Of the confirmed ones {len(newest)} are right in OpenVINO {NEWEST},
and polycmp accuses {len(accused)} of them there{_numbers(accused)}.

{_FIRST}

The study has large language models read the threads; here the models are run, and no thread is read. The two are not
the same question, and the study's summary gives no figure to put beside these.

## Which were chosen

The rule was written down before anything was asked: in descending order of number, those of either label of which the
stored thread says enough to rebuild a model of a few operators with its inputs, which a CPU can run, in a release that
is to be had as a wheel; of confirmed ones, that the release alone shows it here. It was to be 20 of each, and is. The
titles of all 202 confirmed ones were read, and most are about builds, packages, GPUs, sticks, speed or memory; 24509,
about threads, was passed over at first. Of 24509, 21178, 21172, 20976, 20898 and the six of the afternoon the release
had run a model before the answer was written. Tried and left out:

- 22343, 23528, 23526, 21040, 20839, 5505, 4373: not shown by the releases here with what the threads say (the first was
  seen on one kind of CPU).
- 24270 (not with PyTorch 2.13), 23538, 21247, 21071, 21066, 20822, 20811: the front end of another framework raises an
  error in place of a file, so there is nothing to compare.
- 25744, 22875, 21573, 19134, 15438, 12445, 12226: the thread names a model that is not here, and not the operators.
- 16177: a file whose dimensions are changed once it is read, which no backend does.
- 11733: no model that the thread describes is refused by the releases here.
- 4745, 14382, 11598: a stick's fault, which the CPU has not. 7669: 2021.3 runs the file, 2021.4 refuses it otherwise.
- 14028: a product of truth values, which the standard has not.
- 15902: the call is given tensors of PyTorch; backends get arrays.
- 13513, 12966 (results that change from run to run): no model that the threads describe shows it.

The study's reports on TVM were not asked: the index has releases from 0.25 on, which no longer have the part that most
of them are about.

Two reports on GPUs (24779, 22613) are asked with the CPU's own bfloat16 in place of the GPU's float16: the same default
is behind them. Releases before 2023.1 have no interface that the backend can use, and two reports call OpenVINO
otherwise than it does (another language's numbers, nothing but the compiled model kept): a backend for scripts runs
these (`truth/outside/backends/`). Where an import fails (16491), an environment without the runtime stands for the
report's.

## Every report

Words are verdicts; *refused* means that a backend could not run the model. *Told* is that what is said tells what it
is, be it in the backend's own words.

{_every(shown, answers)}

## Misses

{_misses(shown, answers)}
"""


def _share(group: Sequence[Report], answers: Answers) -> str:
    count = sum(is_right(item, answers[str(item.number)]) for item in group)
    return f"{count} ({count / max(len(group), 1):.0%})"


def _plain_right(group: Sequence[Report], answers: Answers) -> str:
    count = sum((answers[str(item.number)]["plain"] != "right") == item.confirmed for item in group)
    return f"{count} ({count / max(len(group), 1):.0%})"


def _numbers(reports: Sequence[Report]) -> str:
    return f" ({', '.join(str(item.number) for item in reports)})" if reports else ""


def _every(reports: Sequence[Report], answers: Answers) -> str:
    head = ["issue", "label", "what was reported", "in", "expected", "`run`", "`locate`", "told", ""]
    return markdown_table(head, (_row(item, answers[str(item.number)]) for item in reports))


def _row(report: Report, said: Mapping[str, Any]) -> list[str]:
    asked = said["asked"]
    release = f"{report.release}, {SCRIPT}" if report.how == SCRIPT else report.release
    told = "" if report.confirmed else "yes" if is_told(report, asked) else "–"
    return [
        report.link, "confirmed" if report.confirmed else "no bug", report.what, release, report.expected,
        _run_word(asked["run"]), _locate_word(asked.get("locate")), told,
        "" if is_right(report, said) else "**wrong**",
    ]  # fmt: skip


def _run_word(answer: Mapping[str, Any]) -> str:
    return {0: "PASSED", 1: "FAILED", 2: "wrong usage"}.get(answer["status"], "refused")


def _locate_word(answer: Mapping[str, Any] | None) -> str:
    if answer is None:
        return "not asked"
    sentence = re.sub(r"(/\S+/)(?=\w)", "", answer["sentence"])
    short = sentence if len(sentence) < 130 else sentence[:120].rpartition(" ")[0] + " …"
    word = {0: "NO FAULT", 1: "FOUND"}.get(answer["status"], "refused")
    return f"{word}: {short}".replace("|", "\\|") if short and answer["status"] < 2 else word


def _misses(reports: Sequence[Report], answers: Answers) -> str:
    wrong = [item for item in reports if not is_right(item, answers[str(item.number)])]
    lines = [f"- {item.link}: expected {item.expected}" for item in wrong]
    return "\n".join(lines) or "None."
