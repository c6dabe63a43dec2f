"""The scenarios of `truth`: every sentence of `locate` is one that an expert would sign."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest
from copied_processes import copy_children
from onnx.reference import ReferenceEvaluator

from polycmp_checks.faulty import NO_EFFECT
from truth.build import Graph
from truth.composing import random_net
from truth.judge import ACCUSED, ELSEWHERE, MISSED, RIGHT, SENTENCE, Said, grade, judge, run_words
from truth.models import ARCHITECTURES, net_of
from truth.mutation import ACCUSED as ACCUSED_CLEAN
from truth.mutation import CLEAN, NAMED, Mutant, Outcome, downstream, reached_goal, reaches, table, try_out
from truth.mutation import MISSED as MISSED_FAULT
from truth.pending import PENDING
from truth.resuming import Kept, each
from truth.scenario import NO_FAULT, NOTHING, SAME, WRONG, Scenario, at
from truth.scenarios import SCENARIOS


def cases():
    """Give the scenarios; every third of those that are the first of a fault or architecture is no corpus."""
    seen = set()
    for name, scenario in SCENARIOS.items():
        if scenario.fast and scenario.here:
            kind = scenario.architecture if scenario.fault == NO_FAULT else scenario.fault
            marks = [pytest.mark.corpus] if kind in seen or len(seen) % 3 else []
            if scenario.pending:
                marks.append(pytest.mark.xfail(strict=True, reason=scenario.pending))
            seen.add(kind)
            yield pytest.param(scenario, id=name, marks=marks)


@pytest.mark.parametrize("scenario", cases())
def test_the_sentence_is_one_that_an_expert_would_sign(scenario, tmp_path, monkeypatch):
    copy_children(monkeypatch)
    judged = judge(scenario, tmp_path)
    assert judged.grade == RIGHT, f"{judged.command}\n{judged.said.sentence or judged.said.text}"


def test_enough_is_tried():
    faulty = [item for item in SCENARIOS.values() if item.fault != NO_FAULT]
    assert len(SCENARIOS) >= 80
    assert len({item.architecture for item in SCENARIOS.values()} & set(ARCHITECTURES)) >= 12
    assert len(SCENARIOS) - len(faulty) >= len(faulty), "as many scenarios without a fault as with one"
    assert set(PENDING) <= set(SCENARIOS), "what is pending is the name of a scenario"


@pytest.mark.parametrize(
    ("expect", "said", "what"),
    [
        (at("a"), Said(1, WRONG, "wrong: Op 'a'", ("a",)), RIGHT),
        (at("a"), Said(1, WRONG, "wrong: Op 'b'", ("b",)), ELSEWHERE),
        (at("a"), Said(1, "ill-conditioned model", "", ("a",)), SENTENCE),
        (at("a", says=("because",)), Said(1, WRONG, "wrong: Op 'a'", ("a",)), SENTENCE),
        (at("a"), Said(0, "equal"), MISSED),
        (NOTHING, Said(1, WRONG, "wrong: Op 'a'", ("a",)), ACCUSED),
        (NOTHING, Said(0, "within rounding"), RIGHT),
        (SAME, Said(0, "within rounding"), SENTENCE),
        (NOTHING, Said(3, text="could not compare"), "no answer"),
    ],
)
def test_what_is_said_is_graded(expect, said, what):
    assert grade(Scenario("s", "residual", NO_FAULT, expect), said) == what


def dies_once(name):
    """Stand for what makes a process die, so that a pool of them is broken."""
    if not Path(name).exists():
        Path(name).touch()
        os._exit(1)
    return Path(name).name


def test_a_process_that_dies_does_not_end_the_run(tmp_path):
    names = [str(tmp_path / name) for name in "ab"]
    assert sorted(each(dies_once, names, Kept(tmp_path / "done"), 1)) == ["a", "b"]


def test_what_was_done_is_not_done_again(tmp_path):
    kept = Kept(tmp_path / "done")
    kept.put(dies_once, str(tmp_path / "a"), "done")
    assert list(each(dies_once, [str(tmp_path / "a")], kept, 1)) == ["done"]


class TestMutation:
    def test_a_fault_in_an_architecture_is_named_and_the_run_without_it_clean(self, tmp_path):
        mutant = Mutant(1, "residual", net_of("residual"), "row-noise", "s1.c1", "onnx")
        found = try_out(mutant, tmp_path)
        assert (found.grade, found.clean, found.operator) == (NAMED, CLEAN, "Conv")
        assert found.command.startswith("polycmp locate ")

    @pytest.mark.parametrize(
        ("architecture", "fault", "operator"),
        [("residual", "nan", "s1.c1"), ("detector", "row-noise", "size"), ("speech", "shuffle", "spectrum")],
    )
    def test_whether_a_fault_reaches_an_output_is_measured(self, tmp_path, architecture, fault, operator):
        net = net_of(architecture)
        felt = reaches(Mutant(1, architecture, net, fault, operator, "onnx"), net.write(tmp_path))
        assert felt is (architecture == "detector")

    def test_a_fault_that_changes_nothing_is_told_from_one_that_is_missed(self, tmp_path):
        path = net_of("residual").write(tmp_path)
        candidate = "faulty:backend=onnxrt,fault=nan,at=s1.c1"
        words = ["locate", str(path), "-b", candidate, "-b", "onnx", "--load-inputs", str(tmp_path / "x.npz")]
        said = run_words(words, tmp_path / "found.json")
        assert any(NO_EFFECT in note for note in said.notes)

    def test_a_fault_that_reaches_an_output_without_dimensions_is_measured(self, tmp_path):
        g = Graph("scalar")
        x = g.input("x", g.normal(4, 8))
        g.node("ReduceSum", [g.linear(x, "h", 8, 8)], "y", keepdims=0)
        g.output("y")
        net = g.net()
        assert reaches(Mutant(1, "scalar", net, "row-noise", "h", "onnx"), net.write(tmp_path))

    @pytest.mark.corpus  # of the one-node models it takes its operators, and those take four seconds to make
    def test_a_random_graph_is_the_same_again_and_runs(self):
        one, two = random_net(4), random_net(4)
        assert one.model == two.model
        assert len(one.model.graph.node) >= 5
        onnx.checker.check_model(one.model, full_check=True)
        made = ReferenceEvaluator(one.model).run(None, dict(one.feed))
        assert len(made) == len(one.model.graph.output)

    def test_what_lies_behind_an_operator(self):
        behind = downstream(net_of("super-resolution").model, {"c3"})
        assert behind == {"shuffled", "sum", "y"}

    def test_the_table_counts_and_the_goal_is_99_percent_without_an_accusation(self):
        def outcome(seed, grade, clean=CLEAN):
            return Outcome(seed, "random graph", "fp16", "Conv", grade, clean, "", "", ("", ""))

        good = [outcome(seed, NAMED) for seed in range(99)]
        assert reached_goal([*good, outcome(99, MISSED_FAULT)])
        assert not reached_goal([*good[1:], outcome(99, MISSED_FAULT)])
        assert not reached_goal([*good, outcome(99, NAMED, ACCUSED_CLEAN)])
        text = table([*good, outcome(99, MISSED_FAULT)], 1)
        assert "| random graphs | 100 | 99 | 0 | 0 | 1 | 0 | 99.0% | 100 | 0 |" in text
        assert "seeds 0 to 99" in text
