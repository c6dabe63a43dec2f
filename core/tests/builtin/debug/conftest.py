"""What the tests of checked steps share."""

from __future__ import annotations

import pytest
from in_process import plugins_installed

from polycmp.builtin.debug.check import make_check
from polycmp.builtin.debug.sections import CheckSection


@pytest.fixture
def check(toybox, tmp_path, monkeypatch):
    """Return a check of a command."""
    monkeypatch.chdir(tmp_path)
    opened = []

    def of(*words, **section):
        opened.append(make_check(words, CheckSection(**section), plugins_installed()))
        return opened[-1]

    yield of
    for item in opened:
        item.close()
