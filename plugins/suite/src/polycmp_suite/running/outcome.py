"""The result of a case, from the exit status and the report of its command."""

from __future__ import annotations

import datetime
import math
import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK, FileError, describe_exception
from polycmp.options import parse_json
from polycmp.terminal import shorten
from polycmp_suite.result import CaseResult, State
from polycmp_suite.running.process import LOG
from polycmp_suite.spec import Ended, Job
from polycmp_suite.suitefile.case import Case

#: The command's own report in a case's folder.
REPORT = "report.json"
#: The folder of the search for the first wrong tensor, in a case's folder.
LOCATED = "locate"
#: Bytes at the end of a log in which the last words are looked for.
_TAIL = 8192
_REASON = 400


def result_of(case: Case, ended: Ended, today: datetime.date) -> CaseResult:
    """Build the result of a case that has ended.

    Args:
        case: The case.
        ended: Exit status and duration of its process.
        today: The day, for failures that are expected until one.
    """
    document = _document(ended)
    verdict = _verdict(ended, document)
    reason = "" if verdict == "passed" else shorten(_reason(ended, document), _REASON)
    state, reason, known = _judge(case, verdict, reason, today)
    return CaseResult(
        **of_case(case),
        state=state,
        verdict=verdict,
        reason=reason,
        known=known,
        status=ended.status,
        seconds=ended.seconds,
        attempts=ended.job.attempt,
        memory=ended.memory,
        where=ended.where,
        max_error=_max_error(document),
        times=_of_backends(document, _median),
        versions=_of_backends(document, lambda item: str(item.get("version") or "")),
        started=time.time() - ended.seconds,
    )


def of_case(case: Case) -> dict[str, Any]:
    """Return what the result of a case has of the case, as arguments of `CaseResult`."""
    names = ("command", "model", "backends", "axes", "series", "tags", "folder")
    return {"case": case.id, **{name: getattr(case, name) for name in names}}


def wants_search(case: Case, result: CaseResult) -> bool:
    """Return whether to search for the first wrong tensor of a case that has ended."""
    return bool(case.locating) and result.state == "failed" and result.verdict == "failed"


def search_job(case: Case, job: Job, reports: Iterable[str]) -> Job:
    """Return the job that searches for the first wrong tensor of a case.

    Args:
        case: The case.
        job: The job that ran the case; the folder of the new one lies in its folder.
        reports: Names of the reports that it writes there.

    Raises:
        FileError: The folder cannot be made.
    """
    folder = Path(job.output) / LOCATED
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}", why=describe_exception(error)) from error
    files = [word for name in reports for word in ("--report", str(folder / name))]
    return replace(job, words=(*case.locating, *files), output=str(folder), timeout=case.locate)


def with_search(result: CaseResult, ended: Ended) -> CaseResult:
    """Return the result of a case with the sentence of the search for its first wrong tensor."""
    document = _document(ended)
    sentence = str(document.get("sentence") or "") or _reason(ended, document)
    return replace(result, located=shorten(sentence, _REASON))


def _verdict(ended: Ended, document: Mapping[str, Any]) -> State:
    if ended.stopped:
        return "error"
    if ended.status == EXIT_FAILED and document.get("verdict") in ("blind", "undecided"):
        return cast(State, document["verdict"])
    return "passed" if ended.status == EXIT_OK else "failed" if ended.status == EXIT_DIFFERENT else "error"


def _judge(case: Case, verdict: State, reason: str, today: datetime.date) -> tuple[State, str, str]:
    """Return the state, its reason, and the reason why a failure was expected."""
    expected = case.expected
    if expected is None:
        return verdict, reason, ""
    if not expected.counts(today):
        if verdict == "passed":
            return verdict, reason, ""
        return verdict, f"{reason} (expected until {expected.until}, which has passed: {expected.reason})", ""
    if verdict == "passed":
        return "failed", "it passes, and a failure was expected: take expected-failure out", expected.reason
    if expected.verdict and expected.verdict != verdict:
        return verdict, f"{reason} (expected was {expected.verdict!r}: {expected.reason})", ""
    return "passed", reason, expected.reason


def _document(ended: Ended) -> Mapping[str, Any]:
    """Return the report of a case that ran to its end; empty where there is none."""
    if ended.stopped or ended.status < 0:
        return {}
    try:
        document = parse_json(Path(ended.job.output, REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _reason(ended: Ended, document: Mapping[str, Any]) -> str:
    if ended.stopped:
        return ended.stopped
    if ended.status < 0:
        name = signal.Signals(-ended.status).name if -ended.status in set(signal.Signals) else f"signal {-ended.status}"
        memory = ", as it does when the machine runs out of memory" if -ended.status == signal.SIGKILL else ""
        return f"the process was ended by {name}{memory}"
    return next(_failures(document), "") or last_words(Path(ended.job.output)) or f"it ended with status {ended.status}"


def _failures(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the failures in the report of a `run` or a `locate`."""
    for label, item in _tables(document, "inference_results"):
        if item.get("error"):
            yield f"{label}: {item['error']}"
    for pair in document.get("comparison_results") or ():
        outputs = pair.get("outputs") or {}
        verdict = pair.get("verdict", "failed")
        wrong = [(name, item) for name, item in outputs.items() if item.get("verdict", "failed") == verdict]
        wrong = [(name, item) for name, item in wrong if not item.get("passed")]
        if wrong:
            name, item = wrong[0]
            what = verdict if verdict in ("blind", "undecided") else "differ"
            more = f"; {len(wrong)} of {len(outputs)} outputs {what}" if len(wrong) > 1 else ""
            yield f"{name}: {item.get('reason')}{more}"
        if not pair.get("passed") and pair.get("reason"):
            yield str(pair["reason"])
    if document.get("sentence"):
        yield str(document["sentence"])


def last_words(folder: Path) -> str:
    """Return the line of a log with the reason: that of polycmp's error, else the last."""
    try:
        with (folder / LOG).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    lines = [line.strip() for line in lines if line.strip()]
    errors = [index for index, line in enumerate(lines) if line.startswith("polycmp: ")]
    if errors:
        message = lines[errors[-1]].removeprefix("polycmp: ")
        following = lines[errors[-1] + 1 : errors[-1] + 2]
        why = next((line for line in following if line.startswith("why:")), "")
        return message + (f" ({why.removeprefix('why:').strip()})" if why else "")
    return re.sub(r"^[A-Z ]+: ", "", lines[-1]) if lines else ""


def _tables(document: Mapping[str, Any], key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    tables = document.get(key)
    yield from tables.items() if isinstance(tables, dict) else ()


def _of_backends(document: Mapping[str, Any], read: Any) -> dict[str, Any]:
    values = {label: read(item) for label, item in _tables(document, "inference_results")}
    return {label: value for label, value in values.items() if value}


def _median(item: Mapping[str, Any]) -> float | None:
    return (item.get("runtime") or {}).get("median")


def _max_error(document: Mapping[str, Any]) -> float | None:
    errors = [
        float(output["max_error"])
        for pair in document.get("comparison_results") or ()
        for output in (pair.get("outputs") or {}).values()
        if output.get("max_error") is not None
    ]
    return next((item for item in errors if math.isnan(item)), max(errors, default=None))
