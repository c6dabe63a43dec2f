"""The contract of loaders."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from polycmp.errors import PolycmpError
from polycmp.loader import Loader, load_script
from polycmp.testing.contract import Contract, needs


class LoaderContract(Contract):
    """Requirements on every loader. Write the factories."""

    KNOWN_CAPABILITIES: ClassVar[Mapping[str, str]] = {
        "broken_source": "can be given a source that cannot be read: write `make_broken`",
        "source": "its repr is code that runs: write `imports` if its own class is not enough",
    }

    def make_loader(self) -> Loader[Any]:
        """Return a new loader."""
        raise NotImplementedError

    def same(self, one: Any, other: Any) -> bool:
        """Return whether two results of the loader are equal."""
        return bool(one == other)

    def make_broken(self) -> Loader[Any]:
        """Return a loader whose source is missing or not of its format (capability `broken_source`)."""
        raise NotImplementedError

    def imports(self) -> str:
        """Return the import statements for the names in the loader's `repr` (capability `source`)."""
        loader_type = type(self.make_loader())
        return f"from {loader_type.__module__} import {loader_type.__name__}"

    def test_it_is_a_loader(self) -> None:
        """Require a class derived from `Loader`, which records the arguments for `repr`."""
        assert isinstance(self.make_loader(), Loader)

    @needs("broken_source")
    def test_construction_reads_nothing(self) -> None:
        """Require that a missing source is no error before the loader is called."""
        self.make_broken()

    def test_every_call_does_the_work_anew(self) -> None:
        """Require equal models from two calls; who calls owns what is returned."""
        loader = self.make_loader()
        assert self.same(loader(), loader())

    def test_repr_names_the_class(self) -> None:
        """Require a `repr` of the form `Class(...)`, from which scripts are written."""
        loader = self.make_loader()
        assert repr(loader).startswith(type(loader).__name__ + "(")

    @needs("source")
    def test_repr_is_the_code_that_makes_it(self, tmp_path: Path) -> None:
        """Require that the `repr`, run after `imports`, makes a loader of an equal model (capability `source`)."""
        loader = self.make_loader()
        script = tmp_path / "made.py"
        script.write_text(f"{self.imports()}\n\nloader = {loader!r}\n", encoding="utf-8")
        again = load_script(str(script), "loader")
        assert repr(again) == repr(loader)
        assert self.same(again(), loader())

    def test_a_copy_does_the_same(self) -> None:
        """Require that `copy.deepcopy` copies the arguments, and no open file or model."""
        loader = self.make_loader()
        again = copy.deepcopy(loader)
        assert repr(again) == repr(loader)
        assert self.same(again(), loader())

    @needs("broken_source")
    def test_a_broken_source_is_an_error_in_words(self) -> None:
        """Require a `PolycmpError` where the source is missing or of another format."""
        loader = self.make_broken()
        with pytest.raises(PolycmpError):
            loader()
