"""A check whose message names an operator: that one alone is judged first."""

from __future__ import annotations

from pathlib import Path

import pytest
from faulty_models import branches, layers, operators
from step_checks import operator_in_file, save_check


class TestNamedOperators:
    """A check whose message names an operator: that one alone is judged first."""

    @staticmethod
    def telling(name, said):
        """Write a check that says something of every file, and fails where an operator is; return its words."""
        command = save_check("check.sh", operator_in_file(name), there=7, before='echo "$2"')
        return ("--check", *command, "polycmp_debug.onnx", said)

    @pytest.mark.parametrize(
        ("said", "fewer"),
        [
            ("Non-zero status code while running Conv node. Name:'n13' Status Message: bad", True),
            ("in [n13], of a type that nobody knows", True),
            ("n130, xn13 and n13/inner are others", False),
            ("n1 n2 n3 n13: too many to be a hint", False),
            pytest.param("nothing is named", False, marks=pytest.mark.corpus),
            ("n7: the wrong one", False),
            pytest.param("y, the output, differs", False, marks=pytest.mark.corpus),
        ],
    )
    def test_finds_the_same_operator(self, polycmp, tmp_path, said, fewer):
        layers(tmp_path / "chain.onnx", 16)
        words = ("--report", "found.json", "--min-good", "ok.onnx", "--hide-fail-output")
        done = polycmp("debug", "reduce", "chain.onnx", *words, *self.telling("n13", said))
        assert done.status == 0, done.out + done.err
        assert (operators("chain_reduced.onnx"), operators("ok.onnx")) == (["n13"], ["n12"])
        assert (done.report(Path("found.json"))["steps"] == 3) == fewer

    def test_a_type_that_one_operator_has(self, polycmp, tmp_path):
        branches(tmp_path / "model.onnx")
        words = ("--report", "found.json", *self.telling("right2", "Tanh is not registered"))
        done = polycmp("debug", "reduce", "model.onnx", *words)
        assert operators("model_reduced.onnx") == ["right2"], done.out + done.err
        assert done.report(Path("found.json"))["steps"] == 2

    @pytest.mark.parametrize("words", [("--mode", "linear"), ("--no-reduce-inputs",), ("--no-reduce-outputs",)])
    def test_a_search_that_was_asked_for_is_done(self, polycmp, tmp_path, words):
        layers(tmp_path / "chain.onnx", 16)
        words = (*words, "--report", "found.json", *self.telling("n13", "n13"))
        done = polycmp("debug", "reduce", "chain.onnx", *words)
        assert "n13" in operators("chain_reduced.onnx"), done.out + done.err
        assert done.report(Path("found.json"))["steps"] > 3
