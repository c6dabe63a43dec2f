"""A check that compares with outputs saved from the whole model: Polygraphy's documents go this way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from faulty_models import layers, operators
from onnx import numpy_helper

#: Ways to search; one after the other takes the same steps, and more of them.
MODES = ["bisect", pytest.param("linear", marks=pytest.mark.corpus)]


class TestSavedTensors:
    """A check that compares with outputs saved from the whole model: Polygraphy's documents go this way."""

    LOADING = ("--load-inputs", "layerwise.json", "--load-outputs", "golden.json")
    CHECK = ("--check", "polycmp", "run", "polycmp_debug.onnx", "-b", "onnxrt", *LOADING)

    @staticmethod
    def save(polycmp, tmp_path, *outputs):
        layers(tmp_path / "sound.onnx", 12)
        model = onnx.load(tmp_path / "sound.onnx")
        weight = next(item for item in model.graph.initializer if item.name == "w7")
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.5), weight.name))
        onnx.save(model, tmp_path / "faulty.onnx")
        words = ("--save-inputs", "in.json", "--save-outputs", "golden.json", *outputs)
        assert polycmp("run", "sound.onnx", "-b", "onnxrt", *words).status == 0
        assert polycmp("data", "merge", "in.json", "golden.json", "-o", "layerwise.json").status == 0

    @pytest.mark.parametrize("mode", MODES)
    def test_each_part_is_compared_with_its_own_outputs(self, polycmp, tmp_path, mode):
        self.save(polycmp, tmp_path, "--onnx-outputs", "*")
        words = ("--mode", mode, "--min-good", "ok.onnx", "--save-repro", "case", "--load-inputs", "layerwise.json")
        done = polycmp("debug", "reduce", "faulty.onnx", *words, *self.CHECK)
        assert done.status == 0, done.out + done.err
        assert operators("faulty_reduced.onnx") == ["n7"]
        assert operators("ok.onnx") == ["n6"]
        assert "did not show the fault" not in done.out
        assert "golden.json" in done.out
        assert "--load-inputs saved" in Path("case/run.sh").read_text()

    def test_a_sound_model_has_nothing_to_reduce(self, polycmp, tmp_path):
        self.save(polycmp, tmp_path, "--onnx-outputs", "*")
        done = polycmp("debug", "reduce", "sound.onnx", *self.CHECK)
        assert (done.status, "NO FAULT" in done.out) == (0, True), done.out
        assert not Path("sound_reduced.onnx").exists()

    def test_parts_that_nothing_was_saved_for_are_not_judged(self, polycmp, tmp_path):
        self.save(polycmp, tmp_path)
        done = polycmp("debug", "reduce", "faulty.onnx", *self.CHECK)
        assert done.status == 0, done.out + done.err
        assert len(operators("faulty_reduced.onnx")) == 12
        assert "the saved outputs lack" in done.out
        assert "--onnx-outputs '*'" in done.out

    def test_the_same_with_an_equals_sign_and_a_folder(self, polycmp, tmp_path):
        self.save(polycmp, tmp_path, "--onnx-outputs", "*")
        assert polycmp("run", "sound.onnx", "-b", "onnxrt", "--load-inputs", "in.json", "--onnx-outputs", "*",
                       "--save-outputs", "golden").status == 0  # fmt: skip
        check = ("--check", "polycmp", "run", "polycmp_debug.onnx", "-b", "onnxrt")
        loading = ("--load-inputs=layerwise.json", "--load-outputs=golden")
        done = polycmp("debug", "reduce", "faulty.onnx", *check, *loading)
        assert (done.status, operators("faulty_reduced.onnx")) == (0, ["n7"]), done.out + done.err

    def test_a_file_that_cannot_be_read(self, polycmp, tmp_path):
        layers(tmp_path / "sound.onnx", 3)
        Path("golden.json").write_text("{")
        done = polycmp("debug", "reduce", "sound.onnx", "--check", "polycmp", "run", "polycmp_debug.onnx", "-b",
                       "onnxrt", "--load-outputs", "golden.json")  # fmt: skip
        assert (done.status, "golden.json" in done.err) == (3, True), done.out + done.err
