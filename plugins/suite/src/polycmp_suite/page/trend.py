"""Drawing of a case's past runs: a bar per run, as high as the time, coloured as the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polycmp.report.elements import Markup, tag
from polycmp_suite.result import CaseResult
from polycmp_suite.store import Run, runs_in

#: Past runs that are drawn, and results that are read for it.
_RUNS, _RESULTS = 20, 4000
_WIDTH, _HEIGHT = 5, 20


def past_results(run: Run, cases: int) -> Mapping[str, Sequence[CaseResult]]:
    """Collect each case's results from a run and the runs stored beside it, the oldest first.

    Args:
        run: The run.
        cases: Number of cases of the suite; of large suites fewer runs are read.
    """
    depth = min(_RUNS, max(1, _RESULTS // max(cases, 1)))
    results: dict[str, list[CaseResult]] = {}
    for past_run in runs_in(run.folder.parent)[-depth:]:
        for result in past_run.results():
            results.setdefault(result.case, []).append(result)
    return results


def trend(results: Sequence[CaseResult]) -> Markup | None:
    """Return the drawing; None of a single run."""
    if len(results) < 2:
        return None
    longest = max((result.seconds for result in results), default=0.0) or 1.0
    bars = []
    for index, result in enumerate(results):
        height = max(2.0, result.seconds / longest * _HEIGHT)
        title = tag("title", f"{result.mark}, {result.seconds:.2f} s")
        place = {"x": index * (_WIDTH + 1), "y": f"{_HEIGHT - height:.1f}", "width": _WIDTH, "height": f"{height:.1f}"}
        bars.append(tag("rect", title, class_=result.mark, **place))
    width = len(results) * (_WIDTH + 1)
    words = f"{len(results)} runs, the last: {results[-1].mark}"
    return tag(
        "svg",
        *bars,
        class_="trend",
        role="img",
        aria_label=words,
        viewBox=f"0 0 {width} {_HEIGHT}",
        width=width,
        height=_HEIGHT,
    )
