"""The page around the tables: verdict, problems, command, facts, environment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polycmp.report import Fact, Facts, NextStep, Note, Problem, Repeat, Result, Table
from polycmp.report.elements import Markup, join, tag
from polycmp.sentences import FOUND
from polycmp_report.models import file_names, named

#: Characters of a name that stay together, where it has no separators.
_LONGEST = 60
#: Problems of the same kind that are told one by one.
PROBLEMS = 12
#: Notes that are shown without being asked for.
NOTES = 6
#: Beginning of the note that matters most.
_CAUSE = "cause: "
_QUESTION = "M8.5 9.2a3.5 3.5 0 1 1 4.6 3.3c-.8.3-1.1.8-1.1 1.7M12 17.5v.5"
SYMBOLS = {
    "passed": "M5 12.5l4.5 4.5L19 7.5",
    "failed": "M7 7l10 10M17 7L7 17",
    "blind": _QUESTION,
    "undecided": _QUESTION,
    "error": "M12 6v7.5M12 17.5v.5",
}


def hero(result: Result) -> Markup:
    """Return the verdict, what it rests on, and the figures that matter most."""
    symbol = tag(
        "svg", tag("path", d=SYMBOLS[result.verdict]), viewBox="0 0 24 24", aria_hidden="true", class_="symbol"
    )
    models = file_names(result)
    title = result.heading.capitalize()
    title += f"{' in' if result.heading == FOUND else ':'} {models}" if models else ""
    known = tag("p", named(result), class_="models") if any(result.models.values()) else None
    words = tag("div", tag("h1", title), tag("p", result.sentence), known)
    facts = [
        tag("div", tag("dt", item.name), tag("dd", breakable(item.value), title=item.value)) for item in result.facts
    ]
    return tag(
        "header",
        tag("div", symbol, words, class_="verdict"),
        tag("dl", *facts, class_="facts") if facts else None,
        class_=f"hero {result.verdict}",
    )


def breakable(text: str) -> Markup:
    """Return a text for a narrow place, whose long words are broken after separators if they have to be."""
    parts = re.split(r"(\S{12,})", text)
    return join(*(_breakable(part) if index % 2 else part for index, part in enumerate(parts)))


def _breakable(word: str) -> Markup | str:
    if re.fullmatch(r"[\d.,e+-]+", word):  # a number
        return word
    first, *others = re.findall(rf"[^./_:,=]{{1,{_LONGEST}}}[./_:,=]*|[./_:,=]{{1,{_LONGEST}}}", word)
    return join(first, *(join(tag("wbr"), part) for part in others))


def command(result: Result) -> Markup | None:
    """Return the command line, to be copied."""
    return copied(result.command_line, "command") if result.command_line else None


def copied(line: str, key: str, name: str = "Command line") -> Markup:
    """Return a command with a button that copies it.

    Args:
        line: The command.
        key: Its place on the page.
        name: What it is, for readers of screens.
    """
    return tag(
        "div",
        tag("pre", tag("code", line, id=key), tabindex="0", aria_label=name),
        tag("button", "Copy", type="button", class_="copy", data_copy=key),
        class_="command",
    )


def problems(result: Result) -> Markup | None:
    """Build the section of failures as a whole, notes, and commands that repeat failures; None if there are none."""
    items = _problems(result.blocks(Problem))
    if notes := result.blocks(Note):
        items.append(tag("li", _listed(notes), class_="callout note"))
    items += [
        _to_type(f"{item.inputs}: {item.failed}; to repeat it:", item.command, f"repeat-{index}")
        for index, item in enumerate(result.blocks(Repeat))
    ]
    items += [
        _to_type(f"next: {item.purpose}" if item.purpose else "next:", item.command, f"next-{index}")
        for index, item in enumerate(result.blocks(NextStep))
    ]
    if not items:
        return None
    return tag("section", tag("h2", "Worth knowing", class_="unseen"), tag("ul", *items, class_="problems"))


def _to_type(words: str, line: str, key: str) -> Markup:
    return tag("li", tag("p", words), copied(line, key, "Command to type next"), class_="callout note")


def _listed(notes: Sequence[Note]) -> Markup:
    """Return notes as a list; figures that a terminal does not show either are folded, and what comes after many."""
    terminal_notes = [note for note in notes if note.terminal]
    first = terminal_notes[:NOTES] if terminal_notes else [*notes[:NOTES]]
    rest = [note for note in notes if note not in first]
    if len(rest) < 2:
        first, rest = [*notes], []
    shown = tag("ul", *map(_note, first), class_="notes")
    if not rest:
        return shown
    folded = tag("ul", *map(_note, rest), class_="notes")
    return join(shown, tag("details", tag("summary", f"{len(rest)} more"), folded))


def _note(note: Note) -> Markup:
    """Return a note, what it is about first."""
    label = note.label if note.label not in {"note", ""} else ""
    lead = ": ".join(filter(None, (label, note.subject)))
    text = note.text
    if not lead and text.startswith(_CAUSE):
        lead, text = _CAUSE.removesuffix(": "), text.removeprefix(_CAUSE)
    return tag("li", tag("strong", f"{lead}: ") if lead else None, text)


def _problems(problems: tuple[Problem, ...]) -> list[Markup]:
    """Return the problems, each once however many iterations it is so."""
    by_name: dict[str, list[Problem]] = {}
    for item in problems:
        by_name.setdefault(item.what, []).append(item)
    shown = [_problem(items[0], len(items)) for items in list(by_name.values())[:PROBLEMS]]
    if len(by_name) > PROBLEMS:
        text = f"{len(by_name) - PROBLEMS} more problems; the JSON report has all"
        shown.append(tag("li", text, class_="callout failed"))
    return shown


def _problem(item: Problem, times: int) -> Markup:
    where = f", in iteration {item.iteration}" if item.iteration is not None else ""
    more = f"; so it is in {times} iterations" if times > 1 else ""
    return tag(
        "li",
        tag("strong", item.what),
        tag("p", f"{item.why}{where}{more}"),
        hint(item),
        class_=f"callout {item.state}",
    )


def hint(item: Problem) -> Markup | None:
    """Return the command to type next; None if there is none."""
    return tag("p", tag("span", "next: ", class_="soft"), tag("code", item.hint)) if item.hint else None


def tools(result: Result) -> Markup | None:
    """Build the controls that filter the tables; they appear where scripts run."""
    if sum(len(table.rows) for table in result.blocks(Table) if table.judged) < 2:
        return None
    search = tag("input", type="search", id="search", placeholder="Find by name", aria_label="Find by name")
    only = tag("label", tag("input", type="checkbox", id="only-failed"), " only failures")
    status = tag("span", id="shown", class_="soft", role="status")
    return tag("div", search, only, status, class_="tools scripted", role="search")


def card(title: Markup | str, remark: Markup | str | None, *content: Markup | None, key: str | None = None) -> Markup:
    """Return a part of the page under a title, beside which a remark may stand; the key is the title's place."""
    said = remark if isinstance(remark, Markup) or not remark else tag("p", remark, class_="soft")
    return tag(
        "section", tag("div", tag("h2", title, id=key), said or None, class_="section-head"), *content, class_="card"
    )


def scrolling(content: Markup, kind: str, **named: str) -> Markup:
    """Return what may be wider than the page in a frame that keys scroll, named for readers of screens."""
    return tag("div", content, class_=kind, tabindex="0", role="region", **named)


def facts_card(facts: Facts) -> Markup:
    """Return a list of facts as a card."""
    return card(facts.title, None, tag("div", facts_list(facts.items), class_="callout"))


def facts_list(items: tuple[Fact, ...]) -> Markup:
    """Return names and values; a badge precedes those that have a verdict."""
    if not any(item.state for item in items):
        return tag(
            "dl", *(join(tag("dt", item.name), tag("dd", breakable(item.value), *_remarks(item))) for item in items)
        )
    listed = [tag("li", _badge(item), tag("strong", f" {item.name} "), *_value(item)) for item in items]
    return tag("ul", *listed, class_="functions")


def _badge(item: Fact) -> Markup | None:
    return tag("span", item.state.capitalize(), class_=f"badge {item.state}") if item.state else None


def _value(item: Fact) -> list[Markup]:
    return [tag("span", item.value, class_="soft"), *_remarks(item)]


def _remarks(item: Fact) -> list[Markup]:
    return [tag("p", text, class_="soft figures") for text in item.remarks]


def about(result: Result) -> Markup:
    """Return the background: inputs, environment."""
    background = [facts for facts in result.blocks(Facts) if facts.background]
    if result.environment:
        known = tuple(Fact(key.replace("_", " "), value) for key, value in result.environment.items())
        background.append(Facts("Environment", known))
    cards = [tag("section", tag("h2", item.title), facts_list(item.items), class_="card") for item in background]
    return tag("div", *cards, class_="columns")
