"""Cases with several releases of a runtime: what they stand for, and since when each differs."""

from __future__ import annotations

import pytest

from polycmp_suite.page.index import index_page
from polycmp_suite.releases import rows_of
from polycmp_suite.result import CaseResult
from polycmp_suite.summary import summarize

pytest.importorskip("polycmp_bisect")


def results(**verdicts):
    """Return the results of a case with releases, oldest first."""
    return [
        CaseResult(
            case=f"m[release={name[1:]}]", state=verdict, verdict=verdict, axes={"release": name[1:]}, series="m",
            model="m.onnx", backends=("onnxrt", "onnx"), folder=f"m-{name}", max_error=0.25,
        )
        for name, verdict in verdicts.items()
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "since"),
    [
        ({"v1": "passed", "v2": "passed", "v3": "failed"}, "differs since 3, right with 2"),
        ({"v1": "failed", "v2": "undecided", "v3": "passed"}, "right since 3, differs with 1"),
        (
            {"v1": "passed", "v2": "failed", "v3": "passed"},
            "differs since 2, right with 1; right since 3, differs with 2",
        ),
        (
            {"v1": "error", "v2": "passed", "v3": "error"},
            "right since 2, not compared with 1; not compared since 3, right with 2",
        ),
        ({"v1": "passed", "v2": "passed"}, "right with all"),
        ({"v1": "skipped", "v2": "failed"}, "differs with 2; nothing is told of 1"),
        ({"v1": "failed", "v2": "blind"}, "right since 2, differs with 1"),
        ({"v1": "passed", "v2": "blind"}, "right with 1; nothing is told of 2"),
        ({"v1": "blind", "v2": "skipped"}, "nothing is told of any"),
    ],
)
def test_it_is_told_since_when_a_model_differs(verdicts, since):
    [row] = rows_of(results(**verdicts))
    assert row.since == since


def test_a_failure_that_was_expected_is_a_difference_all_the_same():
    cases = results(v1="passed", v2="failed")
    known = [CaseResult(**{**vars(cases[1]), "state": "passed", "known": "why"})]
    assert rows_of([cases[0], *known])[0].since == "differs since 2, right with 1"


def test_the_page_shows_each_release_and_since_when(suite):
    cases = results(v1="passed", v2="passed", v3="failed")
    result = summarize("nightly", cases, {})
    assert result.document["releases"][0]["turns"] == [["2", "3"]]
    page = index_page(result, cases, {}, {})
    assert "Since which release" in page
    assert '<td class="reason">differs since 3, right with 2</td>' in page
    assert 'href="cases/m-v3/index.html"' in page
    assert "failed 0.25" in page
    assert "Models and backends" not in page
