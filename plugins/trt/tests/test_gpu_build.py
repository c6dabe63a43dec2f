"""Building on a real device: precisions, calibration, profiles, tactics, timing caches, what the parser can do."""

from __future__ import annotations

import io
import logging
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from polycmp import func
from polycmp.errors import BackendError, DataError, UsageError
from polycmp_trt import (
    Calibrator,
    CreateConfig,
    EngineBytesFromNetwork,
    EngineFromNetwork,
    NetworkFromOnnxBytes,
    NetworkFromOnnxPath,
    PostprocessConfig,
    Profile,
    SetLayerPrecisions,
    TacticRecorder,
    TacticReplayData,
    TacticReplayer,
    TrtRunner,
    create_config,
)
from polycmp_trt.build.layers import engine_layers, precisions
from polycmp_trt.build.typed_onnx import QuantizeToInt8
from polycmp_trt.features import import_tensorrt, supports

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(5)


def feeds(count=4, batch=2):
    return [{"x": RNG.standard_normal((batch, 64, 32, 32)).astype(np.float32)} for _ in range(count)]


def bytes_of(path, **config):
    return EngineBytesFromNetwork(NetworkFromOnnxPath(path), CreateConfig(**config))()


def engine_of(path, **config):
    return EngineFromNetwork(NetworkFromOnnxPath(path), CreateConfig(**config))()


def in_type(kind, path, **config):
    """Return an engine whose convolutions have a type, whichever the builder finds faster."""
    network = SetLayerPrecisions(NetworkFromOnnxPath(path), {"conv0": kind, "conv1": kind})
    return EngineFromNetwork(network, CreateConfig(precision_constraints="prefer", **config))()


class TestPrecision:
    def test_fp16_is_used_and_counted(self, convolutions):
        assert precisions(engine_layers(in_type("float16", convolutions, fp16=True))).get("FP16")
        assert set(precisions(engine_layers(engine_of(convolutions)))) <= {"FP32"}

    def test_tf32_is_off_unless_asked_for(self, convolutions):
        trt = import_tensorrt()
        for wanted in (False, True):
            builder, network, _ = NetworkFromOnnxPath(convolutions)()
            assert create_config(builder, network, tf32=wanted).get_flag(trt.BuilderFlag.TF32) is wanted

    def test_a_precision_without_a_layer_is_a_warning(self, caplog):
        graph = helper.make_graph(
            [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT32)],
            "net",
            [helper.make_tensor_value_info("x", TensorProto.BOOL, [4])],
            [helper.make_tensor_value_info("y", TensorProto.INT32, [4])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        with caplog.at_level(logging.WARNING):
            EngineFromNetwork(NetworkFromOnnxBytes(model.SerializeToString()), CreateConfig(fp16=True))()
        assert "no layer" in caplog.text.lower()

    def test_a_model_with_qdq_nodes_becomes_int8(self, convolutions):
        data = feeds()
        quantised = QuantizeToInt8(onnx.load(convolutions), data)()
        network = NetworkFromOnnxBytes(quantised.SerializeToString())
        engine = EngineFromNetwork(network, CreateConfig(int8=True))()
        assert precisions(engine_layers(engine)).get("INT8")
        with TrtRunner(lambda: engine_of(convolutions)) as plain, TrtRunner(engine) as small:
            wanted = plain.infer(data[0])["y"].copy()
            got = small.infer(data[0])["y"]
        assert np.abs(got - wanted).mean() < 0.05 * np.abs(wanted).mean() + 0.05 * np.abs(wanted).max()

    def test_what_this_release_lacks_says_what_to_do(self, convolutions):
        if supports("bf16"):
            pytest.skip("this TensorRT has bfloat16")
        with pytest.raises(BackendError, match="bf16"):
            engine_of(convolutions, bf16=True)


class TestCalibration:
    @pytest.mark.parametrize(
        "loader",
        [feeds, lambda: iter(feeds()), lambda: feeds, lambda: lambda inputs: (f for f in feeds())],
        ids=["list", "generator", "function", "function of the inputs"],
    )
    def test_every_kind_of_data_loader(self, convolutions, loader):
        with Calibrator(loader()) as calibrator:
            engine = in_type("int8", convolutions, int8=True, calibrator=calibrator)
            assert calibrator.num_batches == 4
        assert precisions(engine_layers(engine)).get("INT8")

    @pytest.mark.parametrize("base", ["IInt8MinMaxCalibrator", "IInt8EntropyCalibrator", "IInt8LegacyCalibrator"])
    def test_other_base_classes(self, convolutions, base):
        assert bytes_of(convolutions, int8=True, calibrator=Calibrator(feeds(), BaseClass=base))

    def test_the_cache_is_written_and_then_used_instead_of_data(self, convolutions, tmp_path):
        cache = tmp_path / "calib.cache"
        bytes_of(convolutions, int8=True, calibrator=Calibrator(feeds(), cache=str(cache)))
        assert cache.read_bytes().startswith(b"TRT-")
        written = cache.read_bytes()

        def never():
            raise AssertionError("asked for data")

        bytes_of(convolutions, int8=True, calibrator=Calibrator(never, cache=str(cache)))
        assert cache.read_bytes() == written

    def test_the_cache_may_be_an_open_file(self, convolutions):
        cache = io.BytesIO()
        bytes_of(convolutions, int8=True, calibrator=Calibrator(feeds(), cache=cache))
        assert cache.getvalue().startswith(b"TRT-")

    def test_dynamic_shapes_calibrate_with_the_opt_shapes(self, dynamic):
        profile = Profile().add("x", (1, 64, 32, 32), (4, 64, 32, 32), (8, 64, 32, 32))
        seen = []

        def loader(inputs):
            seen.append(inputs["x"].shape)
            return feeds(batch=4)

        bytes_of(dynamic, int8=True, profiles=[profile], calibrator=Calibrator(loader))
        assert seen == [(4, 64, 32, 32)]
        with pytest.raises(DataError, match="shape"):
            bytes_of(dynamic, int8=True, profiles=[profile], calibrator=Calibrator(feeds(batch=2)))

    def test_an_error_in_the_data_loader_ends_the_build_with_that_error(self, convolutions, tmp_path):
        cache = tmp_path / "calib.cache"

        def loader():
            yield feeds()[0]
            raise FileNotFoundError("picture 2 is gone")

        with pytest.raises(FileNotFoundError, match="picture 2"):
            bytes_of(convolutions, int8=True, calibrator=Calibrator(loader, cache=str(cache)))
        assert not cache.exists()

    def test_no_data_and_missing_inputs(self, convolutions):
        with pytest.raises(DataError, match="no calibration data"):
            bytes_of(convolutions, int8=True, calibrator=Calibrator([]))
        with pytest.raises(DataError, match="'x'"):
            bytes_of(convolutions, int8=True, calibrator=Calibrator([{"y": np.ones(1, np.float32)}]))

    def test_with_tensorrt_alone(self, convolutions):
        trt = import_tensorrt()
        builder, network, parser = NetworkFromOnnxPath(convolutions)()
        config = builder.create_builder_config()
        config.set_flag(trt.BuilderFlag.INT8)
        with Calibrator(feeds()) as calibrator:
            config.int8_calibrator = calibrator
            assert builder.build_serialized_network(network, config)
            calibrator.raise_error()
        assert parser


class TestProfiles:
    def test_defaults_are_named_in_a_warning(self, dynamic, caplog):
        with caplog.at_level(logging.WARNING):
            engine = engine_of(dynamic)
        assert "[1, 64, 32, 32]" in caplog.text
        assert tuple(engine.get_tensor_profile_shape("x", 0)[2]) == (1, 64, 32, 32)

    def test_several_profiles_each_with_its_own_range(self, dynamic):
        ranges = [((1, 64, 32, 32),) * 3, ((2, 64, 32, 32), (4, 64, 32, 32), (8, 64, 32, 32))]
        engine = engine_of(dynamic, profiles=[Profile().add("x", *bounds) for bounds in ranges])
        assert engine.num_optimization_profiles == 2
        got = [tuple(tuple(shape) for shape in engine.get_tensor_profile_shape("x", index)) for index in range(2)]
        assert got == ranges

    def test_patterns_and_mistakes(self, dynamic):
        assert bytes_of(dynamic, profiles=[Profile().add("*", *((3, 64, 32, 32),) * 3)])
        for profile, reason in [
            (Profile().add("z", (1,), (1,), (1,)), "'z'"),
            (Profile().add("x", (4, 64, 32, 32), (2, 64, 32, 32), (8, 64, 32, 32)), "min <= opt"),
            (Profile().add("x", (1, 64), (1, 64), (1, 64)), "4 dimensions"),
            (Profile().add("x", (1, 8, 32, 32), (1, 8, 32, 32), (1, 8, 32, 32)), "fixes"),
        ]:
            with pytest.raises(UsageError, match=reason):
                bytes_of(dynamic, profiles=[profile])

    def test_values_of_shape_tensors(self):
        graph = helper.make_graph(
            [helper.make_node("Reshape", ["x", "shape"], ["y"])],
            "net",
            [
                helper.make_tensor_value_info("x", TensorProto.FLOAT, [8]),
                helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
            ],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        config = CreateConfig(profiles=[Profile().add("shape", (1, 1), (2, 4), (8, 8))])
        assert EngineBytesFromNetwork(NetworkFromOnnxBytes(model.SerializeToString()), config)()


class TestTactics:
    def test_replayed_tactics_give_the_same_engine(self, convolutions, tmp_path):
        path = tmp_path / "replay.json"
        first = bytes_of(convolutions, algorithm_selector=TacticRecorder(str(path)))
        assert bytes_of(convolutions, algorithm_selector=TacticReplayer(str(path))) == first
        replay = TacticReplayData.load(path)
        assert replay
        assert all(name and algorithm.outputs for name, algorithm in replay.items())

    def test_with_a_timing_cache_the_same_engine_in_float16_too(self, convolutions, tmp_path):
        # Which of two kernels changes a layout is measured, and TensorRT does not ask a selector about it.
        timings, tactics = str(tmp_path / "timings"), str(tmp_path / "tactics.json")

        def build(selector, load=None):
            config = CreateConfig(fp16=True, algorithm_selector=selector, load_timing_cache=load)
            return EngineBytesFromNetwork(NetworkFromOnnxPath(convolutions), config, save_timing_cache=timings)()

        build(None)
        first = build(TacticRecorder(tactics), timings)
        assert len(TacticReplayData.load(tactics)) == 2
        for _ in range(3):
            assert build(TacticReplayer(tactics), timings) == first

    def test_replayed_tactics_give_the_same_layers_in_float16(self, convolutions):
        replay = TacticReplayData()
        first = engine_of(convolutions, fp16=True, algorithm_selector=TacticRecorder(replay))
        second = engine_of(convolutions, fp16=True, algorithm_selector=TacticReplayer(replay))
        # Copies between layouts are no algorithms that a selector is asked about: TensorRT times them anew.
        chosen = [[layer for layer in engine_layers(engine) if layer.kind != "Reformat"] for engine in (first, second)]
        assert chosen[0] == chosen[1]

    def test_polygraphy_reads_and_writes_the_same_files(self, convolutions, tmp_path):
        theirs = pytest.importorskip("polygraphy.backend.trt").TacticReplayData
        ours, again = str(tmp_path / "ours.json"), str(tmp_path / "again.json")
        bytes_of(convolutions, fp16=True, algorithm_selector=TacticRecorder(ours))
        theirs.load(ours).save(again)
        assert TacticReplayData.load(again) == TacticReplayData.load(ours)

    def test_a_tactic_that_is_not_offered_ends_the_build(self, convolutions):
        recorded = TacticReplayData()
        bytes_of(convolutions, algorithm_selector=TacticRecorder(recorded))
        name = next(iter(recorded))
        wrong = TacticReplayData({name: type(recorded[name])(1, 2, (), ())})
        with pytest.raises(BackendError, match="does not offer"):
            bytes_of(convolutions, algorithm_selector=TacticReplayer(wrong))

    def test_an_unknown_layer_is_a_warning(self, convolutions, caplog):
        recorded = TacticReplayData()
        bytes_of(convolutions, algorithm_selector=TacticRecorder(recorded))
        kept = dict(list(recorded.items())[:1])
        with caplog.at_level(logging.WARNING):
            bytes_of(convolutions, algorithm_selector=TacticReplayer(TacticReplayData(kept)))
        if len(recorded) > 1:
            assert "not in the tactic replay" in caplog.text


class TestTimingCache:
    def build(self, path, load, save):
        config = CreateConfig(load_timing_cache=load)
        return EngineBytesFromNetwork(NetworkFromOnnxPath(path), config, save_timing_cache=save)()

    def test_written_merged_and_read(self, convolutions, dynamic, tmp_path):
        cache = str(tmp_path / "timing.cache")
        self.build(convolutions, None, cache)
        first = os.path.getsize(cache)
        assert first > 100
        self.build(dynamic, cache, cache)
        assert os.path.getsize(cache) > first
        assert [item.name for item in tmp_path.iterdir()] == ["timing.cache"]

    def test_what_another_process_saved_meanwhile_is_kept(self, convolutions, dynamic, tmp_path):
        one, two, both = (str(tmp_path / name) for name in ("one", "two", "both"))
        self.build(convolutions, None, one)
        self.build(dynamic, None, two)
        self.build(convolutions, None, both)
        self.build(dynamic, None, both)
        assert os.path.getsize(both) > max(os.path.getsize(one), os.path.getsize(two))

    def test_a_damaged_cache_is_not_used(self, convolutions, tmp_path, caplog):
        cache = tmp_path / "timing.cache"
        cache.write_bytes(b"no timings at all" * 10)
        with caplog.at_level(logging.WARNING):
            assert self.build(convolutions, str(cache), str(cache))
        assert "timing.cache" in caplog.text
        assert len(cache.read_bytes()) > 170


class TestConfig:
    def test_values_arrive(self, convolutions):
        trt = import_tensorrt()
        builder, network, _ = NetworkFromOnnxPath(convolutions)()
        config = create_config(
            builder,
            network,
            memory_pool_limits={"workspace": 1 << 20},
            builder_optimization_level=2,
            max_aux_streams=1,
            tactic_sources=["cudnn", "edge_mask_convolutions"],
            refittable=True,
            direct_io=True,
            sparse_weights=True,
            precision_constraints="obey",
            hardware_compatibility_level="ampere_plus",
            engine_capability="standard",
            profiling_verbosity="none",
            preview_features=[],
        )
        assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 1 << 20
        assert config.builder_optimization_level == 2
        assert config.max_aux_streams == 1
        sources = {trt.TacticSource.CUDNN, trt.TacticSource.EDGE_MASK_CONVOLUTIONS}
        assert config.get_tactic_sources() == sum(1 << int(source) for source in sources)
        flags = ("REFIT", "DIRECT_IO", "SPARSE_WEIGHTS", "OBEY_PRECISION_CONSTRAINTS")
        assert all(config.get_flag(getattr(trt.BuilderFlag, flag)) for flag in flags)
        assert config.hardware_compatibility_level == trt.HardwareCompatibilityLevel.AMPERE_PLUS
        assert config.profiling_verbosity == trt.ProfilingVerbosity.NONE
        assert not any(config.get_preview_feature(item) for item in trt.PreviewFeature.__members__.values())

    def test_refused_values(self, convolutions):
        builder, network, _ = NetworkFromOnnxPath(convolutions)()
        with pytest.raises(UsageError, match="builder_optimization_level=99"):
            create_config(builder, network, builder_optimization_level=99)
        with pytest.raises(UsageError, match="did you mean 'workspace'"):
            create_config(builder, network, memory_pool_limits={"workspac": 1})
        with pytest.raises(UsageError, match="obey, prefer or none"):
            create_config(builder, network, precision_constraints="please")
        with pytest.raises(BackendError, match="accelerator"):
            create_config(builder, network, use_dla=True)

    def test_functions_edit_it_once(self, convolutions):
        trt = import_tensorrt()
        calls = []

        def edit(builder, network, config):
            calls.append(network.num_inputs)
            config.set_flag(trt.BuilderFlag.FP16)

        config = PostprocessConfig(CreateConfig(), edit)
        assert EngineBytesFromNetwork(NetworkFromOnnxPath(convolutions), config)()
        assert calls == [1]

        @func.extend(CreateConfig())
        def extended(config):
            config.set_flag(trt.BuilderFlag.FP16)

        assert EngineBytesFromNetwork(NetworkFromOnnxPath(convolutions), extended)()

        def broken(builder, network, config):
            raise ValueError("not today")

        with pytest.raises(BackendError, match="not today"):
            EngineBytesFromNetwork(NetworkFromOnnxPath(convolutions), PostprocessConfig(CreateConfig(), broken))()
