"""Verdicts that are neither a pass nor a failure, as every command, report and program is told of them."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from in_process import run_cases_here

SCRIPT = """
from polycmp.spec import Verdict

def compare_outputs(candidate, reference, *, output):
    return Verdict({passed}, "that tells nothing", inconclusive={kind!r})
"""
CASES = pytest.mark.parametrize("kind", ["blind", "undecided"])


def write_script(folder, kind, *, passed=False):
    (folder / "judge.py").write_text(SCRIPT.format(kind=kind, passed=passed))
    return "--compare-func-script", "judge.py"


@CASES
@pytest.mark.parametrize("passed", [False, True])
def test_what_tells_nothing_is_no_pass_and_no_failure(polycmp, model, tmp_path, kind, passed):
    """Also where the function says of itself that it passed."""
    words = write_script(tmp_path, kind, passed=passed)
    reports = [word for suffix in ("json", "html", "xml", "md") for word in ("--report", f"r.{suffix}")]
    done = polycmp("run", model, "-b", "onnxrt", "-b", "onnx", *words, *reports)
    assert done.status == 3
    assert f"{kind.upper()}: 1 of 1 output" in done.out
    assert f"{kind.upper()}" in next(line for line in done.out.splitlines() if "float32" in line)
    found = json.loads((tmp_path / "r.json").read_text())
    assert (found["verdict"], found["exit_code"]) == (kind, 3)
    [pair] = found["comparison_results"]
    assert (pair["passed"], pair["verdict"]) == (False, kind)
    assert (pair["outputs"]["y"]["passed"], pair["outputs"]["y"]["verdict"]) == (False, kind)
    root = ET.parse(tmp_path / "r.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "1")
    assert [item.get("message") for item in root.iter("error")] == ["that tells nothing"]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f'class="hero {kind}"' in page
    assert f'class="badge {kind}"' in page
    assert f"🟣 {kind}" in (tmp_path / "r.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kinds", "verdict", "status"),
    [
        (["blind", "passed"], "blind", 3),
        (["blind", "undecided", "passed"], "undecided", 3),
        (["blind", "undecided", "failed"], "failed", 1),
    ],
)
def test_of_several_verdicts_the_weightiest_counts(polycmp, tmp_path, kinds, verdict, status):
    import numpy as np

    script = "from polycmp.spec import Verdict\ndef compare_outputs(a, b, *, output):\n"
    script += "    kind = output.split('_')[0]\n"
    script += "    known = kind if kind in ('blind', 'undecided') else ''\n"
    script += "    return Verdict(kind == 'passed' and bool((a == b).all()), kind, inconclusive=known)\n"
    (tmp_path / "judge.py").write_text(script)
    for name in ("a.npz", "b.npz"):
        np.savez(tmp_path / name, **{f"{kind}_y": np.ones(3, np.float32) for kind in kinds})
    done = polycmp("compare", "a.npz", "b.npz", "--compare-func-script", "judge.py", "--report", "r.json")
    assert (done.status, done.report(tmp_path / "r.json")["verdict"]) == (status, verdict)
    assert f"\n{verdict.upper()}: 1 of {len(kinds)} output" in done.out


@CASES
def test_the_saved_metrics_say_so_too(polycmp, model, tmp_path, kind):
    words = write_script(tmp_path, kind)
    polycmp("run", model, "-b", "onnxrt", "-b", "onnx", *words, "--save-accuracy-results", "m.json")
    done = polycmp("check", "accuracy", "m.json", "--report", "r.json")
    assert (done.status, done.report(tmp_path / "r.json")["verdict"]) == (3, kind)


@CASES
def test_a_suite_gives_it_a_colour_of_its_own(polycmp, model, tmp_path, kind, monkeypatch):
    run_cases_here(monkeypatch)
    write_script(tmp_path, kind)
    text = '[[case]]\nname = "toy"\nmodel = "model.onnx"\nbackend = ["onnxrt", "onnx"]\n'
    text += 'compare-func-script = "judge.py"\n'
    (tmp_path / "suite.toml").write_text(text)
    done = polycmp("suite", "suite.toml", "--results", "out", "--report", "s.json")
    assert done.status == 3
    assert f"1 case: 1 {kind}" in done.out
    found = done.report(tmp_path / "s.json")
    assert (found["verdict"], found["cases"][0]["state"]) == (kind, kind)
    assert "that tells nothing" in found["cases"][0]["reason"]
    [index] = (page for page in (tmp_path / "out").rglob("index.html") if "cases" not in page.parts)
    assert f'class="hero {kind}"' in index.read_text(encoding="utf-8")
    (tmp_path / "suite.toml").write_text(text + f'expected-failure = {{reason = "known", verdict = "{kind}"}}\n')
    assert polycmp("suite", "suite.toml", "--results", "again").status == 0


@CASES
def test_a_program_reads_false(kind):
    import numpy as np

    from polycmp.comparator import Comparator, IterationResult, RunResults
    from polycmp.spec import Verdict

    arrays = {"y": np.ones(3, np.float32)}
    runs = RunResults([("a", [IterationResult(arrays)]), ("b", [IterationResult(arrays)])])

    def judge(candidate, reference, *, output):
        return Verdict(passed=False, reason="that tells nothing", inconclusive=kind)

    found = Comparator.compare_accuracy(runs, compare_func=judge)
    assert not found
    [outputs] = found["a", "b"]
    assert (outputs["y"].passed, outputs["y"].inconclusive, outputs["y"].verdict) == (False, kind, kind)
    assert "that tells nothing" in found.describe()


def test_another_kind_is_refused(polycmp, model, tmp_path):
    words = write_script(tmp_path, "perhaps")
    done = polycmp("run", model, "-b", "onnxrt", "-b", "onnx", *words)
    assert done.status == 3
    assert "'perhaps'" in done.err
