"""Observers keep the contract, and the contract sees one that does not."""

from __future__ import annotations

from typing import ClassVar

import pytest

from polycmp.plan import FilesPlan
from polycmp.session.observers import Saving
from polycmp.spec import RunObserver
from polycmp.testing import (
    ObserverContract,
    notimpl,
)


class TestSaving(ObserverContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def make_observer(self):
        return Saving(FilesPlan(save_inputs=str(self.folder / "in.npz"), save_outputs=str(self.folder / "out.npz")))


class Hoarder(RunObserver):
    """Keeps what it is shown, which no observer may."""

    def __init__(self):
        self.kept = []

    def on_step(self, step):
        self.kept.append(step)


class TestOneThatKeepsArrays(ObserverContract):
    expected_failures: ClassVar = {"test_it_keeps_no_arrays": notimpl("it is here to show that the kit sees it")}

    def make_observer(self):
        return Hoarder()
