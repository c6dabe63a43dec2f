"""`polycmp debug reduce`: from a model on which a backend goes wrong to the smallest part on which it still does."""

from __future__ import annotations

import faulty_models
import numpy as np
import pytest
from faulty_models import branches, layers, operators
from onnx import helper


def faulty(at, fault="int32"):
    return f"faulty:backend=onnxrt,fault={fault},at={at}"


#: Ways to search; one after the other takes the same steps, and more of them.
MODES = ["bisect", pytest.param("linear", marks=pytest.mark.corpus)]


class TestWithBackends:
    @pytest.mark.parametrize("mode", MODES)
    def test_a_chain_of_24_layers_ends_at_its_one_faulty_convolution(self, polycmp, tmp_path, mode):
        layers(tmp_path / "chain.onnx", 24)
        words = ("-b", faulty("n13"), "-b", "onnxrt", "--mode", mode, "--report", "found.json", "--min-good", "ok.onnx")
        done = polycmp("debug", "reduce", "chain.onnx", *words)
        assert done.status == 0, done.out + done.err
        assert "FOUND: Conv 'n13' alone still fails, 1 of 24 operators" in done.out
        assert operators("chain_reduced.onnx") == ["n13"]
        found = done.report(tmp_path / "found.json")
        assert found["failing"]["inputs"] == ["t12"]
        assert found["steps"] <= (13 if mode == "bisect" else 24)
        assert operators("ok.onnx") == ["n12"]

    def test_the_reduced_model_fails_and_the_passing_one_passes(self, polycmp, tmp_path):
        faulty_models.chain(tmp_path / "chain.onnx", 6)
        pair = ("-b", faulty("c5"), "-b", "onnxrt")
        polycmp("debug", "reduce", "chain.onnx", *pair, "-o", "small.onnx", "--min-good", "ok.onnx")
        assert polycmp("run", "small.onnx", *pair).status == 1
        assert polycmp("run", "ok.onnx", "-b", "onnxrt", "-b", "onnxrt:threads=1").status == 0

    @pytest.mark.parametrize(
        ("mode", "at"),
        [
            ("bisect", "left"), ("bisect", "right3"), ("linear", "join"),
            *(pytest.param("bisect", at, marks=pytest.mark.corpus) for at in ("stem", "right1", "join", "last")),
            *(pytest.param("linear", at, marks=pytest.mark.corpus) for at in ("stem", "left", "right1", "right3")),
            pytest.param("linear", "last", marks=pytest.mark.corpus),
        ],
    )  # fmt: skip
    def test_branches_and_unknown_dimensions(self, polycmp, tmp_path, mode, at):
        branches(tmp_path / "model.onnx")
        words = ("-b", faulty(at), "-b", "onnxrt", "--input-shapes", "x:[3,8]", "--mode", mode)
        done = polycmp("debug", "reduce", "model.onnx", *words)
        assert (done.status, operators("model_reduced.onnx")) == (0, [at]), done.out + done.err

    def test_a_model_that_fails_only_as_a_whole_is_no_model_that_passes(self, polycmp, tmp_path):
        faulty_models.save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], [4], {})
        (tmp_path / "ops.py").write_text(
            "from onnx.reference.op_run import OpRun\n"
            "class Relu(OpRun):\n"
            "    op_domain, runs = '', 0\n"
            "    def _run(self, x):\n"
            "        Relu.runs += 1\n"
            "        return (x * (2 if Relu.runs == 1 else 1),)\n"
            "new_ops = [Relu]\n"
        )
        done = polycmp("debug", "reduce", "m.onnx", "-b", "onnx:ops=ops.py", "-b", "onnxrt", "-o", "small.onnx")
        said = " ".join(done.out.split())
        assert (done.status, (tmp_path / "small.onnx").exists()) == (3, False), said
        assert "the model fails, yet not when all of it is cut out of its file" in said
        assert "NO FAULT" not in said
        assert "polycmp locate m.onnx -b onnx:ops=ops.py -b onnxrt" in said

    def test_a_shape_that_the_model_computes(self, polycmp, tmp_path):
        faulty_models.residual(tmp_path / "model.onnx")
        words = ("-b", faulty("last"), "-b", "onnxrt", "--input-shapes", "x:[3,8]")
        assert polycmp("debug", "reduce", "model.onnx", *words).status == 0
        assert operators("model_reduced.onnx") == ["last"]

    def test_a_fault_of_two_operators_together_keeps_both(self, folding, tmp_path):
        """The padding with zeros is folded into a pooling that pads with minus infinity."""
        faulty_models.pad_pool(tmp_path / "model.onnx")
        np.savez(tmp_path / "x.npz", x=-np.ones((1, 1, 3, 3), np.float32))
        words = ("-b", "folding", "-b", "onnx", "--load-inputs", "x.npz")
        done = folding("debug", "reduce", "model.onnx", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        assert operators(tmp_path / "model_reduced.onnx") == ["pad", "pool"]

    def test_leaves_inputs_or_outputs_where_they_are(self, polycmp, tmp_path):
        faulty_models.chain(tmp_path / "chain.onnx", 6)
        words = ("-b", faulty("c5"), "-b", "onnxrt")
        polycmp("debug", "reduce", "chain.onnx", *words, "--no-reduce-inputs")
        assert operators("chain_reduced.onnx")[0] == "c1"
        assert operators("chain_reduced.onnx")[-1] == "c5"
        polycmp("debug", "reduce", "chain.onnx", *words, "--no-reduce-outputs")
        assert operators("chain_reduced.onnx")[0] == "c5"
        assert operators("chain_reduced.onnx")[-1] == "r6"

    def test_a_backend_that_crashes(self, polycmp, tmp_path):
        faulty_models.chain(tmp_path / "chain.onnx", length=3)
        words = ("-b", faulty("c2", "crash"), "-b", "onnxrt", "--use-subprocess", "--save-repro", "case")
        done = polycmp("debug", "reduce", "chain.onnx", *words)
        assert (done.status, operators("chain_reduced.onnx")) == (0, ["c2"]), done.out + done.err
        assert "died with signal" in done.out
        assert "case: sh case/run.sh" in done.out
        assert "did not show the fault" not in done.out

    @pytest.mark.parametrize(
        ("words", "status", "text"),
        [
            (("-b", "onnxrt"), 2, "two backends are needed"),
            (("-b", "onnxrt", "-b", "onnx", "--reference", "mine"), 2, "no run is called 'mine'"),
            (("-b", "onnxrt", "-b", "onnx:model=other.onnx"), 3, "have different operators"),
            (("-b", "onnxrt", "-b", "onnx", "--load-debug-replay", "gone.json"), 3, "gone.json: cannot be read"),
        ],
    )
    def test_wrong_usage(self, polycmp, tmp_path, words, status, text):
        faulty_models.chain(tmp_path / "chain.onnx", 6)
        faulty_models.chain(tmp_path / "other.onnx", length=3)
        done = polycmp("debug", "reduce", "chain.onnx", *words)
        assert (done.status, text in done.out + done.err) == (status, True), done.out + done.err
