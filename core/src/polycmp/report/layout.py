"""A table on a terminal of any width: columns that do not fit are left out, reasons are printed below their rows.

Every table of polycmp is laid out here. `rich.table` cannot print a reason below its row, and would need rich's
console, which a run whose output goes to a pipe or a file does without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.text import Text

from polycmp.report.screen import Screen, Sentence, cell, wrapped

GAP = "   "
#: Columns that a name keeps before others are left out for it, and the indentation of lines below a row.
_NAME, _INDENT = 24, 4
#: A name is broken after one of these where possible.
_JOINTS = "/.:_- "


@dataclass(frozen=True)
class Heading:
    """A column.

    Attributes:
        title: Text of the heading.
        right: Whether it holds figures, which are aligned to the right.
        rank: Order in which columns are left out where space is short: the highest rank first, 0 never.
        breaks: Whether its texts may take several lines.
    """

    title: str
    right: bool = False
    rank: int = 0
    breaks: bool = False


@dataclass(frozen=True)
class Line:
    """A row.

    Attributes:
        cells: A text for each column.
        reason: Reason or remark; printed after the row where it fits, else below it.
        below: Whether the reason is printed below in any case.
        optional: Whether it is left out where it does not fit: the row says as much without it.
    """

    cells: Sequence[Text]
    reason: Text = field(default_factory=Text)
    below: bool = False
    optional: bool = False


def print_table(
    out: Screen, title: str, headings: Sequence[Heading], rows: Iterable[Line], reason_title: str = ""
) -> None:
    """Print a table, and an empty line after it.

    Args:
        out: Screen to print to.
        title: Title above the table; may be empty.
        headings: The columns.
        rows: The rows.
        reason_title: The heading over the reasons that are printed after their rows.
    """
    lines = list(rows)
    kept, widths = _columns(headings, lines, out.width)
    left = out.width - sum(widths[at] for at in kept) - len(GAP) * len(kept)
    inline = [not line.below and "\n" not in line.reason.plain and line.reason.cell_len <= left for line in lines]
    if title:
        out.print(Sentence(title, "italic"))
    titles = [cell(headings[at].title, "bold") for at in kept]
    shown = any(flag and line.reason.plain for flag, line in zip(inline, lines, strict=True))
    head = _joined([[text] for text in titles], kept, headings, widths, cell(reason_title, "bold") if shown else None)
    reasons = [line.reason.cell_len for flag, line in zip(inline, lines, strict=True) if flag and line.reason.plain]
    rule = sum(widths[at] for at in kept) + len(GAP) * (len(kept) - 1)
    rule += len(GAP) + max([*reasons, cell_len(reason_title)]) if shown else 0
    for text in head:
        out.print(text, soft_wrap=True)
    out.print(Text("─" * min(rule, out.width)), soft_wrap=True)
    for line, flag in zip(lines, inline, strict=True):
        texts = [_broken(line.cells[at], widths[at]) if headings[at].breaks else [line.cells[at]] for at in kept]
        for text in _joined(texts, kept, headings, widths, line.reason if flag else None):
            out.print(text, soft_wrap=True)
        if not flag and line.reason.plain and not line.optional:
            _print_below(out, line.reason)
    out.print()


def _columns(headings: Sequence[Heading], lines: Sequence[Line], width: int) -> tuple[list[int], list[int]]:
    """Return the columns that fit, and the width of each of all."""
    widths = [
        max([cell_len(heading.title), *(line.cells[at].cell_len for line in lines)])
        for at, heading in enumerate(headings)
    ]
    kept = list(range(len(headings)))
    names = [at for at in kept if headings[at].breaks]

    def missing() -> int:
        free = sum(max(0, widths[at] - _NAME) for at in names)
        return sum(widths[at] for at in kept) + len(GAP) * (len(kept) - 1) - free - width

    while missing() > 0:
        dropped = max(kept, key=lambda at: headings[at].rank)
        if not headings[dropped].rank:
            break
        kept.remove(dropped)
    room = width - sum(widths[at] for at in kept if at not in names) - len(GAP) * (len(kept) - 1)
    for count, at in enumerate(sorted(names, key=widths.__getitem__)):
        widths[at] = max(1, min(widths[at], room // (len(names) - count)))
        room -= widths[at]
    return kept, widths


def _joined(
    texts: Sequence[Sequence[Text]],
    kept: Sequence[int],
    headings: Sequence[Heading],
    widths: Sequence[int],
    behind: Text | None,
) -> Iterator[Text]:
    for number in range(max(len(parts) for parts in texts)):
        line = Text()
        for place, (at, parts) in enumerate(zip(kept, texts, strict=True)):
            part = parts[number] if number < len(parts) else Text()
            space = " " * max(0, widths[at] - part.cell_len)
            line.append(GAP if place else "")
            line.append_text(Text(space) + part if headings[at].right else part + Text(space))
        if behind is not None and not number:
            line.append(GAP)
            line.append_text(behind)
        line.rstrip()
        yield line


def _broken(text: Text, width: int) -> list[Text]:
    """Return a name in parts that fit, broken after a joint where there is one."""
    parts = []
    while text.cell_len > width:
        head = text.plain[:width]
        while cell_len(head) > width:
            head = head[:-1]
        joint = max(head.rfind(mark) for mark in _JOINTS) + 1
        at = joint if joint > width // 3 else max(1, len(head))
        first, text = text.divide([at])
        parts.append(first)
    return [*parts, text]


def _print_below(out: Screen, reason: Text) -> None:
    for part in wrapped(reason, max(out.width - _INDENT, _INDENT)):
        part.rstrip()
        out.print(Text(" " * _INDENT) + part, soft_wrap=True)
