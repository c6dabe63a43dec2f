"""Files of parts of a model, and of backends that are to be found from other folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from polycmp.errors import FileError
from polycmp.plan import BackendPlan
from polycmp.spec import opt
from polycmp_locate.reduce.writing import absolute, anywhere, write_model


@dataclass(frozen=True)
class Options:
    """Two options that are files, and one that is none."""

    ops: str = opt("", help="A script.", metavar="FILE.py[:NAME]")
    libraries: tuple[str, ...] = opt((), help="Libraries.", metavar="FILE")
    name: str = opt("", help="No file.")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with some files, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("ops.py", "lib.so", "bin/python", "python3"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "found"),
    [("ops.py", "{}/ops.py"), ("ops.py:make", "{}/ops.py:make"), ("gone.py", "gone.py"), ("", ""), (3, 3)],
)
def test_a_file_that_is_there_gets_its_folder(here, text, found):
    assert absolute(text) == (found.format(here) if isinstance(found, str) else found)


def test_files_of_a_backend_get_their_folder_and_nothing_else_does(here):
    moved = anywhere(BackendPlan("x", "x", options=Options("ops.py", ("lib.so", "gone.so"), "ops.py")))
    assert moved.options == Options(f"{here}/ops.py", (f"{here}/lib.so", "gone.so"), "ops.py")


@pytest.mark.parametrize(("python", "found"), [("bin/python", "{}/bin/python"), ("python3", "python3"), ("", "")])
def test_an_interpreter_with_a_folder_is_a_file_and_another_one_a_command(here, python, found):
    assert anywhere(BackendPlan("x", "x", options=Options(), python=python)).python == found.format(here)


class Model:
    """Writes what it is given."""

    def __init__(self, *verified):
        self.verified = list(verified)

    def save_verified(self, loader, path):
        Path(path).write_text(loader)
        return self.verified


@pytest.mark.parametrize(
    ("verified", "said"), [(["shapes", "types"], "new/m.toy is verified: shapes, types"), ([], "")]
)
def test_what_was_verified_is_said_and_folders_are_made(here, verified, said):
    assert write_model(Model(*verified), "content", "new/m.toy") == said
    assert (here / "new" / "m.toy").read_text() == "content"


def test_a_folder_that_cannot_be_made_is_an_error_in_words(here):
    with pytest.raises(FileError, match=r"lib\.so"):
        write_model(Model(), "content", "lib.so/m.toy")
