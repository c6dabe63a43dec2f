"""A result as JUnit XML, for the test pages of CI systems: a suite per table, a case per row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from xml.etree import ElementTree as ET

from polycmp.files import atomic_write
from polycmp.report import Cell, Note, Problem, Result, Row, Table, cell_text
from polycmp_report.models import prefixed

#: Characters that XML 1.0 cannot hold, not even escaped, and those that change the direction of the text around them.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]")
_KINDS = {"failed": "failure", "blind": "error", "undecided": "error", "error": "error"}


def write(result: Result, path: str) -> None:
    """Write the report, whole or not at all.

    Raises:
        FileError: The file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(to_xml(result))


def to_xml(result: Result) -> bytes:
    """Return the result as JUnit XML."""
    suites = list(_suites(result))
    if not _tells(suites, result):
        suites.append(_verdict_suite(result))
    root = ET.Element("testsuites", name="polycmp", time=f"{result.seconds:.3f}")
    for suite in suites:
        _name(suite, result)
        _count(suite)
        _identify(suite, result)
        root.append(suite)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suites(result: Result) -> Iterator[ET.Element]:
    judged = [table for table in result.blocks(Table) if table.judged]
    yield from (_table_suite(table, result) for table in judged)
    by_subject: dict[str, list[Problem]] = {}
    for problem in result.blocks(Problem):
        by_subject.setdefault(problem.subject or result.command, []).append(problem)
    for subject, problems in by_subject.items():
        yield _suite(subject, (_problem_case(problem, subject) for problem in problems))
    if not judged:  # nothing was judged: that it ran is what there is to tell
        for row in (row for table in result.blocks(Table) for row in table.rows):
            if row.name not in by_subject:
                yield _suite(row.name, [_row_case(row, result.command, row.name, row.reason, row.lines)])


def _suite(name: str, cases: Iterable[ET.Element]) -> ET.Element:
    suite = ET.Element("testsuite", name=_xml(name))
    suite.extend(cases)
    return suite


def _table_suite(table: Table, result: Result) -> ET.Element:
    suite = _suite(table.suite or table.title, (_case_of(row, table, result) for row in table.rows))
    if table.about:
        _properties(suite, {"model": table.about})
    if table.problem is not None or not table.rows:
        problem = table.problem or Problem("", "nothing was compared", state="failed")
        case = _case(table.subject or table.title, f"all {table.name_title.lower()}s")
        _add_problem(case, problem)
        suite.append(case)
    return suite


def _case_of(row: Row, table: Table, result: Result) -> ET.Element:
    lines = row.lines or tuple(
        f"{column.title}: {cell_text(column, cell)}"
        for column, cell in zip(table.columns, row.cells, strict=False)
        if (cell.text if isinstance(cell, Cell) else cell) not in (None, "")
    )
    if table.causal:
        # The rows after the chosen one follow from it.
        state = row.state if row.chosen or row.state == "skipped" else "passed"
        message = result.sentence if row.chosen else row.reason if state == "skipped" else ""
        return _row_case(row, row.name, table.subject, message, lines, state)
    return _row_case(row, row.name, table.subject or table.title, row.reason, lines, seconds=_seconds(row, table))


def _seconds(row: Row, table: Table) -> float:
    """Return the duration of a row in seconds, where its table has one for each row."""
    cells = (cell for column, cell in zip(table.columns, row.cells, strict=False) if column.kind == "duration")
    return next((float(cell) for cell in cells if isinstance(cell, (int, float))), 0.0)


def _row_case(
    row: Row,
    name: str,
    group: str,
    message: str,
    lines: Iterable[str],
    state: str | None = None,
    *,
    seconds: float = 0.0,
) -> ET.Element:
    case = _case(group, name)
    case.set("time", f"{seconds:.3f}" if seconds else "0")
    state = state or row.state
    if state in _KINDS:
        _add(case, _KINDS[state], message, "\n".join((message, *lines)))
    elif state == "skipped":
        ET.SubElement(case, "skipped", message=_xml(message))
    else:
        ET.SubElement(case, "system-out").text = _xml("\n".join(filter(None, (message, *lines))))
    return case


def _problem_case(problem: Problem, subject: str) -> ET.Element:
    name = problem.case if problem.iteration is None else f"{problem.case}, iteration {problem.iteration}"
    case = _case(subject, name)
    _add_problem(case, problem)
    return case


def _add_problem(case: ET.Element, problem: Problem) -> None:
    message = problem.why or problem.what
    _add(case, _KINDS.get(problem.state, "error"), message, "\n".join(filter(None, (message, problem.hint))))


def _tells(suites: Iterable[ET.Element], result: Result) -> bool:
    """Return whether the cases say what the verdict says."""
    path = f".//{_KINDS[result.verdict]}" if result.verdict in _KINDS else "testcase"
    return any(suite.find(path) is not None for suite in suites)


def _verdict_suite(result: Result) -> ET.Element:
    case = _case(result.title or "polycmp", result.command)
    if result.verdict in _KINDS:
        notes = [note.text for note in result.blocks(Note)]
        _add(case, _KINDS[result.verdict], result.sentence, "\n".join((result.sentence, *notes)))
    return _suite("polycmp", [case])


def _case(group: str, name: str) -> ET.Element:
    return ET.Element("testcase", classname=_xml(group) or "-", name=_xml(name) or "-", time="0")


def _add(case: ET.Element, kind: str, message: str, text: str) -> None:
    ET.SubElement(case, kind, message=_xml(message), type=kind).text = _xml(text or message)


def _name(suite: ET.Element, result: Result) -> None:
    """Put the models before the names of a suite and of its classes: those of a CI system are all on one page."""
    suite.set("name", _xml(prefixed(result, suite.get("name", ""))))
    for case in suite.iter("testcase"):
        case.set("classname", _xml(prefixed(result, case.get("classname", ""))))


def _identify(suite: ET.Element, result: Result) -> None:
    """Add which models these were: names of suites and cases stay the same when one is trained again."""
    if any(result.models.values()):
        _properties(suite, {f"model {path}": words for path, words in result.models.items()})


def _properties(suite: ET.Element, values: Mapping[str, str]) -> None:
    """Add properties to a suite, before its cases."""
    element = suite.find("properties")
    if element is None:
        element = ET.Element("properties")
        suite.insert(0, element)
    for name, value in values.items():
        ET.SubElement(element, "property", name=_xml(name), value=_xml(value))


def _count(suite: ET.Element) -> None:
    """Fill in how many cases a suite has, and how many went wrong."""
    for key, what in (("tests", ""), ("failures", "/failure"), ("errors", "/error"), ("skipped", "/skipped")):
        suite.set(key, str(len(suite.findall(f"testcase{what}"))))
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in suite.iter('testcase')):.3f}")


def _xml(text: str) -> str:
    """Return a text that XML can hold, and that reads in one direction."""
    return _FORBIDDEN.sub("\ufffd", text)
