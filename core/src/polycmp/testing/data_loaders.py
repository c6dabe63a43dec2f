"""The contract of data loaders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import pytest

from polycmp.errors import PolycmpError
from polycmp.tensors import TensorMetadata, check_feed
from polycmp.testing.contract import Contract, needs

DataLoader = Callable[[TensorMetadata], Iterable[dict[str, Any]]]


class DataLoaderContract(Contract):
    """Requirements on every data loader. Write the factory, and `inputs` if it serves only some models."""

    KNOWN_CAPABILITIES: ClassVar[Mapping[str, str]] = {
        "dynamic_shapes": "chooses sizes for unknown dimensions",
        "repeatable": "gives the same data when it is called again",
        "several": "gives more than one feed",
        "refuses": "there are inputs it cannot serve: write `impossible_inputs`",
    }

    def make_data_loader(self) -> DataLoader:
        """Return a new data loader."""
        raise NotImplementedError

    def inputs(self) -> TensorMetadata:
        """Return inputs that it can serve."""
        return TensorMetadata().add("x", "float32", (2, 3)).add("ids", "int64", (4,)).add("mask", "bool", ())

    def impossible_inputs(self) -> TensorMetadata:
        """Return inputs that it cannot serve (capability `refuses`)."""
        raise NotImplementedError

    def test_feeds_fit_the_inputs(self) -> None:
        """Require feeds with an array for each input, of its element type and shape."""
        feeds = list(islice(self.make_data_loader()(self.inputs()), 3))
        assert feeds, "no feed at all"
        for feed in feeds:
            check_feed(feed, self.inputs())

    def test_the_inputs_are_not_changed(self) -> None:
        """Require that the `TensorMetadata` it is given stays as it was: each backend is asked with it."""
        inputs, before = self.inputs(), dict(self.inputs())
        list(islice(self.make_data_loader()(inputs), 2))
        assert dict(inputs) == before

    @needs("several")
    def test_it_gives_several_feeds_that_share_no_memory(self) -> None:
        """Require arrays of its own for each feed: the first is still in use when the second is made."""
        feeds = list(islice(self.make_data_loader()(self.inputs()), 2))
        assert len(feeds) == 2
        for name in self.inputs():
            assert not np.may_share_memory(feeds[0][name], feeds[1][name]), name

    @needs("dynamic_shapes")
    def test_unknown_dimensions_get_a_size(self) -> None:
        """Require sizes above 0 where an input leaves dimensions open, by name or by -1."""
        inputs = TensorMetadata().add("x", "float32", ("batch", 3, -1))
        for feed in islice(self.make_data_loader()(inputs), 2):
            check_feed(feed, inputs)

    @needs("repeatable")
    def test_it_repeats_itself(self) -> None:
        """Require equal numbers from a second data loader: runs in other processes draw their own."""
        first, second = (list(islice(self.make_data_loader()(self.inputs()), 3)) for _ in range(2))
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            for name in one:
                np.testing.assert_array_equal(one[name], other[name], err_msg=name)

    @needs("refuses")
    def test_what_it_cannot_serve_is_an_error_in_words(self) -> None:
        """Require a `PolycmpError` for `impossible_inputs`, before or with the first feed."""
        with pytest.raises(PolycmpError):
            list(islice(self.make_data_loader()(self.impossible_inputs()), 1))
