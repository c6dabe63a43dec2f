"""Cases with several releases of a runtime: what they stand for, and since when each differs."""

from __future__ import annotations

import pytest

from polycmp_suite.page.index import index_page
from polycmp_suite.releases import rows_of
from polycmp_suite.result import CaseResult
from polycmp_suite.summary import summarize

pytest.importorskip("polycmp_bisect")


def test_each_release_makes_a_case_whose_first_backend_has_it(suite):
    suite.write("""
[defaults]
backends = ["onnxrt", "onnx"]

[[case]]
model = "one.onnx"
releases = ["1.20.1", "latest"]

[[case]]
name = "fast"
model = "two.onnx"
backends = [{ backend = "onnxrt", name = "quick", options = { threads = 1 } }, "onnx"]
releases = "1.22"
matrix = { atol = [1e-3] }
""")
    done = suite("suite.toml", "--list", status=0)
    assert done.stdout.splitlines() == [
        "one[release=1.20.1]", "one[release=latest]", "fast[atol=0.001,release=1.22]",
    ]  # fmt: skip
    done = suite("suite.toml", "--dry-run", status=0)
    assert done.stdout.splitlines() == [
        "polycmp run one.onnx -b onnxrt:version=1.20.1 -b onnx",
        "polycmp run one.onnx -b onnxrt:version=latest -b onnx",
        "polycmp run two.onnx -b 'onnxrt:threads=1,version=1.22,name=quick 1.22' -b onnx --atol 0.001",
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('backends = ["onnxrt:version=1.20.1", "onnx"]\nreleases = ["1.22"]', "has an environment of its own"),
        ('backends = ["onnxrt", "onnx"]\nreleases = [1.22]', "line 5: releases: a list of texts is wanted"),
        ('backends = ["onnxrt", "onnx"]\nmatrix = { releases = ["1.22"] }', "a matrix has no axis 'releases'"),
    ],
)
def test_releases_that_cannot_be_meant_are_mistakes(suite, lines, said):
    suite.write(f'\n[[case]]\nmodel = "one.onnx"\n{lines}\n')
    done = suite("suite.toml", "--list", status=2)
    assert said in done.stderr


def test_a_backend_with_options_is_called_as_it_would_be_typed(suite):
    backends = '["onnxrt:optimization=off,threads=1", "onnx"]'
    suite.write(f'[[case]]\nmodel = "one.onnx"\nbackends = {backends}\nreleases = ["1.22"]\n')
    line = "polycmp run one.onnx -b onnxrt:optimization=off,threads=1,version=1.22 -b onnx"
    assert suite("suite.toml", "--dry-run", status=0).stdout.splitlines() == [line]


def test_a_suite_that_may_name_no_code_installs_no_packages_of_its_choice(suite):
    suite.write('[[case]]\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnx"]\nreleases = ["1.20.1"]\n')
    suite("suite.toml", "--no-scripts", "--list", status=0)
    suite.write('[[case]]\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnx"]\nreleases = ["1.20.1,any==1"]\n')
    done = suite("suite.toml", "--no-scripts", "--list", status=2)
    assert "version names code to run: 1.20.1,any==1" in done.stderr


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
