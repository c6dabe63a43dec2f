"""Cases in folders that somebody else wrote."""

from __future__ import annotations

import pytest

from polycmp.errors import FileError
from polycmp_locate.reduce.case import SCRIPT, Reproduction


def test_a_script_without_a_command_is_no_case(tmp_path):
    (tmp_path / SCRIPT).write_text("#!/bin/sh\necho polycmp run\n")
    with pytest.raises(FileError, match="runs no command") as caught:
        Reproduction.read(tmp_path)
    assert "--save-repro DIR" in caught.value.hint
