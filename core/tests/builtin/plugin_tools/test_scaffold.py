"""`plugins new`: what it says and refuses, and that nothing is overwritten. `tests/` installs what it writes."""

from __future__ import annotations

import pytest

from polycmp.builtin.plugin_tools.scaffold import write_distribution
from polycmp.cli.main import main
from polycmp.errors import FileError, UsageError


def test_the_command_says_what_to_type_next(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["plugins", "new", "mine"]) == 0
    out = capfd.readouterr().out
    assert (tmp_path / "polycmp-mine" / "pyproject.toml").exists()
    assert "wrote polycmp-mine/pyproject.toml" in out
    assert "polycmp plugins check mine" in out


@pytest.mark.parametrize("name", ["Foo", "1st", "a-b", "", "class", "a b", "é", "../up"])
def test_names_that_cannot_be(tmp_path, name):
    with pytest.raises(UsageError, match="cannot be the name of a plugin"):
        write_distribution(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["polycmp", "trt", "onnxrt"])
def test_names_that_are_taken(tmp_path, name):
    with pytest.raises(UsageError, match="is taken"):
        write_distribution(name, tmp_path / "new")


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "note").write_text("mine")
    with pytest.raises(FileError, match="nothing is overwritten"):
        write_distribution("my_rt", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note"]
    with pytest.raises(FileError, match="nothing is overwritten"):
        write_distribution("my_rt", tmp_path / "note")


def test_folder_that_cannot_be_made_is_an_error_in_words(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write"):
        write_distribution("my_rt", tmp_path / "file" / "below")


def test_empty_folder_is_used_and_the_default_is_named_after_the_distribution(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    assert write_distribution("my_rt", tmp_path / "empty")[0] == tmp_path / "empty" / "pyproject.toml"
    monkeypatch.chdir(tmp_path)
    write_distribution("my_rt")
    assert (tmp_path / "polycmp-my-rt" / "src" / "polycmp_my_rt" / "plugin.py").is_file()


def test_no_placeholder_is_left(tmp_path):
    for path in write_distribution("my_rt", tmp_path / "new"):
        text = path.read_text()
        assert "$" not in text + str(path)
        if path.suffix == ".py":
            compile(text, path, "exec")
