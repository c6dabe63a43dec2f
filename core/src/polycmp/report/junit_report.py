"""The outcome as JUnit XML, for the test pages of CI systems: a suite per candidate, a case per output."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from polycmp.compare.verdicts import OutputComparison, PairComparison
from polycmp.files import atomic_write
from polycmp.report.words import output_name, output_type, pair_title, reason_of
from polycmp.results.outcome import BackendResult, Invalid, Outcome

#: Characters that XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(outcome: Outcome, path: str) -> None:
    """Write the report, whole or not at all.

    Raises:
        FileError: The file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(to_xml(outcome))


def to_xml(outcome: Outcome) -> bytes:
    """Return the outcome as JUnit XML."""
    suites = [_pair_suite(pair, outcome) for pair in outcome.comparisons]
    suites += [_backend_suite(backend, outcome) for backend in _alone(outcome)]
    if not suites or (outcome.verdict == "error" and not outcome.failed_backends):
        suites.append(_nothing_suite(outcome))
    root = ET.Element("testsuites", name="polycmp", time=f"{outcome.seconds:.3f}")
    for suite in suites:
        count_cases(suite)
        root.append(suite)
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _alone(outcome: Outcome) -> list[BackendResult]:
    """Return the runs that tell something which no pair of runs tells."""
    invalid = {item.label for item in outcome.invalid}
    return [
        backend for backend in outcome.backends if backend.error or backend.label in invalid or not outcome.expected
    ]


def _pair_suite(pair: PairComparison, outcome: Outcome) -> ET.Element:
    suite = ET.Element("testsuite", name=xml_text(pair_title(pair)))
    for output in pair.outputs.values():
        suite.append(_output_case(pair, output, outcome))
    if pair.reason or not pair.outputs:
        case = make_case(pair.candidate, "all outputs")
        add_problem(case, "failure", pair.reason or "nothing was compared")
        suite.append(case)
    return suite


def _output_case(pair: PairComparison, output: OutputComparison, outcome: Outcome) -> ET.Element:
    case = make_case(pair.candidate, output_name(output))
    reason = reason_of(output)
    stats = output.stats
    lines = [reason, f"type: {output_type(output)}", f"iterations: {output.iterations}"]
    if stats is not None:
        lines.append(f"largest error: {stats.max_abs:.6g} absolute, {stats.max_rel:.6g} relative")
    if not output.passed:
        worst = [item for item in outcome.repeats if item.iteration == output.worst_iteration]
        lines += [f"inputs: {item.inputs}\nrepeat: {item.command}" for item in worst]
        add_problem(case, "failure", reason, "\n".join(lines))
    else:
        ET.SubElement(case, "system-out").text = xml_text("\n".join(lines))
    return case


def _backend_suite(backend: BackendResult, outcome: Outcome) -> ET.Element:
    suite = ET.Element("testsuite", name=xml_text(backend.label))
    case = make_case(backend.label, "run")
    if backend.error:
        add_problem(case, "error", backend.error, "\n".join(filter(None, (backend.error, backend.hint))))
    suite.append(case)
    for item in outcome.invalid:
        if item.label == backend.label:
            suite.append(_invalid_case(item))
    return suite


def _invalid_case(item: Invalid) -> ET.Element:
    case = make_case(item.label, f"{item.output} is finite, iteration {item.iteration}")
    add_problem(case, "failure", f"{item.nan} NaN and {item.inf} infinite values, the first at {list(item.first)}")
    return case


def _nothing_suite(outcome: Outcome) -> ET.Element:
    suite = ET.Element("testsuite", name="polycmp")
    case = make_case("polycmp", "comparison")
    if outcome.verdict == "error":
        add_problem(case, "error", "nothing could be compared", "\n".join(outcome.notes))
    suite.append(case)
    return suite


def make_case(group: str, name: str) -> ET.Element:
    """Return an empty test case."""
    return ET.Element("testcase", classname=xml_text(group), name=xml_text(name), time="0")


def add_problem(case: ET.Element, tag: str, message: str, text: str = "") -> None:
    """Say that a case has a `failure` or an `error`."""
    found = ET.SubElement(case, tag, message=xml_text(message), type=tag)
    found.text = xml_text(text or message)


def count_cases(suite: ET.Element) -> None:
    """Fill in how many cases a suite has, and how many went wrong."""
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suite.set("skipped", "0")
    suite.set("time", "0")


def xml_text(text: str) -> str:
    """Return a text that XML can hold."""
    return _FORBIDDEN.sub("\ufffd", text)
