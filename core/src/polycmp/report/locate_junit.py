"""What `locate` found as JUnit XML: a case per tensor, of which the first bad one fails."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from polycmp.errors import EXIT_DIFFERENT
from polycmp.files import atomic_write
from polycmp.locate.result import Located, Row
from polycmp.report.junit_report import add_problem, count_cases, make_case, xml_text


def write(found: Located, path: str) -> None:
    """Write the report, whole or not at all.

    Raises:
        FileError: The file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(to_xml(found))


def to_xml(found: Located) -> bytes:
    """Return what was found as JUnit XML.

    Only the first bad tensor is a failure: what comes after it follows from it.
    """
    suite = ET.Element("testsuite", name=xml_text(f"locate {found.candidate} against {found.reference}"))
    for row in found.rows:
        suite.append(_case(row, found))
    for backend in found.failed_backends:
        case = make_case(backend.label, "run")
        add_problem(case, "error", backend.error, "\n".join(filter(None, (backend.error, backend.hint))))
        suite.append(case)
    if found.exit_code == EXIT_DIFFERENT and found.first_bad is None:
        case = make_case(found.candidate, "all tensors")
        add_problem(case, "failure", found.sentence)
        suite.append(case)
    count_cases(suite)
    root = ET.Element("testsuites", name="polycmp", time=f"{found.seconds:.3f}")
    root.append(suite)
    for key in ("tests", "failures", "errors"):
        root.set(key, suite.get(key, "0"))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _case(row: Row, found: Located) -> ET.Element:
    case = make_case(found.candidate, row.tensor)
    lines = [f"operator: {row.node.label}", f"largest error: {row.max_abs:.6g} absolute, {row.relative:.6g} relative"]
    lines += [row.reason] if row.reason else []
    if row is found.first_bad:
        add_problem(case, "failure", found.sentence, "\n".join([*lines, *found.explain]))
    else:
        ET.SubElement(case, "system-out").text = xml_text("\n".join(lines))
    return case
