"""Dimensions of one name are one dimension, and what several sources say of inputs is merged."""

from __future__ import annotations

import numpy as np
import pytest
from toymodels import node, number, write

from polycmp.data.dimensions import merge_inputs, open_dimensions
from polycmp.data.shapes import apply_input_shapes, usual_sizes
from polycmp.errors import UsageError
from polycmp.options.values import dimension_text, parse_dimensions, parse_shape_sets
from polycmp.tensors import TensorEntry, TensorMetadata

TEXT = TensorMetadata().add("ids", "int64", ("batch", "seq")).add("mask", "int64", ("batch", "seq"))
CACHE = (
    TensorMetadata()
    .add("ids", "int64", ("batch", "seq"))
    .add("past", "float32", ("batch", 2, "past_len", 4))
    .add("mask", "int64", ("batch", "past_len + seq"))
)


def shapes(inputs):
    return {name: entry.shape for name, entry in inputs.items()}


def test_the_shape_of_one_input_sets_the_dimensions_of_all():
    assert shapes(apply_input_shapes(TEXT, {"ids": (2, 8)})) == {"ids": (2, 8), "mask": (2, 8)}


def test_a_dimension_is_given_by_its_name():
    assert shapes(apply_input_shapes(TEXT, {}, {"batch": 2})) == {"ids": (2, "seq"), "mask": (2, "seq")}


def test_a_sum_of_dimensions_follows_them():
    made = apply_input_shapes(CACHE, {"past": (2, 2, 5, 4)}, {"seq": 3})
    assert made["mask"].shape == (2, 8)
    assert usual_sizes(apply_input_shapes(CACHE, {}, {"past_len": 5}))["mask"].shape == (1, 13)


@pytest.mark.parametrize(
    ("given", "sizes"),
    [({"ids": (2, 8), "mask": (2, 9)}, {}), ({"ids": (2, 8)}, {"seq": 9}), ({"*": (2, 8)}, {"batch": 1})],
)
def test_two_sizes_of_one_dimension_are_wrong_usage(given, sizes):
    with pytest.raises(UsageError, match="cannot be both") as caught:
        apply_input_shapes(TEXT, given, sizes)
    assert "contradict each other" in caught.value.why
    assert caught.value.hint.startswith("--input-shapes")


def test_an_unknown_dimension_is_wrong_usage_with_a_line_to_type():
    with pytest.raises(UsageError, match="'sequ'") as caught:
        apply_input_shapes(TEXT, {}, {"sequ": 8})
    assert caught.value.hint == "--input-shapes seq=8"
    with pytest.raises(UsageError, match="'seq'") as caught:
        apply_input_shapes(TensorMetadata().add("x", "float32", (-1, 3)), {}, {"seq": 8})
    assert caught.value.hint == "--input-shapes x:[1,3]"


def test_names_that_say_nothing_tie_nothing_together():
    inputs = TensorMetadata().add("x", "float32", (-1, 3, "?", "?"))
    assert apply_input_shapes(inputs, {"x": (1, 3, 48, 192)})["x"].shape == (1, 3, 48, 192)


@pytest.mark.parametrize(
    "text", ["batch=2", "'a:b'=3", "past + seq=4", "a.b/c=1", "'it''s'=9", '"-x"=2', "'a,b'=7", "'a[1]'=7"]
)
def test_a_dimension_is_written_as_it_is_read(text):
    [(name, size)] = parse_dimensions([text]).items()
    assert parse_dimensions([dimension_text(name, size)]) == {name: size}
    assert parse_shape_sets([text]) == ({},)


def test_shapes_and_dimensions_stand_side_by_side():
    texts = ["batch=2", "x:[1,3],seq=8", "a=b:[4]"]
    assert parse_dimensions(texts) == {"batch": 2, "seq": 8}
    assert parse_shape_sets(texts) == ({"x": (1, 3), "a=b": (4,)},)
    with pytest.raises(UsageError, match="two sizes for the dimension 'batch'"):
        parse_dimensions(["batch=2", "batch=4"])


def test_the_most_specific_statement_wins():
    one = TensorMetadata().add("x", "float32", (-1, 3, -1), min_shape=(1, 3, 2), max_shape=(8, 3, 9))
    two = TensorMetadata({"x": TensorEntry(np.dtype(np.float32), ("batch", 3, 7), range=(0.0, 9.0))})
    three = TensorMetadata({"x": TensorEntry(None, None, min_shape=(2, 3, 1), max_shape=(4, 3, 99), range=(2.0, 20.0))})
    merged = merge_inputs([one, two, three])["x"]
    assert (merged.shape, merged.min_shape, merged.max_shape) == (("batch", 3, 7), (2, 3, 2), (4, 3, 9))
    assert (merged.dtype, merged.range) == (np.float32, (2.0, 9.0))


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        (("batch_size", 8), "float32", 1),
        (("N", 8), "float32", 1),
        ((-1, 8), "float32", 1),
        (("unk__12", 8), "float32", 1),
        ((1, "sequence_length"), "int64", 8),
        ((1, 3, "height", 5), "float32", 64),
        ((1, 3, -1, 5), "float32", 64),
        (("tokens", 4), "int64", 8),
        ((1, "n_frames"), "float32", 8),
        (("n_samples", 4), "float32", 8),
        ((8, "N", 4), "float32", 1),
    ],
)
def test_a_dimension_becomes_what_suits_its_name(shape, dtype, size):
    inputs = TensorMetadata().add("x", dtype, shape)
    [found] = open_dimensions(inputs).values()
    assert found.usual == size
    assert size in usual_sizes(inputs)["x"].shape


def test_a_letter_beside_a_batch_is_no_second_batch():
    inputs = TensorMetadata().add("waveforms", "float32", ("batch_size", "N")).add("lengths", "int64", ("batch_size",))
    assert usual_sizes(inputs)["waveforms"].shape == (1, 8)


def test_sizes_stay_within_what_backends_take():
    inputs = TensorMetadata().add("x", "int64", (1, "seq"), min_shape=(1, 2), max_shape=(1, 4))
    assert usual_sizes(inputs)["x"].shape == (1, 2)
    inputs = TensorMetadata().add("x", "int64", (1, "seq"), max_shape=(1, 4), min_shape=(1, 1))
    assert usual_sizes(inputs)["x"].shape == (1, 4)


# --- on the command line


@pytest.fixture
def sums(tmp_path):
    """x [batch,m] + z [batch,m] * 2 -> y."""
    nodes = [node("Mul", "z w", "d"), node("Add", "x d", "y")]
    inputs = {"x": ["float32", ["batch", "m"]], "z": ["float32", ["batch", "m"]]}
    write(tmp_path / "m.toy", nodes, {"w": number(2.0)}, inputs)


BOTH = ("run", "m.toy", "-b", "toy", "-b", "plain")


@pytest.mark.parametrize("words", [("x:[2,5]",), ("batch=2", "m=5"), ("batch=2,m=5",), ("z:[2,5]", "batch=2")])
def test_run_ties_the_inputs_together(polycmp, sums, words):
    done = polycmp(*BOTH, "--input-shapes", *words, "--report", "r.json")
    assert done.status == 0, done.err
    assert {name: item["shape"] for name, item in done.report()["inputs"].items()} == {"x": [2, 5], "z": [2, 5]}


@pytest.mark.parametrize("words", [("x:[2,5]", "z:[3,5]"), ("x:[2,5]", "batch=3"), ("batch=3", "batch=4")])
def test_run_refuses_a_contradiction(polycmp, sums, words):
    done = polycmp(*BOTH, "--input-shapes", *words)
    assert (done.status, "batch" in done.err, "next:" in done.err) == (2, True, True)


def test_a_run_file_remembers_dimensions(polycmp, sums):
    assert polycmp(*BOTH, "--input-shapes", "batch=2", "m=5", "--write-config", "run.toml").status == 0
    done = polycmp("run", "--config", "run.toml", "--report", "r.json")
    assert done.status == 0, done.err
    assert done.report()["inputs"]["z"]["shape"] == [2, 5]


def test_the_result_says_which_sizes_were_taken(polycmp, sums):
    done = polycmp(*BOTH)
    assert (done.status, "inputs: x:[1,8] z:[1,8], the default" in done.words) == (0, True), done.out
