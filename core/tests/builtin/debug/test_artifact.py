"""The name by which a check calls the file that steps write."""

from __future__ import annotations

import pytest

from polycmp.builtin.debug.artifact import AccessTime, artifact_of
from polycmp.errors import UsageError

DEFAULT = "polycmp_debug.onnx"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.onnx").write_text("")
    (tmp_path / "check.sh").write_text("exec run --model=polygraphy_debug.onnx there.onnx\n")
    (tmp_path / "other.sh").write_text("exec run model.onnx\n")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["run", "polygraphy_debug.onnx"], "polygraphy_debug.onnx"),
        (["run", "a.onnx", "out/polycmp_debug.onnx"], "out/polycmp_debug.onnx"),
        (["run", "there.onnx", "part.onnx"], "part.onnx"),  # the only one that is not there yet
        (["bash", "-c", "run 'part.onnx' && true"], "part.onnx"),
        (["run", "-b", "onnxrt:model=part.onnx,name=b"], "part.onnx"),
        (["run", "a.onnx", "b.onnx"], DEFAULT),  # which of them is not known
        (["run", "there.onnx"], DEFAULT),
        (["sh", "check.sh"], "polygraphy_debug.onnx"),
        (["sh", "other.sh"], DEFAULT),
        (["run", "--x.onnx"], DEFAULT),
        (["run", "part.engine"], DEFAULT),
    ],
)
def test_the_words_or_the_script_say_it(words, name):
    assert artifact_of(words, (".onnx",), DEFAULT) == name


def test_a_kind_that_no_step_writes_is_wrong_usage():
    with pytest.raises(
        UsageError, match=r"reads polygraphy_debug\.engine, and no step writes a \.engine file"
    ) as caught:
        artifact_of(["run", "polygraphy_debug.engine"], (".onnx",), DEFAULT)
    assert caught.value.hint == f"{DEFAULT} in its place"


def test_a_file_that_is_not_there_was_not_read(tmp_path):
    assert not AccessTime("nothing").has_moved()
    assert not AccessTime("there.onnx").has_moved()
    time = AccessTime("there.onnx")
    (tmp_path / "there.onnx").unlink()
    assert not time.has_moved()
