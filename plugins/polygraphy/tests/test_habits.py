"""What programs rely on in Polygraphy, as its own tests show it, holds under its names.

The facts are those that Polygraphy's tests of 0.49 assert; the page on coming from Polygraphy says which of them are
refused, and why.
"""

from __future__ import annotations

import io
import logging
import sys
import types

import numpy as np
import pytest
from tutorial_folders import identity_model

from polycmp_polygraphy import constants, func, json, mod, util
from polycmp_polygraphy.backend.base import BaseLoader, BaseRunner
from polycmp_polygraphy.backend.onnx import extract_subgraph, gs_from_onnx
from polycmp_polygraphy.backend.onnx import util as onnx_util
from polycmp_polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polycmp_polygraphy.common import TensorMetadata
from polycmp_polygraphy.common.interface import TypedDict, TypedList
from polycmp_polygraphy.common.struct import BoundedShape
from polycmp_polygraphy.comparator import (
    Comparator,
    CompareFunc,
    DataLoader,
    IterationResult,
    PostprocessFunc,
    RunResults,
)
from polycmp_polygraphy.comparator.data_loader import DataLoaderCache
from polycmp_polygraphy.comparator.struct import LazyArray
from polycmp_polygraphy.datatype import DataType
from polycmp_polygraphy.exception import PolygraphyException
from polycmp_polygraphy.logger import G_LOGGER
from polycmp_polygraphy.logger.logger import Logger, SeverityTrie


def result(**outputs):
    return IterationResult(outputs={name: np.asarray(array) for name, array in outputs.items()})


def identity():
    return identity_model("x", [1, 1, 2, 2], "y").SerializeToString()


@pytest.mark.parametrize(
    ("made", "expected", "dtype", "largest_rel"),
    [
        ([0], [1], np.uint8, 1.0),
        ([1], [0], np.uint8, np.inf),
        ([0], [1], np.uint32, 1.0),
        ([25], [30], np.int8, 5 / 30),
        ([25], [30], np.float16, np.float32(5) / np.float32(30)),
    ],
)
def test_a_verdict_has_the_figures_that_programs_read(made, expected, dtype, largest_rel):
    verdict = CompareFunc.simple()(result(y=np.array(made, dtype)), result(y=np.array(expected, dtype)))["y"]
    error = abs(made[0] - expected[0])
    assert [verdict.max_absdiff, verdict.mean_absdiff, verdict.median_absdiff] == [error] * 3
    assert [verdict.max_reldiff, verdict.mean_reldiff, verdict.median_reldiff] == pytest.approx([largest_rel] * 3)
    assert verdict.quantile_absdiff is None
    with pytest.raises(AttributeError):
        _ = verdict.no_such_figure


@pytest.mark.parametrize("made", [[0.0, 1.0], [0.0, 2.0]])
def test_a_verdict_equals_a_truth_value(made):
    same = made == [0.0, 1.0]
    for function in (CompareFunc.simple(), CompareFunc.l2(), CompareFunc.cosine_similarity(), CompareFunc.psnr()):
        verdict = function(result(y=np.float32(made)), result(y=np.float32([0, 1])))["y"]
        if function == CompareFunc.cosine_similarity():
            continue  # which knows no length
        assert (verdict == True, verdict == False, verdict != True) == (same, not same, not same)  # noqa: E712
        assert bool(verdict) is same
    assert CompareFunc.l2()(result(y=[0.0, 2.0]), result(y=[0.0, 1.0]))["y"].l2_norm == 1.0


def test_verdicts_of_a_comparison_read_likewise():
    results = RunResults()
    results.add([{"y": np.float32([1, 2])}], runner_name="a")
    results.add([{"y": np.float32([1, 4])}], runner_name="b")
    (verdict,) = Comparator.compare_accuracy(results)["a", "b"][0].values()
    assert (verdict == False, bool(verdict), verdict.max_absdiff) == (True, False, 2.0)  # noqa: E712


@pytest.mark.parametrize(
    ("made", "expected", "tolerance", "passes"),
    [
        ([0, 1, 2, 3], [0, 1, 2, 3], {"": 0}, True),
        ([1, 0, 2, 3], [0, 1, 2, 3], 0, False),
        ([1, 0, 2, 3], [0, 1, 2, 3], 1, True),
        ([1, 0, 2, 7], [0, 1, 2, 3], 0, False),
        ([1, 0, 2, 7], [0, 1, 2, 3], 1, True),
        ([[2, 3, 4], [5, 6, 9]], [[3, 2, 4], [5, 9, 6]], 1, True),
        ([0, 1, 2, 3, 4, 5, 6], [0, 3, 2, 1, 4, 5, 6], 2, True),
    ],
)
def test_indices_are_judged_by_places(made, expected, tolerance, passes):
    judged = CompareFunc.indices(index_tolerance=tolerance)(result(y=np.int32(made)), result(y=np.int32(expected)))
    assert judged["y"] == passes


def test_an_unknown_statistic_is_refused():
    with pytest.raises(PolygraphyException):
        CompareFunc.simple(check_error_stat="invalid-stat")(result(y=[1.0]), result(y=[1.0]))


@pytest.mark.parametrize("statistic", ["max", "mean", "median", "elemwise"])
def test_either_tolerance_is_enough(statistic):
    made, expected = result(y=np.float32([1, 2])), result(y=np.float32([1.25, 2.5]))
    assert not CompareFunc.simple(check_error_stat=statistic)(made, expected)["y"]
    assert CompareFunc.simple(check_error_stat=statistic, rtol=0.25)(made, expected)["y"]
    assert CompareFunc.simple(check_error_stat=statistic, atol=0.5)(made, expected)["y"]


class TestResults:
    def test_runs_are_found_by_name_and_place(self):
        results = RunResults()
        results.append(("a", [result(y=[1.0])] * 2))
        results.append(("b", [result(y=[1.0])]))
        assert results[0][1] == results["a"]
        assert list(results.keys()) == ["a", "b"]
        with pytest.raises(IndexError):
            results[2]
        with pytest.raises(PolygraphyException):
            results["c"]
        results["c"] = [IterationResult(outputs=None, runner_name="new")]
        assert (len(results), results["c"][0].runner_name) == (3, "new")
        assert not results["c"][0]
        results.update({"b": [result(y=[2.0])]})
        assert float(results["b"][0]["y"][0]) == 2.0

    def test_a_run_without_a_name_gets_one(self):
        results = RunResults()
        results.add([{"y": np.zeros(2)}])
        assert isinstance(results[results[0][0]][0], IterationResult)

    def test_a_lazy_array_is_loaded(self):
        array = np.ones(3)
        lazy = LazyArray(array)
        assert np.array_equal(lazy.load(), array)
        assert np.array_equal(IterationResult({"y": lazy})["y"], array)

    def test_not_a_number_is_found(self):
        results = RunResults()
        results["a"] = [IterationResult(outputs={"x": np.array(np.nan)})]
        assert not Comparator.validate(results)
        results["a"] = [IterationResult(outputs={"x": np.array(np.inf)})]
        assert not Comparator.validate(results, check_inf=True)


class TestInputs:
    def test_a_shape_given_before_overrides_an_open_one(self):
        loader = DataLoader(input_metadata=TensorMetadata().add("X", dtype=None, shape=(1, 1, 4, 5)))
        loader.input_metadata = TensorMetadata().add("X", dtype=np.float32, shape=("a", "b", "c", "d"))
        assert loader[0]["X"].shape == (1, 1, 4, 5)

    def test_numbers_given_for_a_shape_tensor_are_its_content(self):
        loader = DataLoader(input_metadata=TensorMetadata().add("X", dtype=np.int32, shape=(1, 2, 3)))
        loader.input_metadata = TensorMetadata().add("X", dtype=np.int32, shape=(3,))
        assert loader[0]["X"].tolist() == [1, 2, 3]

    @pytest.mark.parametrize("dtype", [np.int32, bool, np.float32])
    @pytest.mark.parametrize("value", [0, 1])
    def test_a_range_of_one_value_gives_it(self, dtype, value):
        loader = DataLoader(input_metadata=TensorMetadata().add("X", dtype, (4, 4)), val_range=(value, value))
        assert np.all(loader[0]["X"] == value)

    @pytest.mark.parametrize("bounds", [(np.inf, np.inf), (-np.inf, np.inf), (0, np.inf), (-np.inf, 0)])
    def test_a_range_may_have_no_end(self, bounds):
        loader = DataLoader(input_metadata=TensorMetadata().add("X", np.float32, (4, 4)), val_range=bounds)
        made = loader[0]["X"]
        assert np.all((made >= bounds[0]) & (made <= bounds[1]))

    def test_the_cache_gives_what_a_model_wants_of_feeds_made_once(self):
        cache = DataLoaderCache(iter([{"X": np.ones((1, 1), np.float32), "extra": np.zeros(2)}]))
        cache.set_input_metadata(TensorMetadata().add("X", np.float32, (1, 1)))
        assert list(cache[0]) == ["X"]
        cache.set_input_metadata(TensorMetadata().add("X", np.float64, (1, 1)))
        assert cache[0]["X"].dtype == np.float64
        with pytest.raises(PolygraphyException):
            cache.set_input_metadata(TensorMetadata().add("Z", np.float64, (1, 1)))
            cache[0]

    def test_metadata_unpack_and_bounds_are_kept(self):
        metadata = TensorMetadata().add("X", dtype=np.float32, shape=(64, 64))
        dtype, shape = metadata["X"]
        assert (dtype, tuple(shape)) == (np.float32, (64, 64))
        assert repr(BoundedShape((1, 2), min=(1, 1))) == "BoundedShape([1, 2], min=(1, 1), max=None)"


class TestRunners:
    @pytest.mark.parametrize("feed", [{}, {"z": 0}, {"x": 0, "z": 0}])
    def test_other_inputs_are_refused(self, feed):
        with OnnxrtRunner(SessionFromOnnx(identity())) as runner, pytest.raises(PolygraphyException):
            runner.infer({name: np.ones((1, 1, 2, 2), np.float32) for name in feed})

    @pytest.mark.parametrize(("shape", "dtype"), [((1, 1, 2, 2), np.int32), ((1, 1, 3, 2), np.float32)])
    def test_other_types_and_shapes_are_refused(self, shape, dtype):
        with OnnxrtRunner(SessionFromOnnx(identity())) as runner, pytest.raises(PolygraphyException):
            runner.infer({"x": np.ones(shape, dtype)})

    def test_a_runner_that_is_not_active_is_refused(self):
        runner = OnnxrtRunner(None, name="runner")
        assert (runner.name, runner.is_active) == ("runner", False)
        with pytest.raises(PolygraphyException):
            runner.infer({})

    def test_a_runner_of_ones_own_may_leave_methods_out(self):
        class Own(BaseRunner):
            pass

        with pytest.raises((NotImplementedError, PolygraphyException)):
            Own().activate().infer({})

    def test_top_k_takes_an_axis(self):
        results = Comparator.run([OnnxrtRunner(SessionFromOnnx(identity()))])
        top = Comparator.postprocess(results, postprocess_func=PostprocessFunc.top_k(k=(1, -1)))
        assert top[0][1][0]["y"].shape == (1, 1, 2, 1)


class TestLogger:
    @pytest.mark.parametrize("severity", G_LOGGER.SEVERITY_LETTER_MAPPING)
    def test_every_severity_can_be_set(self, severity):
        with G_LOGGER.verbosity(severity):
            pass

    @pytest.mark.parametrize(
        ("path", "severity"),
        [
            ("backend", 30),
            ("backend/onnx", 28),
            ("backend/trt/runner.py", 20),
            ("backend/trt/loader.py", 50),
            ("/backend", 30),
            ("backend/////trt", 20),
        ],
    )
    def test_the_longest_beginning_of_a_path_decides(self, path, severity):
        trie = SeverityTrie({"": 30, "backend/trt": 20, "backend/trt/loader.py": 50, "backend///onnx": 28})
        assert trie.get(path) == severity

    def test_a_logger_of_ones_own_writes_to_its_file_alone(self, tmp_path):
        logging.getLogger("polycmp").setLevel(logging.NOTSET)  # whatever a test before has left
        logger = Logger(severity={"backend/trt": 10})
        assert (logger.module_severity.get(), logger.module_severity.get("backend/trt")) == (Logger.INFO, 10)
        logger.log_file = str(tmp_path / "log")
        logger.info("Hello")
        logger.verbose("not this")
        assert logger.log_file == str(tmp_path / "log")
        assert (tmp_path / "log").read_text() == "[I] Hello\n"
        assert logging.getLogger("polycmp").level == logging.NOTSET

    def test_callbacks_are_told_at_once_and_at_each_change(self):
        told, logger = [], Logger()
        logger.register_callback(lambda severities: told.append(severities.get()))
        logger.module_severity = {"": Logger.WARNING}
        with logger.verbosity():
            assert told == [Logger.INFO, Logger.WARNING, Logger.CRITICAL]
        assert told[3:] == [Logger.WARNING]


class TestJson:
    def test_classes_of_ones_own_are_written_and_read(self, tmp_path):
        @json.add_json_methods("dummy")
        class Dummy:
            def __init__(self, x):
                self.x = x

        @json.Encoder.register(Dummy)
        def encode(dummy):
            return {"x": dummy.x}

        @json.Decoder.register(Dummy, alias="OldDummy")
        def decode(dct):
            assert "polygraphy_class" not in dct
            return Dummy(dct["x"])

        again = json.from_json(json.to_json([Dummy(np.arange(3))]))[0]
        assert (type(again), again.x.tolist()) == (Dummy, [0, 1, 2])
        assert json.from_json('{"x": 2, "polygraphy_class": "OldDummy"}').x == 2
        Dummy(5).save(str(tmp_path / "dummy.json"))
        assert Dummy.load(str(tmp_path / "dummy.json")).x == 5
        assert Dummy.from_json(Dummy(6).to_json()).x == 6
        with pytest.raises(PolygraphyException):
            Dummy.from_json("[1]")

    def test_an_unknown_class_and_a_missing_file_are_errors_of_ours(self, tmp_path):
        with pytest.raises(PolygraphyException):
            json.from_json('{"polygraphy_class": "Nobody"}')
        with pytest.raises(FileNotFoundError):
            json.load_json(str(tmp_path / "absent.json"))


class TestHelpers:
    def test_collections_refuse_other_types(self):
        ints = TypedDict(lambda: int, lambda: float)({1: 0.5})
        ints[2] = 1.5
        ints.update({3: 2.5})
        assert (list(ints.keys()), ints[3], 2 in ints, len(ints)) == ([1, 2, 3], 2.5, True, 3)
        for key, value in (("a", 1.0), (1, "a")):
            with pytest.raises(PolygraphyException):
                ints[key] = value
        with pytest.raises(PolygraphyException):
            ints.update({4: "a"})
        numbers = TypedList(lambda: int)([1])
        numbers.append(2)
        numbers += [3]
        numbers.extend([4])
        assert (list(numbers), numbers[1], numbers == TypedList(lambda: int)([1, 2, 3, 4])) == ([1, 2, 3, 4], 2, True)
        for change in (lambda: numbers.append("a"), lambda: numbers.extend(["a"]), lambda: numbers.__setitem__(0, "a")):
            with pytest.raises(PolygraphyException):
                change()

    def test_shapes(self):
        assert util.is_valid_shape_override((2, 3), ("n", 3))
        assert not util.is_valid_shape_override((2, 4), ("n", 3))
        assert util.is_empty_shape((2, 0))
        array = np.arange(6).reshape(2, 3)
        assert np.array_equal(util.try_match_shape(array, (3, 2)), array.T)
        assert util.try_match_shape(array, (6, 1)).shape == (6, 1)
        assert util.try_match_shape(array, (1, 6)).shape == (1, 6)
        assert util.try_match_shape(array, (5,)).shape == (2, 3)
        assert util.try_match_shape(array, (None, 1, 3)).shape == (2, 1, 3)
        image = np.arange(12).reshape(1, 3, 2, 2)
        assert np.array_equal(util.try_match_shape(image, (None, 2, 2, 3)), image.transpose(0, 2, 3, 1))

    def test_names(self):
        assert util.find_str_in_iterable("a", ["b", "a"]) == "a"
        assert util.find_str_in_iterable("Abc", ["x", "zabcz"]) == "zabcz"
        assert util.find_str_in_iterable("q", ["x", "y"], index=1) == "y"
        assert util.find_str_in_iterable("q", ["x", "y"]) is None
        assert util.match_keys(["a*", "q"], ["ab", "c"]) == ({"ab": "a*"}, ["q"])
        with pytest.raises(PolygraphyException):
            util.check_sequence_contains([0, 1], [1, 2])
        said = []
        assert util.check_sequence_contains([0, 1], [1, 2], log_func=said.append) == ({2}, {0})
        assert len(said) == 2

    @pytest.mark.parametrize(
        ("made", "code"),
        [
            (util.make_repr("Example", 1, x=None), ("Example(1)", False, True)),
            (util.make_repr("Example", None, x=2), ("Example(None, x=2)", True, False)),
            (util.make_repr("Example", float("nan")), ("Example(float('nan'))", False, True)),
            (util.make_repr("Example", x=[float("inf"), (1,)]), ("Example(x=[float('inf'), (1,)])", True, False)),
            (util.make_repr("Example", {"a": -float("inf")}), ("Example({'a': float('-inf')})", False, True)),
        ],
    )
    def test_code_that_makes_an_object(self, made, code):
        assert made == code

    def test_files(self, tmp_path):
        file = io.BytesIO(b"abc")
        file.seek(2)
        assert (util.load_file(file), file.tell()) == (b"abc", 2)
        assert util.save_file("text", str(tmp_path / "new" / "file"), mode="w") == str(tmp_path / "new" / "file")
        assert util.load_file(str(tmp_path / "new" / "file"), mode="r") == "text"
        assert util.sanitize_filename("a/b") == "a_b"
        assert util.get_file_size(str(tmp_path / "absent")) == 0

    def test_attributes(self):
        class Group:
            value, other = 1, 2

        group = Group()
        with util.TempAttrChange(group, {"value": 5, "other": None}):
            assert (group.value, group.other) == (5, 2)
        assert group.value == 1
        assert util.getattr_nested(np, "linalg.norm") is np.linalg.norm
        assert util.try_getattr(group, "absent", 3) == 3

    def test_loaders_and_versions(self):
        @func.extend(lambda: 1)
        def two(value):
            return value + 1

        assert two() == 2
        assert mod.version("1.2.3") < mod.version("1.10")
        assert mod.version("2.13.0+cpu") == mod.version("2.13.0")
        assert mod.version("0.1b1") > mod.version("0.1b0")
        assert mod.version("1.13.0a0+nv") >= mod.version("1.13")
        with pytest.raises(PolygraphyException):
            mod.import_from_script("absent.py", "name")
        assert (constants.DEFAULT_SHAPE_VALUE, constants.TAB) == (1, "    ")

    def test_a_script_leaves_the_path_as_it_was(self, tmp_path):
        (tmp_path / "own_loader.py").write_text("def load():\n    return 3\n", encoding="utf-8")
        before = list(sys.path)
        assert mod.import_from_script(str(tmp_path / "own_loader.py"), "load")() == 3
        assert sys.path == before

    def test_a_module_of_another_version_is_warned_of_once(self, caplog):
        for name, told in (("numpy>=1.20", 0), ("numpy>=99", 1), ("numpy", 0)):
            caplog.clear()
            module = mod.lazy_import(name)
            assert (module.ones(2).sum(), module.zeros(2).sum()) == (2, 0)
            assert len(caplog.messages) == told


class TestFunctionsOfEarlierVersions:
    @pytest.mark.parametrize(
        ("make", "passes", "fails", "figures"),
        [
            (
                CompareFunc.distance_metrics,
                {"l2_tolerance": 1},
                {"l2_tolerance": 1e-5},
                ("l2_norm", "cosine_similarity"),
            ),
            (
                CompareFunc.distance_metrics,
                {"l2_tolerance": 1},
                {"l2_tolerance": 1, "cosine_similarity_threshold": 1},
                (),
            ),
            (CompareFunc.quality_metrics, {"psnr_tolerance": 40.0}, {"psnr_tolerance": 300.0}, ("psnr", "snr")),
            (CompareFunc.quality_metrics, {}, {"snr_tolerance": 300.0}, ()),
        ],
    )
    def test_both_have_to_pass(self, make, passes, fails, figures):
        ours, theirs = result(y=np.arange(6.0) + 1e-3), result(y=np.arange(6.0))
        assert make(**passes)(ours, theirs)["y"]
        verdict = make(**fails)(ours, theirs)["y"]
        assert not verdict
        assert all(np.isfinite(getattr(verdict, name)) for name in figures)
        runs = RunResults([("new", [ours]), ("old", [theirs])])
        assert bool(Comparator.compare_accuracy(runs, compare_func=make(**passes)))
        assert not bool(Comparator.compare_accuracy(runs, compare_func=make(**fails)))


class TestExport:
    def exported(self, name, body, **given):
        """Return a module in which a class of that body is exported."""
        module = types.ModuleType(name)
        sys.modules[name] = module
        body = {"__module__": name, **body}
        mod.export(**given)(type("OwnLoader", (BaseLoader,), body))
        return module

    def test_the_function_takes_the_parameters_of_both_methods(self):
        def make(self, w: int, x: int = 1) -> None:
            self.w, self.x = w, x

        def call(self, y: int, *more: int, z: int = 3) -> object:
            return (self.w, self.x, y, *more, z)

        module = self.exported("both_methods", {"__init__": make, "call_impl": call}, funcify=True)
        assert module.__all__ == ["OwnLoader", "own_loader"]
        assert module.own_loader(-1, -2) == (-1, 1, -2, 3)
        assert module.own_loader(0, 1, 2) == (0, 2, 1, 3)
        assert module.own_loader(y=1, w=0, z=7) == (0, 1, 1, 7)
        assert "OwnLoader" in module.own_loader.__doc__

    def test_what_cannot_be_a_function_is_refused(self):
        def same(self, x):
            return x

        with pytest.raises(AssertionError, match="same argument names"):
            self.exported("same_names", {"__init__": same, "call_impl": same}, funcify=True)
        with pytest.raises(AssertionError, match="must derive from BaseLoader"):
            mod.export(funcify=True)(int)
        with pytest.raises(AssertionError, match="must be a loader"):
            mod.export(funcify=True)(lambda: 1)
        both = {"call_impl": lambda self: 1}
        assert self.exported("once", both, funcify=True, func_name="made").made() == 1


class TestArrays:
    def test_of_numpy(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        assert util.array.is_numpy(array)
        assert not util.array.is_torch(array)
        assert (util.array.nbytes(array), util.array.size(array), util.array.shape(array)) == (24, 6, (2, 3))
        assert util.array.dtype(array) == DataType.FLOAT32
        assert util.array.data_ptr(array) == array.ctypes.data
        assert util.array.is_on_cpu(array)
        assert not util.array.is_on_gpu(array)
        assert not util.array.is_contiguous(array.T)
        assert util.array.is_contiguous(util.array.make_contiguous(array.T))
        assert util.array.equal(util.array.view(array, DataType.UINT8, (24,)), array.view(np.uint8).ravel())
        assert util.array.cast(array, DataType.INT64).dtype == np.int64
        assert util.array.resize_or_reallocate(array, (2, 3)) is array
        assert util.array.resize_or_reallocate(array.copy(), (3, 4)).shape == (3, 4)
        assert util.array.resize_or_reallocate(array.T, (5,)).shape == (5,)
        assert util.array.allclose(array, array + 1e-9)
        assert not util.array.equal(array, array.T)
        assert util.array.unravel_index(4, (2, 3)) == (1, 1)
        with pytest.raises(PolygraphyException, match="Unrecognized array type"):
            util.array.to_numpy([1])

    def test_of_torch(self):
        torch = pytest.importorskip("torch")
        tensor = util.array.to_torch(np.arange(6, dtype=np.float32).reshape(2, 3))
        assert isinstance(tensor, torch.Tensor)
        assert util.array.is_torch(tensor)
        assert (util.array.nbytes(tensor), util.array.dtype(tensor)) == (24, DataType.FLOAT32)
        assert util.array.is_contiguous(util.array.make_contiguous(tensor.T))
        assert util.array.equal(util.array.to_numpy(tensor), tensor)
        assert util.array.cast(tensor, DataType.INT64).dtype == torch.int64


class TestElementTypes:
    @pytest.mark.parametrize("name", ["FLOAT32", "FLOAT16", "BFLOAT16", "INT64", "UINT8", "BOOL"])
    def test_types_go_to_other_libraries_and_come_back(self, name):
        torch = pytest.importorskip("torch")
        dtype = getattr(DataType, name)
        assert DataType.from_dtype(DataType.to_dtype(dtype, "onnx"), "onnx") == dtype
        assert DataType.from_dtype(DataType.to_dtype(dtype, "torch")) == dtype
        assert isinstance(dtype.torch(), torch.dtype)

    def test_types_of_metadata_are_numpys_and_equal_those_by_name(self):
        dtype, _ = TensorMetadata().add("x", DataType.FLOAT16, (1,))["x"]
        assert dtype == np.float16
        assert dtype == DataType.FLOAT16
        assert DataType.to_dtype(dtype, "onnxruntime") == "tensor(float16)"
        assert np.zeros(2, dtype=DataType.INT8).dtype == np.int8
        assert (DataType.INT4.itemsize, DataType.FLOAT8E4M3FN.itemsize, DataType.STRING.itemsize) == (0.5, 1, 0)
        for wrong in (lambda: DataType.from_dtype("no type"), lambda: DataType.to_dtype(DataType.INT8, "nobody")):
            with pytest.raises(PolygraphyException):
                wrong()
        with pytest.raises(AttributeError):
            _ = DataType.FLOAT33


class TestGraphs:
    def test_a_graph_of_graphsurgeon_stays_one(self):
        gs = pytest.importorskip("onnx_graphsurgeon")
        model = identity_model("x", [1, 1, 2, 2], "y", half=True)
        graph = gs_from_onnx(model)
        part = extract_subgraph(graph, output_metadata=TensorMetadata().add("half", None, None))
        assert isinstance(part, gs.Graph)
        assert ([node.op for node in part.nodes], len(graph.nodes)) == (["Cast"], 3)

    def test_facts_of_a_model(self):
        model = identity_model("x", [1, 1, 2, 2], "y", half=True)
        assert onnx_util.get_num_nodes(model) == 3
        assert onnx_util.all_tensor_names(model, include_inputs=True) == ["half", "same", "y", "x"]
        assert list(onnx_util.get_output_metadata(model.graph)) == ["y"]
        assert onnx_util.get_shape(model.graph.input[0]) == [1, 1, 2, 2]
        assert onnx_util.get_dtype(model.graph.input[0]) == np.float32
        text = onnx_util.str_from_onnx(model, show_layers=True)
        assert "Cast" in text
        assert "x" in text


def test_a_comparison_that_could_not_fail_says_so_to_programs_that_do_not_expect_it(caplog):
    results = RunResults()
    for name in ("a", "b"):
        results.add([{"y": np.float32([0.1, 0.2])}], runner_name=name)
    assert not Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1.0))
    assert "nothing could differ" in caplog.text
    assert "allow_blind=True" in caplog.text
    assert Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1.0), allow_blind=True)
    caplog.clear()
    assert Comparator.compare_accuracy(results)
    assert caplog.text == ""
