"""Asking `polycmp locate`: the words that are typed for it, and what its report tells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from in_process import plugins_installed

from polycmp.plan import BackendPlan, FilesPlan, Plan
from polycmp_bisect import locating
from polycmp_bisect.locating import Operator, locate, words_for

REGISTRY = plugins_installed()
PLAN = Plan(
    model="m.onnx",
    backends=tuple(BackendPlan(name, name, REGISTRY.find_runner(name).spec.options()) for name in ("onnxrt", "onnx")),
    files=FilesPlan(save_outputs="kept.npz", load_outputs=("saved.npz",), reports=("r.json",)),
)


def test_a_command_gets_the_run_and_none_of_its_reports():
    words = words_for("bisect", PLAN, REGISTRY)
    assert words[:6] == ["bisect", "m.onnx", "-b", "onnxrt", "-b", "onnx"]
    assert words[words.index("--load-outputs") + 1] == "saved.npz"
    assert "r.json" not in words


def test_there_are_no_words_for_a_command_that_is_not_installed():
    assert words_for("no-such-command", PLAN, REGISTRY) is None


def test_what_a_fusion_joins_and_the_way_round_are_read_from_the_report():
    operators = [{"outputs": ["h"]}, {"outputs": ["r", "y"]}]
    known = Operator("wrong", {"fused": {"operators": operators, "switch": {"words": "-b onnxrt:off"}}})
    assert (known.together, known.way_round) == (("h", "r", "y"), "-b onnxrt:off")
    for document in ({}, {"fused": None}, {"fused": {"switch": None}}):
        assert (Operator("", document).together, Operator("", document).way_round) == ((), "")


@pytest.mark.parametrize(
    ("document", "sentence"),
    [({"sentence": "wrong: Mul", "words": "so"}, "wrong: Mul"), ({"words": "so"}, "so"), ({}, ""), (None, "")],
)
def test_the_answer_is_what_the_report_says_and_no_report_is_no_answer(monkeypatch, document, sentence):
    pytest.importorskip("polycmp_locate")
    seen = []

    def write(words):
        seen.append(words)
        if document is not None:
            Path(words[words.index("--report") + 1]).write_text(json.dumps(document))

    monkeypatch.setattr(locating, "run_polycmp", write)
    found = locate(PLAN, REGISTRY, replace(PLAN, model="typed.onnx"))
    assert found.sentence == sentence
    assert found.document == (document or {})
    assert found.command == "polycmp locate typed.onnx -b onnxrt -b onnx --load-outputs saved.npz"
    assert seen[0][:2] == ["locate", "m.onnx"]
    assert "kept.npz" not in seen[0]
