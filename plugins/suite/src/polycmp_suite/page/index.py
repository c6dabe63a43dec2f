"""The index of a run: one answer, a picture of models and backends, and every case to search and filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from polycmp.files import atomic_write, to_bytes
from polycmp.report import Facts, Note, Result, duration, figure
from polycmp.report.elements import Markup, tag
from polycmp_report.identity import Identity
from polycmp_suite.page.case import case_page
from polycmp_suite.page.document import badge, page
from polycmp_suite.page.trend import past_results, trend
from polycmp_suite.releases import ReleaseRow, rows_of
from polycmp_suite.result import CaseResult
from polycmp_suite.store import Run

#: The worst first: what a cell of the picture shows where several cases share it.
_ORDER = ("error", "failed", "undecided", "blind", "known", "skipped", "passed")
#: Columns and rows beyond which there is no picture.
_WIDE, _HIGH = 24, 400


def write_index(run: Run, result: Result, cases: Sequence[CaseResult], models: Mapping[str, Identity]) -> None:
    """Write the index and the page of each case.

    Args:
        run: The run.
        result: Result of the whole run.
        cases: Results of the cases.
        models: Identity of each model, by path.

    Raises:
        FileError: A page cannot be written.
    """
    past = past_results(run, len(cases))
    for case in cases:
        folder = run.folder / "cases" / case.folder
        _write(folder / "index.html", case_page(case, folder, models.get(case.model), past.get(case.case, ())))
    _write(run.folder / "index.html", index_page(result, cases, models, past))


def _write(path: object, text: str) -> None:
    with atomic_write(str(path)) as file:
        file.write(to_bytes(text))


def index_page(
    result: Result,
    cases: Sequence[CaseResult],
    models: Mapping[str, Identity],
    past: Mapping[str, Sequence[CaseResult]],
) -> str:
    """Return the index; arguments as for `write_index`, and the results of each case in past runs."""
    body = tag(
        "main",
        _hero(result),
        *(tag("p", note.text, class_="note") for note in result.blocks(Note) if note.label == "note"),
        *(_list(facts) for facts in result.blocks(Facts)),
        _releases(rows_of(cases)),
        _matrix([case for case in cases if not case.series]),
        _filters(cases),
        _table(cases, models, past),
    )
    return page(f"{result.heading.capitalize()} · {result.title}", body, script=True)


def _hero(result: Result) -> Markup:
    facts = [tag("div", tag("dt", item.name), tag("dd", item.value)) for item in result.facts if item.value != "0"]
    return tag(
        "header",
        tag("p", result.title, class_="soft"),
        tag("h1", result.heading.capitalize()),
        tag("p", f"{result.sentence} · {duration(result.seconds)}"),
        tag("dl", *facts, class_="facts"),
        class_=f"hero {result.verdict}",
    )


def _list(facts: Facts) -> Markup:
    items = [tag("li", tag("strong", item.name), f": {item.value}") for item in facts.items]
    return tag("section", tag("h2", facts.title), tag("ul", *items), class_="card")


def _matrix(cases: Sequence[CaseResult]) -> Markup | None:
    """Return the picture: a row per model, a column per choice of backends, in each cell the worst of its cases."""
    columns = list(dict.fromkeys(_column(case) for case in cases))
    rows = list(dict.fromkeys(case.model for case in cases))
    if len(cases) < 2 or len(columns) > _WIDE or len(rows) > _HIGH:
        return None
    places: dict[tuple[str, str], list[CaseResult]] = {}
    for case in cases:
        places.setdefault((case.model, _column(case)), []).append(case)
    head = tag("tr", tag("th", "Model", scope="col"), *(_heading(name, cases) for name in columns))
    body = [
        tag("tr", tag("th", model or "–", scope="row"), *(_cell(places.get((model, name), ())) for name in columns))
        for model in rows
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="matrix")
    return tag("section", tag("h2", "Models and backends"), tag("div", table, class_="scroll"), class_="card")


def _releases(rows: Sequence[ReleaseRow]) -> Markup | None:
    """Return the picture of releases: a row per case, a column per release, and since which one it differs."""
    columns = list(dict.fromkeys(name for row in rows for name in row.results))
    if not rows:
        return None
    titles = ("Case", *columns, "Since")
    head = tag("tr", *(tag("th", title, scope="col") for title in titles))
    body = [
        tag(
            "tr",
            tag("th", row.name, scope="row"),
            *(_release_cell(row.results.get(name)) for name in columns),
            tag("td", row.since, class_="reason"),
        )
        for row in rows
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="matrix")
    return tag("section", tag("h2", "Releases"), tag("div", table, class_="scroll"), class_="card")


def _release_cell(case: CaseResult | None) -> Markup:
    if case is None:
        return tag("td", "")
    error = "" if case.max_error is None or case.verdict == "passed" else f" {figure(case.max_error)}"
    words = case.explanation or case.case
    return tag("td", tag("a", f"{case.mark}{error}", href=_page_of(case), title=words), class_=f"cell {case.mark}")


def _column(case: CaseResult) -> str:
    command = "" if case.command == "run" else f"{case.command}: "
    return command + " · ".join(case.backends)


def _heading(column: str, cases: Sequence[CaseResult]) -> Markup:
    """Return the heading of a column: its backends, and their versions where all cases ran on the same."""
    versions = {case.versioned for case in cases if _column(case) == column and case.versions}
    shown = tag("div", versions.pop(), class_="soft small") if len(versions) == 1 else None
    return tag("th", column, shown, scope="col")


def _cell(cases: Sequence[CaseResult]) -> Markup:
    if not cases:
        return tag("td", "")
    worst = min(cases, key=lambda case: _ORDER.index(case.mark))
    same = sum(case.mark == worst.mark for case in cases)
    text = worst.mark if len(cases) == 1 else f"{same}/{len(cases)} {worst.mark}"
    return tag(
        "td", tag("a", text, href=_page_of(worst), title=worst.explanation or worst.case), class_=f"cell {worst.mark}"
    )


def _page_of(case: CaseResult) -> str:
    return f"cases/{case.folder}/index.html"


def _filters(cases: Sequence[CaseResult]) -> Markup:
    search = tag("input", type="search", id="search", placeholder="Find by name or reason", aria_label="Find")
    return tag(
        "div",
        search,
        _select("mark", "any verdict", (case.mark for case in cases)),
        _select("model", "any model", (case.model for case in cases)),
        _select("backend", "any backend", (label for case in cases for label in case.backends)),
        tag("span", id="shown", role="status", class_="soft"),
        class_="tools",
        role="search",
    )


def _select(name: str, nothing: str, values: Iterable[str]) -> Markup:
    options = [tag("option", value, value=value) for value in sorted(set(values))]
    return tag("select", tag("option", nothing, value=""), *options, data_filter=name, aria_label=nothing)


def _table(
    cases: Sequence[CaseResult], models: Mapping[str, Identity], past: Mapping[str, Sequence[CaseResult]]
) -> Markup:
    titles = ("Verdict", "Case", "Max abs", "Time", "Past runs", "Reason")
    ordered = sorted(cases, key=lambda case: _ORDER.index(case.mark))
    body = [_row(case, models.get(case.model), past.get(case.case, ())) for case in ordered]
    head = tag("tr", *(tag("th", title, scope="col") for title in titles))
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="cases")
    return tag("section", tag("h2", "Cases"), tag("div", table, class_="scroll"), class_="card")


def _row(case: CaseResult, facts: Identity | None, past: Sequence[CaseResult]) -> Markup:
    model = case.model + (f" · {facts.words}" if facts else "")
    about = tag("span", f"{model} · {case.versioned}", class_="soft small")
    error = "–" if case.max_error is None else figure(case.max_error)
    known = f" (known: {case.known})" if case.known else ""
    return tag(
        "tr",
        tag("td", badge(case.mark)),
        tag("th", tag("a", case.case, href=_page_of(case)), about, scope="row"),
        tag("td", error, class_="number", data_label="max abs"),
        tag("td", duration(case.seconds) if case.state != "skipped" else "–", class_="number", data_label="time"),
        tag("td", trend(past)),
        tag("td", case.explanation + known, class_="reason"),
        data_mark=case.mark,
        data_model=case.model,
        data_backend="\n".join(case.backends),
    )
