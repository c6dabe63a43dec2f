"""Engines that are given other weights, and engines that are built and not run."""

from __future__ import annotations

import faulty_models
import numpy as np
import pytest

from polycmp.cli.main import main
from polycmp.errors import BackendError, DataError, FileError
from polycmp_trt import CreateConfig, EngineFromNetwork, NetworkFromOnnxPath, RefitEngine, TrtRunner

pytestmark = pytest.mark.gpu


@pytest.fixture
def models(tmp_path):
    return faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)


def refittable(path):
    return EngineFromNetwork(NetworkFromOnnxPath(str(path)), CreateConfig(refittable=True))


def outputs(engine, feed):
    with TrtRunner(engine) as runner:
        return {name: array.copy() for name, array in runner.infer(feed).items()}


def test_an_engine_gets_the_weights_of_another_model(models):
    good, bad = models
    with TrtRunner(refittable(good)) as runner:
        feed = {
            name: np.random.default_rng(0).random(entry.shape).astype(entry.dtype)
            for name, entry in runner.get_input_metadata().items()
        }
    theirs, wrong = outputs(refittable(good), feed), outputs(refittable(bad), feed)
    assert any(not np.allclose(theirs[name], wrong[name], atol=1e-3) for name in theirs)
    refitted = outputs(RefitEngine(refittable(bad), good), feed)
    for name, array in theirs.items():
        np.testing.assert_allclose(refitted[name], array, atol=1e-4)


def test_as_an_option_and_on_a_file(call, models, tmp_path):
    good, bad = models
    status, text, _ = call("run", bad, "-b", f"trt:refit={good}", "-b", f"onnxrt:model={good}", "--atol", "1e-3")
    assert status == 0, text
    engine = tmp_path / "bad.engine"
    assert main(["convert", str(bad), "-o", str(engine), "--refittable"]) == 0
    again = tmp_path / "good.engine"
    words = ("-b", f"trt:model={engine},refit={good},save_engine={again}", "-b", "onnxrt", "--atol", "1e-3")
    status, text, _ = call("run", good, *words)
    assert status == 0, text
    status, text, _ = call("run", good, "-b", f"trt:model={again}", "-b", "onnxrt", "--atol", "1e-3")
    assert status == 0, text


def test_what_cannot_be_refitted_says_why(models, tmp_path):
    good, _ = models
    with pytest.raises(BackendError, match="cannot be refitted") as caught:
        RefitEngine(EngineFromNetwork(NetworkFromOnnxPath(str(good))), good)()
    assert "--refittable" in caught.value.hint
    with pytest.raises(FileError, match="no such model file"):
        RefitEngine(refittable(good), tmp_path / "none.onnx")()
    other = faulty_models.save(
        tmp_path / "other.onnx", [faulty_models.helper.make_node("Relu", ["x"], ["y"], name="r")], [1, 4], {}
    )
    with pytest.raises(DataError, match=r"lacks weights|cannot refit"):
        RefitEngine(refittable(good), other)()


def test_building_only(call, models, tmp_path):
    good, _ = models
    engine = tmp_path / "good.engine"
    status, text, report = call("run", good, "-b", f"trt:name=trt,build_only,save_engine={engine}")
    assert status == 0, text
    assert "not run, as asked" in " ".join(report["inference_results"]["trt"]["notes"])
    status, text, _ = call("run", good, "-b", f"trt:model={engine}", "-b", "onnxrt", "--atol", "1e-3")
    assert status == 0, text


def test_several_engines_at_once(capsys, models, tmp_path):
    good, bad = models
    folder = tmp_path / "engines"
    words = ["build", str(good), "-b", "trt:fp16", "-b", f"trt:name=bad,model={bad}", "-j", "2"]
    status = main([*words, "-o", str(folder)])
    shown = capsys.readouterr()
    assert status == 0, shown.out + shown.err
    assert sorted(path.name for path in folder.iterdir()) == ["bad.engine", "trt_fp16.engine"]
    words = [
        "-b",
        f"trt:model={folder}/trt_fp16.engine",
        "-b",
        "onnxrt",
        "--atol",
        "0.05",
        "--rtol",
        "0.05",
        "--allow-blind",
    ]
    assert main(["run", str(good), *words]) == 0, capsys.readouterr()


def test_an_engine_that_cannot_be_built_does_not_stop_the_others(capsys, models, tmp_path):
    good, _ = models
    folder = tmp_path / "engines"
    words = ["build", str(good), "-b", "trt:name=odd,workspace=100000000G", "-b", "trt", "-j", "2", "-o", str(folder)]
    assert main(words) == 3
    shown = capsys.readouterr()
    assert "out of memory" in " ".join((shown.out + shown.err).split())
    assert [path.name for path in folder.iterdir()] == ["trt.engine"]
