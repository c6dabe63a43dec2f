"""The data loader of Python programs: keywords, indexing, and files as a source."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.comparator import (
    DataLoader,
    StreamingDataLoader,
)
from polycmp.errors import FileError, UsageError
from polycmp.json import save_json
from polycmp.tensors import TensorMetadata

METADATA = TensorMetadata().add("x", "float32", (-1, 2)).add("n", "int64", (3,))


def test_a_data_loader_is_indexed_and_iterated_alike():
    loader = DataLoader(seed=5, iterations=3, input_metadata=METADATA, input_shapes=[{"x": (1, 2)}, {"x": (4, 2)}])
    listed = list(loader)
    assert [feed["x"].shape for feed in listed] == [(1, 2), (4, 2), (1, 2)]
    for index, feed in enumerate(listed):
        np.testing.assert_array_equal(loader[index]["x"], feed["x"])
    with pytest.raises(IndexError):
        loader[3]


def test_metadata_set_later_completes_what_the_user_gave():
    loader = DataLoader(input_metadata=TensorMetadata().add("x", "float16", (5, 2)))
    loader.input_metadata = METADATA
    feed = loader[0]
    assert feed["x"].shape == (5, 2)
    assert feed["x"].dtype == np.float16
    assert feed["n"].shape == (3,)


def test_none_means_the_default_of_a_data_loader():
    given = DataLoader(None, None, METADATA, None, None)
    np.testing.assert_array_equal(given[0]["x"], DataLoader(input_metadata=METADATA)[0]["x"])
    low = DataLoader(input_metadata=METADATA, val_range=(None, 3), data_loader_backend_module="numpy")
    assert 0 <= low[0]["x"].min() <= low[0]["x"].max() <= 3


def test_a_data_loader_without_inputs_says_what_it_needs():
    with pytest.raises(UsageError, match="needs to know the inputs"):
        DataLoader()[0]


def test_saved_inputs_are_a_source_of_data(tmp_path):
    save_json(list(DataLoader(iterations=2, input_metadata=METADATA)), tmp_path / "inputs.json")
    feeds = list(StreamingDataLoader(str(tmp_path / "inputs.json")))
    assert [feed["x"].shape for feed in feeds] == [(1, 2), (1, 2)]
    with pytest.raises(FileError, match="folder"):
        StreamingDataLoader([tmp_path], allow_dirs=False)


def test_a_data_loader_of_python_programs_takes_dimensions():
    text = TensorMetadata().add("ids", "int64", ("batch", "seq")).add("mask", "int64", ("batch", "seq"))
    [feed] = DataLoader(input_metadata=text, dimensions={"seq": 5})
    assert {name: array.shape for name, array in feed.items()} == {"ids": (1, 5), "mask": (1, 5)}
