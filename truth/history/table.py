"""What was found, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from truth.history.environments import ROOT
from truth.history.replaying import SHOWN, Replayed
from truth.table import machine, markdown_table


def page(found: Sequence[Replayed]) -> str:
    """Return the whole page."""
    shown = [item for item in found if item.shown == SHOWN]
    left = [item for item in found if item.shown != SHOWN]
    right = sum(not item.grade for item in shown)
    producers = Counter(item.issue.producer for item in shown)
    by_producer = [[name, count, _right(shown, name)] for name, count in sorted(producers.items())]
    return f"""# Public issues, replayed

Written by `make truth-history`. {machine()}.

{len(shown)} issues of {len(producers)} producers. Of each, the runtime alone shows that one release computes something
else than NumPy or the specification and that the other does not. Most are public issues; about 30 were found by running
small patterns in an old release beside a new one, and have a release in place of a number; a number is that of the
issue, or of the change that mended it. The answer was written down before polycmp was asked, but for eight: two files
that cannot be loaded, of which an error was expected at first, one whose model and answer were corrected, since ONNX's
checker refused it (onnxscript#2810), and five in which the expected words name what the tool made, one of which was
written anew.

| | |
|---|---|
| named by `locate` | {right} of {len(shown)} ({_share(right, len(shown))}) |
| seen by `run` on the issue's inputs | {sum(item.sees for item in shown)} |
| seen by `run` on inputs of its own | {sum(item.sees_default for item in shown)} |
| repaired releases that `locate` accuses | {sum(bool(item.accuses) for item in shown)} |
| repaired releases that `run` does not pass | {sum(not item.passes for item in shown)} |

{_table(shown)}

## By producer

{markdown_table(["producer", "issues", "right"], by_producer)}

## Not right when first asked

Of those that were added since 2026-11-27, whose first answers were kept; what was said there was mended, or is below.
Of the twelve that were added last, of public numbers alone and asked once, 8 were right: those of producers with few
issues, and of functions that a model brings along. Of 21 that were asked on 2026-11-29, four of which stand here,
16 were right, and of 25 more on that day, one of which does, 18: [what was said then](first-contact.md).

{_first(shown) or "Nothing."}

QLinearMatMul of onnx 1.21.0 (onnx#7835: 1301 becomes 21 in place of 255) was asked as well, and LSTM backwards of onnx
1.22.0 and Div of negative whole numbers of 1.20.1 (onnx#7570), which were named, until the backend `onnx` calculated
them by itself. They are not counted: the package alone is wrong, and that backend, which calculates all three by
itself, is not.

## Not right

{_wrong(shown) or "Nothing."}
{_left_out(left)}"""


def _first(shown: Sequence[Replayed]) -> str:
    lines = [f"- {item.issue.number}, {item.issue.name}: {item.issue.first}" for item in shown if item.issue.first]
    return "\n".join(lines)


def _table(shown: Sequence[Replayed]) -> str:
    head = [
        "issue",
        "producer",
        "what was wrong",
        "releases",
        "polycmp said",
        "right",
        "repaired",
        "`run`",
        "own inputs",
    ]
    return markdown_table(
        head,
        (
            [
                item.issue.number, item.issue.producer, f"{item.issue.name}: {item.issue.wrong}",
                f"{_release(item, 'bad')}, mended {_release(item, 'good')}", _said(item),
                "no" if item.grade else "yes", "accused" if item.accuses else "right",
                "fails" if item.sees else "passes", "fails" if item.sees_default else "passes",
            ]
            for item in shown
        ),
    )  # fmt: skip


def _release(item: Replayed, which: str) -> str:
    environment = item.issue.bad if which == "bad" else item.issue.good
    return environment.packages[0].replace("==", " ")


def _said(item: Replayed) -> str:
    said = item.bad.sentence or " ".join(item.bad.text.split())[-200:]
    said = said.replace(f"{ROOT}/", "")
    first = said if len(said) < 260 else said[:257] + "…"
    return first.replace("|", "\\|").replace("\n", " ")


def _right(shown: Sequence[Replayed], producer: str) -> int:
    return sum(not item.grade for item in shown if item.issue.producer == producer)


def _wrong(shown: Sequence[Replayed]) -> str:
    lines = []
    for item in shown:
        if item.grade:
            lines.append(f"- **{item.issue.name}** ({item.issue.number}): {item.grade}.")
        if item.accuses:
            said = item.good.sentence or " ".join(item.good.text.split())[-300:]
            lines.append(f"- **{item.issue.name}** ({item.issue.number}), repaired: {item.accuses}. Said: “{said}”")
        if not item.passes:
            lines.append(f"- **{item.issue.name}** ({item.issue.number}): `run` does not pass the repaired release.")
        if not item.sees:
            lines.append(f"- **{item.issue.name}** ({item.issue.number}): `run` passes the release that is wrong.")
    return "\n".join(lines)


def _left_out(left: Sequence[Replayed]) -> str:
    if not left:
        return ""
    lines = "\n".join(f"- {item.issue.name} ({item.issue.number}): {item.shown}" for item in left)
    return f"\n## Left out\n\n{lines}\n"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"
