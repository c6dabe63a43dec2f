"""`locate` with a reference that lacks operators: it steps over them, and says so."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from toymodels import chain, small


@pytest.mark.parametrize("memory", [(), ("--max-memory", "1K")], ids=["at once", "in windows"])
def test_an_operator_that_the_reference_lacks_is_stepped_over(locate, tmp_path, memory):
    small(tmp_path / "m.toy")
    done, found = locate("-b", "toy", "-b", "toy:name=weak,refuses=Relu", *memory)
    assert (done.status, found["words"], found["verdict"]) == (3, "not judged", "error")
    assert found["sentence"].startswith("Relu 'n_r' is not judged: weak cannot run it; of the rest: all ")
    assert "ERROR: Relu 'n_r' is not judged" in done.words
    rows = {row["tensor"]: row for row in found["tensors"]}
    assert [name for name, row in rows.items() if not row["judged"]] == ["r"]
    assert not rows["r"]["passed"], "one side made it for both"
    assert next(line.split() for line in done.out.splitlines() if " r " in line and "Relu" in line)[0] == "-"
    assert "weak cannot run Relu 'n_r', so toy runs it for both, and nothing is said of its own errors" in done.words


@pytest.mark.parametrize("memory", [(), ("--max-memory", "1K")], ids=["at once", "in windows"])
def test_a_fault_among_operators_that_the_reference_lacks_is_named(locate, tmp_path, memory):
    chain(tmp_path / "m.toy", 6, changed=4)
    chain(tmp_path / "good.toy", 6)
    done, found = locate("-b", "toy", "-b", "toy:name=weak,model=good.toy,refuses=Relu", *memory)
    _, without = locate("-b", "toy", "-b", "toy:name=whole,model=good.toy", *memory)
    assert (done.status, found["first_bad"]) == (1, without["first_bad"])
    alone = "run alone on the reference's tensors, "
    assert found["sentence"].partition(alone)[:2] == without["sentence"].partition(alone)[:2]
    assert alone in found["sentence"], "the operator itself was run alone"


def test_a_fault_of_an_operator_that_the_reference_lacks_is_not_judged(locate, tmp_path):
    chain(tmp_path / "m.toy", 3, changed=2)
    chain(tmp_path / "good.toy", 3)
    _, found = locate("-b", "toy", "-b", "toy:name=whole,model=good.toy")
    culprit = next(item for item in found["tensors"] if item["tensor"] == found["first_bad"])
    done, found = locate("-b", "toy", "-b", f"toy:name=weak,model=good.toy,refuses={culprit['operator']}")
    assert done.status == 3
    assert "are not judged: weak cannot run them" in found["sentence"]


def test_an_operator_that_is_not_judged_is_no_passing_test_case(polycmp, tmp_path):
    pytest.importorskip("polycmp_report")
    small(tmp_path / "m.toy")
    done = polycmp("locate", "m.toy", "-b", "toy", "-b", "toy:name=weak,refuses=Relu", "--report", "r.xml")
    suites = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert done.status == 3
    assert [case.get("name") for case in suites.iter("testcase") if case.find("skipped") is not None] == ["r"]
    assert suites.get("errors") == "1"


def test_a_reference_that_lacks_nothing_and_fails_as_a_whole_has_failed(locate, tmp_path):
    small(tmp_path / "m.toy")
    done, found = locate("-b", "plain", "-b", "toy:name=weak,fault=raise,at=y,fused=[h,r]", "--max-memory", "1K")
    assert (done.status, found["first_bad"]) == (3, None)
    assert "has had enough" in done.words
