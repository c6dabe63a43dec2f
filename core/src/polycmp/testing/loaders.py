"""The contract of loaders."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from polycmp.errors import PolycmpError
from polycmp.loader import Loader
from polycmp.testing.contract import Contract, needs


class LoaderContract(Contract):
    """What every loader must do. Write the factories."""

    KNOWN_CAPABILITIES: ClassVar[Mapping[str, str]] = {
        "broken_source": "can be given a source that cannot be read: write `make_broken`",
        "source": "its repr is code that runs: write `namespace`",
        "pickle": "goes to a worker process",
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

    def namespace(self) -> dict[str, Any]:
        """Return the names that the loader's `repr` uses (capability `source`)."""
        return {}

    def test_it_is_a_loader(self) -> None:
        assert isinstance(self.make_loader(), Loader)

    def test_construction_reads_nothing(self) -> None:
        if "broken_source" not in self.capabilities:
            pytest.skip("capability not declared: broken_source")
        self.make_broken()

    def test_every_call_does_the_work_anew(self) -> None:
        loader = self.make_loader()
        assert self.same(loader(), loader())

    def test_repr_names_the_class(self) -> None:
        loader = self.make_loader()
        assert repr(loader).startswith(type(loader).__name__ + "(")

    @needs("source")
    def test_repr_is_the_code_that_makes_it(self) -> None:
        loader = self.make_loader()
        # The text comes from the loader under test, in the author's own test run.
        again = eval(repr(loader), {type(loader).__name__: type(loader), **self.namespace()})  # noqa: S307
        assert repr(again) == repr(loader)
        assert self.same(again(), loader())

    @needs("pickle")
    def test_it_goes_to_another_process(self) -> None:
        loader = self.make_loader()
        again = pickle.loads(pickle.dumps(loader))  # noqa: S301  made one line above
        assert repr(again) == repr(loader)
        assert self.same(again(), loader())

    @needs("broken_source")
    def test_a_broken_source_is_an_error_in_words(self) -> None:
        loader = self.make_broken()
        with pytest.raises(PolycmpError):
            loader()
