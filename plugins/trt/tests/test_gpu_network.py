"""Networks and engines on a real device: parsing, changing, building, saving, looking inside."""

from __future__ import annotations

import logging

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp import func
from polycmp.errors import BackendError, DataError, FileError, ModelError, UsageError
from polycmp_trt import (
    BytesFromEngine,
    CreateConfig,
    CreateNetwork,
    EngineBytesFromNetwork,
    EngineFromBytes,
    EngineFromNetwork,
    EngineFromPath,
    LoadPlugins,
    ModifyNetworkOutputs,
    NetworkFromOnnxBytes,
    NetworkFromOnnxPath,
    OnnxLikeFromNetwork,
    PostprocessNetwork,
    Profile,
    SaveEngine,
    SetLayerPrecisions,
    SetTensorDatatypes,
    TrtRunner,
    create_config,
    engine_from_bytes,
    engine_from_network,
    network_from_onnx_path,
    save_engine,
)
from polycmp_trt.build.layers import engine_layers, precisions
from polycmp_trt.show.inspection import inspect_engine, inspect_network

pytestmark = pytest.mark.gpu


def conv_model():
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal((8, 3, 3, 3)).astype(np.float32), "w"),
        numpy_helper.from_array(rng.standard_normal(8).astype(np.float32), "b"),
    ]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["r"], name="relu"),
            helper.make_node("GlobalAveragePool", ["r"], ["y"], name="pool"),
        ],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8, 1, 1])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(scope="module")
def conv(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "conv.onnx"
    onnx.save(conv_model(), path)
    return str(path)


@pytest.fixture
def config():
    return CreateConfig(profiles=[Profile().add("x", (1, 3, 16, 16), (2, 3, 16, 16), (4, 3, 16, 16))])


X = np.random.default_rng(1).random((2, 3, 16, 16), np.float32)


class TestNetworks:
    def test_immediate_forms_as_in_the_examples(self, tmp_path, conv):
        builder, network, parser = network_from_onnx_path(conv)
        previous = network.get_output(0)
        network.unmark_output(previous)
        output = network.add_identity(previous).get_output(0)
        output.name = "output"
        network.mark_output(output)
        config = create_config(builder, network, fp16=True, profiles=[Profile().add("x", X.shape, X.shape, X.shape)])
        with builder, network, parser, config:
            engine = engine_from_network((builder, network), config)
        save_engine(engine, path=tmp_path / "e.engine")
        again = engine_from_bytes((tmp_path / "e.engine").read_bytes())
        with TrtRunner(engine) as one, TrtRunner(again) as two:
            np.testing.assert_array_equal(one.infer({"x": X})["output"], two.infer({"x": X})["output"])

    def test_a_network_written_by_hand(self):
        import tensorrt as trt

        @func.extend(CreateNetwork())
        def network(builder, network):
            tensor = network.add_input(name="in", shape=(4, 4), dtype=trt.float32)
            ones = network.add_constant(shape=(4, 4), weights=np.ones((4, 4), np.float32)).get_output(0)
            total = network.add_elementwise(tensor, ones, op=trt.ElementWiseOperation.SUM).get_output(0)
            total.name = "out"
            network.mark_output(total)

        with TrtRunner(EngineFromNetwork(network)) as runner:
            x = np.random.default_rng(0).random((4, 4), np.float32)
            np.testing.assert_array_equal(runner.infer({"in": x})["out"], x + 1)

    def test_extended_loaders(self, conv, config):
        import tensorrt as trt

        seen = []

        @func.extend(NetworkFromOnnxPath(conv))
        def load_network(builder, network, parser):
            network.name = "Mine"

        @func.extend(config)
        def load_config(config):
            config.set_flag(trt.BuilderFlag.FP16)
            seen.append(config)

        with TrtRunner(EngineFromNetwork(load_network, config=load_config)) as runner:
            assert runner.engine.name == "Mine"
            assert runner.infer({"x": X})["y"].shape == (2, 8, 1, 1)
        assert seen

    def test_outputs_may_be_chosen(self, conv, config):
        every = EngineFromNetwork(ModifyNetworkOutputs(NetworkFromOnnxPath(conv), outputs="mark all"), config)
        with TrtRunner(every) as runner:
            outputs = {name: array.copy() for name, array in runner.infer({"x": X}).items()}
        assert {"c", "r", "y"} <= set(outputs)
        np.testing.assert_array_equal(outputs["r"], np.maximum(outputs["c"], 0))
        some = ModifyNetworkOutputs(NetworkFromOnnxPath(conv), outputs=["r"])()[1]
        assert [some.get_output(i).name for i in range(some.num_outputs)] == ["r"]
        typed = ModifyNetworkOutputs(NetworkFromOnnxPath(conv), mark_layer_types=["activation"])()[1]
        assert [typed.get_output(i).name for i in range(typed.num_outputs)] == ["r"]
        with pytest.raises(ModelError, match="no tensor 'rr'"):
            ModifyNetworkOutputs(NetworkFromOnnxPath(conv), outputs=["rr"])()
        with pytest.raises(ModelError, match="no output is left"):
            ModifyNetworkOutputs(NetworkFromOnnxPath(conv), exclude_outputs=["*"])()

    def test_marking_everything_leaves_loops_alone(self):
        body = helper.make_graph(
            [
                helper.make_node("Add", ["acc", "acc"], ["next"]),
                helper.make_node("Identity", ["cond"], ["cond_out"]),
            ],
            "body",
            [
                helper.make_tensor_value_info("i", TensorProto.INT64, []),
                helper.make_tensor_value_info("cond", TensorProto.BOOL, []),
                helper.make_tensor_value_info("acc", TensorProto.FLOAT, [2]),
            ],
            [
                helper.make_tensor_value_info("cond_out", TensorProto.BOOL, []),
                helper.make_tensor_value_info("next", TensorProto.FLOAT, [2]),
            ],
        )
        graph = helper.make_graph(
            [
                helper.make_node("Loop", ["trips", "go", "x"], ["z"], body=body),
                helper.make_node("Relu", ["z"], ["y"]),
            ],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
            [
                numpy_helper.from_array(np.array(3, np.int64), "trips"),
                numpy_helper.from_array(np.array(True), "go"),
            ],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        network = ModifyNetworkOutputs(NetworkFromOnnxBytes(model.SerializeToString()), outputs=["*"])
        with TrtRunner(EngineFromNetwork(network)) as runner:
            outputs = runner.infer({"x": np.float32([1, -2])})
        np.testing.assert_array_equal(outputs["y"], [8, 0])

    def test_precisions_types_and_scripts(self, conv, caplog):
        import tensorrt as trt

        network = NetworkFromOnnxPath(conv)
        with caplog.at_level(logging.WARNING, "polycmp"):
            made = SetLayerPrecisions(network, {"conv": "float16", "nobody": trt.float16})()
        assert "nobody" in caplog.text
        layers = {made[1].get_layer(i).name: made[1].get_layer(i) for i in range(made[1].num_layers)}
        assert layers["conv"].precision == trt.float16
        typed = SetTensorDatatypes(network, {"x": "float16"})()[1]
        assert typed.get_input(0).dtype == trt.float16
        with pytest.raises(ModelError, match="neither an input nor an output"):
            SetTensorDatatypes(network, {"c": "float16"})()

        def rename(network):
            network.name = "renamed"

        assert PostprocessNetwork(network, rename)()[1].name == "renamed"
        with pytest.raises(ModelError, match="failed on the network"):
            PostprocessNetwork(network, lambda network: network.nothing)()

    def test_what_cannot_be_parsed_is_named(self, tmp_path):
        graph = helper.make_graph(
            [
                helper.make_node("Relu", ["x"], ["t"], name="fine"),
                helper.make_node("NoSuchOp", ["t"], ["y"], name="culprit", domain="mine"),
            ],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        )
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid("mine", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        onnx.save(model, tmp_path / "m.onnx")
        for load in (NetworkFromOnnxPath(tmp_path / "m.onnx"), NetworkFromOnnxBytes(model.SerializeToString())):
            with pytest.raises(ModelError, match="cannot parse") as caught:
                load()
            assert "culprit" in caught.value.why
            assert "NoSuchOp" in caught.value.why

    def test_files_that_are_no_models(self, tmp_path):
        with pytest.raises(ModelError, match="no such file"):
            NetworkFromOnnxPath(tmp_path / "none.onnx")()
        (tmp_path / "text.onnx").write_text("hello, this is no model at all")
        with pytest.raises(ModelError, match="cannot parse"):
            NetworkFromOnnxPath(tmp_path / "text.onnx")()

    def test_networks_written_down_for_viewers(self, conv):
        model = OnnxLikeFromNetwork(NetworkFromOnnxPath(conv))()
        assert [node.op_type for node in model.graph.node][:2] == ["CONVOLUTION", "ACTIVATION"]
        assert model.graph.input[0].name == "x"


class TestEngines:
    def test_bytes_files_and_back(self, tmp_path, conv, config):
        plan = EngineBytesFromNetwork(NetworkFromOnnxPath(conv), config)()
        assert isinstance(plan, bytes)
        path = tmp_path / "deep" / "e.engine"
        engine = SaveEngine(EngineFromBytes(plan), path)()
        assert BytesFromEngine(engine)() == path.read_bytes()
        with TrtRunner(EngineFromPath(path)) as runner:
            assert runner.infer({"x": X})["y"].shape == (2, 8, 1, 1)
        with pytest.raises(FileError):
            EngineFromPath(tmp_path / "none.engine")()
        (tmp_path / "short.engine").write_bytes(b"no")
        with pytest.raises(ModelError, match="not a TensorRT engine"):
            EngineFromPath(tmp_path / "short.engine")()

    def test_a_network_that_does_not_build(self):
        @func.extend(CreateNetwork())
        def network(builder, network):
            import tensorrt as trt

            network.add_input("x", trt.float32, (2, 2))  # and no output

        with pytest.raises(BackendError, match="could not build") as caught:
            EngineFromNetwork(network)()
        assert "output" in caught.value.why

    def test_a_workspace_larger_than_any_device(self, conv, config):
        huge = CreateConfig(profiles=config.profiles, memory_pool_limits={"workspace": 1 << 55})
        try:
            EngineBytesFromNetwork(NetworkFromOnnxPath(conv), huge)()
        except (BackendError, UsageError) as error:
            assert error.hint

    def test_what_was_built_is_told(self, conv, config, caplog):
        half = CreateConfig(profiles=config.profiles, fp16=True)
        with caplog.at_level(logging.INFO, "polycmp"):
            engine = EngineFromNetwork(NetworkFromOnnxPath(conv), half)()
        counts = precisions(engine_layers(engine))
        assert counts
        assert "built in" in caplog.text

    def test_text_of_an_engine(self, conv):
        profiles = [Profile().add("x", (n, 3, 16, 16), (n, 3, 16, 16), (2 * n, 3, 16, 16)) for n in (1, 4, 16)]
        engine = EngineFromNetwork(NetworkFromOnnxPath(conv), CreateConfig(profiles=profiles))()
        text = inspect_engine(lambda: engine, ["layers", "attrs"])
        print(text)
        assert "x: float32[-1,3,16,16]" in text
        assert "3 Optimization profiles" in text
        assert "x: min=[4,3,16,16], opt=[4,3,16,16], max=[8,3,16,16]" in text
        assert "Device memory:" in text
        for profile in range(3):
            assert engine_layers(engine, profile)
        with pytest.raises(UsageError, match="layerz"):
            inspect_engine(lambda: engine, ["layerz"])

    def test_text_of_a_network(self, conv):
        text = inspect_network(NetworkFromOnnxPath(conv), ["layers", "attrs", "weights"])
        print(text)
        assert "Layer 0 | conv [CONVOLUTION]" in text
        assert "<- x: float32[-1,3,16,16]" in text
        assert "kernel = float32" in text

    def test_plugin_libraries_only_when_named(self, tmp_path):
        with pytest.raises(FileError, match="cannot load the plugin library"):
            LoadPlugins([tmp_path / "libnone.so"])()
        assert LoadPlugins([], lambda: 7)() == 7


class TestScripts:
    def test_a_network_script(self, tmp_path):
        from polycmp_trt.factory import make_network

        script = tmp_path / "net.py"
        script.write_text(
            "import tensorrt as trt\n"
            "from polycmp import func\n"
            "from polycmp_trt import CreateNetwork\n\n"
            "@func.extend(CreateNetwork())\n"
            "def load_network(builder, network):\n"
            "    x = network.add_input('x', trt.float32, (2, 2))\n"
            "    y = network.add_identity(x).get_output(0)\n"
            "    y.name = 'y'\n"
            "    network.mark_output(y)\n\n"
            "def wrong():\n"
            "    return 3\n"
        )
        with TrtRunner(EngineFromNetwork(make_network(str(script)))) as runner:
            x = np.float32([[1, 2], [3, 4]])
            np.testing.assert_array_equal(runner.infer({"x": x})["y"], x)
        assert "IDENTITY" in inspect_network(make_network(f"{script}:load_network"))
        with pytest.raises(ModelError, match="returned int"):
            make_network(f"{script}:wrong")()
        with pytest.raises(DataError, match="has no 'nobody'"):
            make_network(f"{script}:nobody")()
