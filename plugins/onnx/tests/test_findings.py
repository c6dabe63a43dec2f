"""Findings as they are told and written."""

from __future__ import annotations

import re

from lint_models import save
from onnx import helper


def test_equal_findings_are_told_together(lint, tmp_path):
    nodes = [helper.make_node("Neg", ["x"], [f"d{index}"], f"dead{index}") for index in range(5)]
    save(tmp_path / "model.onnx", [*nodes, helper.make_node("Relu", ["x"], ["y"], "used")])
    assert "dead0, dead1, dead2 and 2 more (Neg): Does not affect outputs, can be removed." in lint()[0].out
    assert "dead4" in lint("-v")[0].out


def test_what_mends_several_findings_is_one_command_to_paste(lint, polycmp, tmp_path):
    nodes = [helper.make_node("Neg", ["x"], ["d"], "neg"), helper.make_node("Exp", ["x"], ["e"], "exp")]
    save(tmp_path / "model.onnx", [*nodes, helper.make_node("Relu", ["x"], ["y"], "used")])
    hints = re.findall(r"next: polycmp (.*)", lint()[0].out)
    assert hints == ["surgeon sanitize model.onnx --cleanup -o SMALLER.onnx"]
    assert polycmp(*hints[0].split()).status == 0
