"""What the commands over files of inputs and outputs share: opening either, and never writing over what is read."""

from __future__ import annotations

import pytest
from saved_data import inputs, read

from polycmp.builtin.data.common import open_saved
from polycmp.errors import FileError
from polycmp.plugins import Registry


@pytest.mark.parametrize("command", ["concat", "merge"])
@pytest.mark.parametrize(("name", "content"), [("nowhere.json", None), ("bad.json", "{"), ("bad.txt", "x")])
def test_files_that_cannot_be_joined(polycmp, tmp_path, command, name, content):
    inputs(tmp_path / "a.json", {"x": 1})
    if content is not None:
        (tmp_path / name).write_text(content)
    done = polycmp("data", command, "a.json", name, "-o", "all.json")
    assert (done.status, name in done.err) == (3, True)
    assert not (tmp_path / "all.json").exists()


def test_a_folder_that_is_read_is_not_overwritten(polycmp, tmp_path):
    inputs(tmp_path / "feeds", {"x": 1}, {"x": 2})
    done = polycmp("data", "concat", "feeds", "feeds", "-o", "feeds")
    assert done.status == 2
    assert read(tmp_path / "feeds") == [{"x": 1}, {"x": 2}]


def test_messages_go_where_the_options_say(polycmp, tmp_path):
    inputs(tmp_path / "a.json", {"x": 1})
    inputs(tmp_path / "b.json", {"z": 1})
    done = polycmp("data", "concat", "a.json", "b.json", "-o", "c.json", "--silent", "--log-file", "log.txt")
    assert (done.status, done.err) == (0, "")
    assert polycmp("inspect", "data", "c.json", "-vv", "--log-format", "no-colors").status == 0


def test_a_file_that_is_neither_is_an_error_of_outputs(tmp_path):
    with pytest.raises(FileError, match="no such file or folder"):
        open_saved(str(tmp_path / "nothing.npz"), Registry.discover())
