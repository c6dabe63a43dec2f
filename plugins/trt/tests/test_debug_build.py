"""`polycmp debug build` as far as it goes without a device."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import faulty_models
import pytest
from commandline import core_alone_with, polycmp, toybox

__all__ = ["polycmp", "toybox"]


@pytest.fixture
def model(tmp_path):
    """A model in the folder where commands run."""
    return faulty_models.chain(tmp_path / "model.onnx")


def test_a_file_of_any_kind_that_a_plugin_writes(polycmp, model):
    pytest.importorskip("onnxruntime")
    words = ("--iter-artifact", "built.onnx", "--artifacts", "built.onnx", "--until=2")
    done = polycmp("debug", "build", "model.onnx", *words, "--check", "polycmp", "run", "built.onnx", "-b", "onnxrt")
    assert done.status == 0, done.out + done.err
    assert len(list(Path("polycmp_artifacts/good").glob("built_*.onnx"))) == 2


@pytest.mark.skipif(find_spec("tensorrt") is not None, reason="TensorRT is here, so nothing lacks it")
def test_what_lacks_in_every_step_is_said_once(polycmp, model):
    done = polycmp("debug", "build", "model.onnx", "--until=3", "--check", "true")
    assert (done.status, done.err.count("pip install 'polycmp-trt[")) == (3, 1), done.out + done.err


def test_nothing_builds_such_a_file(polycmp, model):
    done = polycmp("debug", "build", "model.onnx", "--iter-artifact", "x.docx", "--until=2", "--check", "true")
    assert (done.status, "no loader builds x.docx" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "installs"),
    [
        (("debug", "build"), "pip install 'polycmp-trt[cu12]'"),
        (("build",), "pip install 'polycmp-trt[cu12]'"),
        (("inspect", "tactics"), "pip install 'polycmp-trt[cu12]'"),
        (("template", "trt-config"), "pip install 'polycmp-trt[cu12]'"),
        (("debug", "reduce"), "pip install polycmp-locate"),
        (("template", "onnx-gs"), "pip install polycmp-onnx"),
    ],
    ids=" ".join,
)
def test_a_command_of_a_package_that_is_not_installed_says_what_to_install(polycmp, words, installs):
    with core_alone_with():
        done = polycmp(*words)
    assert done.status == 3
    assert installs in done.err, done.err


def test_it_needs_no_package_with_commands_for_searching(polycmp):
    with core_alone_with("polycmp_trt", "polycmp_onnx", "polycmp_samples"):
        done = polycmp("debug", "build", "--help")
    assert (done.status, "--until" in done.out, "--check" in done.out) == (0, True, True), done.err
