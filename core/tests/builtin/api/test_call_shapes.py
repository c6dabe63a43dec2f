"""Call shapes that programs for other tools use: keywords, unpacking, indexing, and what handles are read from."""

from __future__ import annotations

import inspect
import io
import logging

import numpy as np
import pytest

from polycmp import func
from polycmp.builtin.api.accuracy import AccuracyResult
from polycmp.comparator import (
    Comparator,
    CompareFunc,
    CosineSimilarityCompareFunc,
    DataLoader,
    IndicesCompareFunc,
    IterationResult,
    L2CompareFunc,
    PsnrCompareFunc,
    RunResults,
    SimpleCompareFunc,
    SnrCompareFunc,
    StreamingDataLoader,
    TopKPostprocessFunc,
)
from polycmp.errors import FileError, InvalidValueError, UsageError
from polycmp.json import from_json, load_json, save_json, to_json
from polycmp.loader import Loader, keyword_aliases
from polycmp.logger import G_LOGGER, LogMode
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata

METADATA = TensorMetadata().add("x", "float32", (-1, 2)).add("n", "int64", (3,))


class Half(Runner):
    """Halves its input."""

    def get_input_metadata_impl(self) -> TensorMetadata:
        return TensorMetadata().add("x", "float32", (-1, 2))

    def infer_impl(self, feed_dict):
        return {"y": np.asarray(feed_dict["x"]) / 2}


# metadata and data loaders


def test_entries_of_metadata_unpack_into_type_and_shape():
    assert [(name, dtype, shape) for name, (dtype, shape) in METADATA.items()] == [
        ("x", np.dtype("float32"), (-1, 2)),
        ("n", np.dtype("int64"), (3,)),
    ]


def test_metadata_takes_the_tensors_of_another():
    merged = TensorMetadata().add("x", "int8", (1,)).update(METADATA)
    assert list(merged) == ["x", "n"]
    assert merged["x"].dtype == np.float32


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


# compare functions


def iterations(value: float) -> tuple[IterationResult, IterationResult]:
    first = np.linspace(1, 2, 2000, dtype=np.float32)
    second = first.copy()
    second[1000] += value
    return IterationResult({"a": first, "b": first}), IterationResult({"a": second, "b": first})


@pytest.mark.parametrize(
    ("strict", "lenient"),
    [
        (SimpleCompareFunc(atol=1e-3, rtol=0), SimpleCompareFunc(True, 0, 2.0)),
        (L2CompareFunc(1e-3), L2CompareFunc(l2_threshold=2.0)),
        (CosineSimilarityCompareFunc(0.99999), CosineSimilarityCompareFunc(cosine_similarity_threshold=0.5)),
        (PsnrCompareFunc(60), PsnrCompareFunc(psnr_threshold=10)),
        (SnrCompareFunc(60), SnrCompareFunc(snr_threshold=10)),
    ],
    ids=["simple", "l2", "cosine", "psnr", "snr"],
)
def test_the_class_names_of_the_field_judge_two_iterations(strict, lenient):
    found = strict(*iterations(1.0))
    assert {name: bool(verdict) for name, verdict in found.items()} == {"a": False, "b": True}
    assert all(lenient(*iterations(1.0)).values())


def test_indices_and_top_k_have_names_of_their_own():
    ranked = TopKPostprocessFunc(2)({"y": np.array([[1.0, 3.0, 2.0]])})
    np.testing.assert_array_equal(ranked["y"], [[1, 2]])
    assert not IndicesCompareFunc(0)(ranked, {"y": np.array([[2, 1]])})["y"]


def test_shapes_are_checked_unless_the_function_says_otherwise():
    flat, square = np.arange(4.0), np.arange(4.0).reshape(2, 2)
    assert not CompareFunc.simple()(flat, square)
    assert CompareFunc.simple(check_shapes=False)(flat, square)
    assert not CompareFunc.simple(check_shapes=False)(flat, square + 1)
    assert not CompareFunc.simple(check_shapes=False)(flat, np.arange(3.0))
    runs = RunResults([("a", [IterationResult({"y": flat})]), ("b", [IterationResult({"y": square})])])
    assert not Comparator.compare_accuracy(runs)
    assert Comparator.compare_accuracy(runs, compare_func=SimpleCompareFunc(check_shapes=False))


def test_a_function_that_fails_fast_stops_at_the_first_difference():
    left, right = {"a": np.zeros(2), "b": np.zeros(2)}, {"a": np.ones(2), "b": np.zeros(2)}
    assert list(CompareFunc.simple(fail_fast=True)(left, right)) == ["a"]
    assert list(CompareFunc.simple()(left, right)) == ["a", "b"]


@pytest.mark.parametrize("keyword", ["find_output_func", "save_pictures"])
def test_what_a_compare_function_cannot_do_is_refused(keyword):
    with pytest.raises(InvalidValueError, match=keyword):
        CompareFunc.simple(**{keyword: "x"})
    assert CompareFunc.simple(**{keyword: None})(np.zeros(1), np.zeros(1))


def test_a_misspelt_keyword_is_refused_even_if_it_asks_for_nothing():
    with pytest.raises(TypeError, match="a_tol"):
        CompareFunc.simple(a_tol=0)


# the comparator


def two_runs(*errors: float) -> RunResults:
    expected = [IterationResult({"y": np.ones(4)}) for _ in errors]
    made = [IterationResult({"y": np.ones(4) + error}) for error in errors]
    return RunResults([("candidate", made), ("reference", expected)])


def test_the_mean_over_iterations_is_judged():
    function = CompareFunc.simple("max", atol=1e-3, rtol=0)
    results = two_runs(0.0, 1.6e-3)
    assert not Comparator.compare_accuracy(results, compare_func=function)
    averaged = Comparator.compare_accuracy(results, compare_func=function, check_average=True)
    assert averaged
    assert averaged.stats() == (1, 0, 1)
    assert averaged.output_names() == ["y"]
    assert isinstance(averaged, AccuracyResult)
    assert not AccuracyResult()  # where nothing was compared nothing agreed
    assert not Comparator.compare_accuracy(two_runs(0.0, 2.6e-3), compare_func=function, check_average=True)


def test_the_mean_of_an_error_over_iterations_is_not_rounded_to_nothing():
    made = [IterationResult({"y": np.array([error])}) for error in (5e-324, 0.0)]
    results = RunResults([("candidate", made), ("reference", [IterationResult({"y": np.zeros(1)})] * 2)])
    function = CompareFunc.simple("max", atol=0, rtol=0)
    assert not Comparator.compare_accuracy(results, compare_func=function, check_average=True)


@pytest.mark.parametrize("function", [None, CompareFunc.indices(), lambda a, b, *, output: True])
def test_a_mean_that_does_not_exist_is_refused(function):
    with pytest.raises(InvalidValueError, match="check_average"):
        Comparator.compare_accuracy(two_runs(0.0), compare_func=function, check_average=True)


def test_the_default_pairs_compare_every_run_with_the_last():
    runs = RunResults((name, [IterationResult({"y": np.zeros(1)})]) for name in "abc")
    assert Comparator.default_comparisons(runs) == [(0, 2), (1, 2)]


def test_inputs_are_saved_as_bare_bytes(tmp_path):
    feed = {"x": np.array([[1.0, 2.0]], np.float32)}
    Comparator.run([Half("half")], [feed], save_input_blob_path=str(tmp_path))
    (written,) = tmp_path.rglob("*.bin")
    assert np.frombuffer(written.read_bytes(), np.float32).tolist() == [1.0, 2.0]


# results and JSON


def test_results_are_read_from_the_handle_just_written():
    results = two_runs(0.5)
    for handle in (io.StringIO(), io.BytesIO()):
        results.save(handle)
        assert RunResults.load(handle) == results
        assert load_json(handle) == results


def test_results_turn_into_json_text_and_back():
    results = two_runs(0.5)
    assert RunResults.from_json(results.to_json()) == results
    assert from_json(to_json({"runs": results, "n": [1, None]}))["runs"] == results
    with pytest.raises(FileError, match="no run results"):
        RunResults.from_json("[]")


def test_results_are_streamed_an_iteration_at_a_time(tmp_path):
    results = two_runs(0.5, 0.25)
    results.save(tmp_path / "runs.json")
    pieces = list(RunResults.load_streaming([tmp_path / "runs.json", tmp_path / "runs.json"]))
    assert [len(piece["candidate"]) for piece in pieces] == [1, 1, 1, 1]
    assert RunResults.concat(pieces[:2]) == results


def test_results_are_extended_with_pairs():
    results = RunResults()
    results.extend(two_runs(0.5).items())
    assert list(results.keys()) == ["candidate", "reference"]


# functions that extend loaders


def add(a: int, b: int) -> int:
    return a + b


def test_extending_passes_on_the_arguments_of_the_call():
    @func.extend(add)
    def check(a, b, made):
        assert made == a + b
        return made * 10

    assert check(1, 2) == 30
    assert check(1, b=2) == 30


def test_extending_what_returns_nothing_calls_without_arguments():
    calls = []

    @func.extend(lambda: None)
    def then():
        calls.append(1)

    assert then() is None
    assert calls == [1]


def test_a_wrong_number_of_parameters_is_told():
    @func.extend(lambda: (1, 2))
    def wants_three(a, b, c):
        return a

    with pytest.raises(InvalidValueError, match=r"wants_three\(\) has 3 parameters, but .* returns 2"):
        wants_three()


def test_any_number_of_parameters_is_refused_when_the_function_is_defined():
    with pytest.raises(InvalidValueError, match="any number of arguments"):

        @func.extend(add)
        def everything(*args):
            return args


# keywords of other tools


@keyword_aliases("copy", weights="model")
class Named(Loader[str]):
    def __init__(self, model: str, times: int = 1) -> None:
        self.model = model
        self.times = times

    def call_impl(self) -> str:
        return self.model * self.times


def test_a_class_takes_keywords_by_other_names():
    assert Named(weights="a", times=2, copy=True)() == "aa"
    assert Named("a")() == "a"
    assert repr(Named(weights="a")) == "Named(weights='a')"
    with pytest.raises(TypeError, match="both"):
        Named(model="a", weights="a")
    assert list(inspect.signature(Named).parameters) == ["model", "times", "weights", "copy"]


# the logger


@pytest.fixture
def logger():
    names = ("polycmp", "polycmp.onnxrt")
    before = {name: logging.getLogger(name).level for name in names}
    handlers = list(logging.getLogger("polycmp").handlers)
    yield G_LOGGER
    G_LOGGER.log_file = None
    G_LOGGER.module_severity = logging.WARNING
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)
    logging.getLogger("polycmp").handlers[:] = handlers


def test_severities_are_set_by_module(logger):
    logger.module_severity = {"": logger.ERROR, "onnxrt": logger.VERBOSE}
    assert logger.severity == logger.ERROR
    assert logging.getLogger("polycmp.onnxrt").isEnabledFor(logging.DEBUG)
    assert logger.module_severity == {"onnxrt": logger.VERBOSE, "": logger.ERROR}
    with logger.verbosity({"": logger.INFO, "onnxrt": logger.CRITICAL}):
        assert not logging.getLogger("polycmp.onnxrt").isEnabledFor(logging.ERROR)
        assert logger.severity == logger.INFO
    assert logging.getLogger("polycmp.onnxrt").isEnabledFor(logging.DEBUG)
    logger.module_severity = logger.WARNING
    assert not logging.getLogger("polycmp.onnxrt").isEnabledFor(logging.INFO)


def test_messages_go_to_the_log_file(logger, tmp_path):
    logger.log_file = str(tmp_path / "a.log")
    logger.module_severity = logger.INFO
    logger.info("to the file")
    assert logger.log_file == str(tmp_path / "a.log")
    logger.log_file = None
    logger.info("not any more")
    assert (tmp_path / "a.log").read_text() == "[I] to the file\n"


def test_a_message_is_shown_once_where_that_is_asked_for(logger, tmp_path):
    logger.log_file = str(tmp_path / "a.log")
    logger.module_severity = logger.INFO
    for _ in range(2):
        logger.warning("once: a message of this test alone", mode=LogMode.ONCE)
        logger.warning("each")
    text = (tmp_path / "a.log").read_text()
    assert (text.count("once"), text.count("each")) == (1, 2)


def test_callbacks_see_the_severity(logger):
    seen = []
    logger.register_callback(lambda severity: seen.append(severity[""]))
    logger.module_severity = logger.ERROR
    assert seen[-1] == logger.ERROR


def test_an_unknown_attribute_of_the_logger_is_an_error(logger):
    with pytest.raises(AttributeError):
        logger.module_severities = 1


def test_a_data_loader_of_python_programs_takes_dimensions():
    text = TensorMetadata().add("ids", "int64", ("batch", "seq")).add("mask", "int64", ("batch", "seq"))
    [feed] = DataLoader(input_metadata=text, dimensions={"seq": 5})
    assert {name: array.shape for name, array in feed.items()} == {"ids": (1, 5), "mask": (1, 5)}
