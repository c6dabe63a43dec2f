"""`convert` and `inspect model` with loaders of a third party, where ONNX itself is not installed."""

from __future__ import annotations

import json
import zlib

import pytest
from commandline import core_alone_with, polycmp, toybox
from toymodels import residual, small

__all__ = ["polycmp", "toybox"]


@pytest.fixture(scope="module", autouse=True)
def without_onnx():
    """Hide the libraries for models, and our other plugins."""
    with core_alone_with("polycmp_onnx", "polycmp_samples"):
        yield


def test_a_model_becomes_another_kind_and_back(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    done = polycmp("convert", "m.toy", "-o", "m.packed")
    assert (done.status, done.out.startswith("wrote m.packed (")) == (0, True)
    assert json.loads(zlib.decompress((tmp_path / "m.packed").read_bytes()))["outputs"] == ["y"]
    assert polycmp("convert", "m.packed", "-o", "again.toy").status == 0
    assert json.loads((tmp_path / "again.toy").read_text())["outputs"] == ["y"]
    done = polycmp("run", "m.packed", "-b", "toy", "-b", "packs", "-b", "plain:model=again.toy")
    assert done.status == 0, done.out + done.err


def test_a_model_is_changed_by_its_loader_s_options(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    assert polycmp("convert", "m.toy", "-o", "all.toy", "--toy-mark-all").status == 0
    assert json.loads((tmp_path / "all.toy").read_text())["outputs"] == ["h", "r", "y"]
    assert polycmp("convert", "m.toy", "-o", "some.bin", "--convert-to", "toy", "--toy-outputs", "h", "y").status == 0
    assert json.loads((tmp_path / "some.bin").read_text())["outputs"] == ["h", "y"]


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("m.toy", "-o", "m.xyz"), 2, "no installed loader writes m.xyz"),
        (("m.toy", "-o", "m.toy2", "--convert-to", "tony"), 2, "no installed loader writes m.toy2 (tony)"),
        (("m.toy", "-o", "m.engine"), 2, "pip install 'polycmp-trt[cu12]'"),
        (("m.toy", "-o", "no/folder/m.toy"), 3, "cannot write no/folder/m.toy"),
        (("broken.toy", "-o", "m.packed"), 3, "broken.toy is no toy"),
        (("-o", "m.packed"), 2, "no model given"),
    ],
)
def test_what_cannot_be_converted(polycmp, tmp_path, words, status, says):
    small(tmp_path / "m.toy")
    (tmp_path / "broken.toy").write_text("{}")
    done = polycmp("convert", *words)
    assert done.status == status
    assert says in done.err


def test_what_is_in_a_model(polycmp, tmp_path):
    residual(tmp_path / "m.toy")
    done = polycmp("inspect", "model", "m.toy")
    assert done.out == "toy with 9 operators\ninputs: {x [dtype=float32, shape=('n', 8)]}\noutputs: y\n"
    done = polycmp("inspect", "model", "m.toy", "--show", "layers", "attrs", "weights")
    assert "Split n_left: a -> left, right" in done.out
    assert "Cast n_sf: s -> sf {'to': 'float32'}" in done.out
    assert "w: float32[8, 8]" in done.out
    done = polycmp("inspect", "model", "m.toy", "--display-as", "packed")
    assert (done.status, "no installed loader shows packed models" in done.err) == (3, True)


def test_help_shows_the_options_of_loaders_and_none_of_comparing(polycmp):
    done = polycmp("convert", "--help")
    assert done.status == 0
    assert [text for text in ("--convert-to", "--toy-outputs", "--save-external-data") if text not in done.out] == []
    assert [text for text in ("--atol", "--toy-threads", "--report", "--save-inputs") if text in done.out] == []
    assert "--display-as" in polycmp("inspect", "model", "--help").out
