"""What needs neither a device nor TensorRT: importing, describing, composing, reading what TensorRT says."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from importlib.util import find_spec

import pytest

import polycmp_trt
from polycmp.errors import BackendError, FileError, ModelError, PluginError, UsageError
from polycmp.loader import InvokeFromScript, Loader, immediate
from polycmp.tensors import DataSource, TensorMetadata
from polycmp_onnx import SaveOnnx
from polycmp_trt import (
    BytesFromEngine,
    CreateConfig,
    EngineFromBytes,
    EngineFromNetwork,
    EngineFromPath,
    LoadPlugins,
    ModifyNetworkOutputs,
    NetworkFromOnnxBytes,
    NetworkFromOnnxPath,
    SaveEngine,
    TrtRunner,
)
from polycmp_trt.build.calibrator import calibration_feeds
from polycmp_trt.build.layers import Layer, loads_loosely, precisions
from polycmp_trt.factory import (
    NetworkFromScript,
    engine_from_file,
    engine_from_source,
    make_engine,
    make_network,
    make_runner,
    shared_timings,
)
from polycmp_trt.options import Options
from polycmp_trt.run.context import create_context

no_tensorrt = pytest.mark.skipif(find_spec("tensorrt") is not None, reason="TensorRT is installed")


class _Handle:
    """A model as the core hands it on, of a loader that another plugin brings."""

    path = source = "m.chain"
    kind = "onnx"
    input_shapes: dict[str, tuple[int, ...]] = {}
    data_loader = None
    is_part = False

    def load(self, _kind):
        return InvokeFromScript("chain.py", "make")


def test_onnx_models_of_other_plugins_loaders_are_parsed():
    assert "NetworkFromOnnxBytes(BytesFromOnnx(OnnxFromLoader(InvokeFromScript('chain.py', 'make'))))" in repr(
        make_engine(_Handle().load("onnx"), model=_Handle())
    )
    assert "NetworkFromOnnxBytes(BytesFromOnnx(OnnxFromLoader(" in make_runner(_Handle(), None, name="trt").source()


@pytest.mark.parametrize("option", ["timing_cache", "load_timing_cache", "save_timing_cache", "save_tactics"])
def test_timings_are_not_shared_where_the_user_says_what_is_timed(option):
    engine = engine_from_source(_Handle().load("onnx"), Options(), timings=shared_timings(_Handle(), Options()))
    assert "imings" not in repr(engine)  # nothing that a script could not say
    assert shared_timings(_Handle(), Options()) is not None
    assert shared_timings(_Handle(), Options(**{option: "file"})) is None


def test_loaders_that_write_a_file_are_not_mistaken_for_that_file():
    assert "NetworkFromOnnxPath" not in repr(engine_from_source(SaveOnnx("m", "saved.onnx"), Options()))


class OneFeed(DataSource):
    """Gives one feed without inputs."""

    def __init__(self, synthetic):
        self.synthetic = synthetic

    def __call__(self, inputs):
        return [{}]


def test_made_up_calibration_data_is_warned_of(caplog):
    for synthetic in (False, True):
        caplog.clear()
        source = OneFeed(synthetic)
        assert list(calibration_feeds(source, TensorMetadata())) == [{}]
        assert ("calibrating with random numbers" in caplog.text) is synthetic


def test_importing_loads_nothing_heavy():
    heavy = "{'tensorrt', 'pycuda', 'onnx', 'torch', 'onnxruntime'}"
    code = (
        "import sys, polycmp_trt, polycmp_trt.plugin\n"
        "from polycmp_trt import TrtRunner, CreateConfig, EngineFromNetwork, NetworkFromOnnxPath, SaveEngine\n"
        "TrtRunner(SaveEngine(EngineFromNetwork(NetworkFromOnnxPath('m.onnx'), CreateConfig(fp16=True)), 'e'))\n"
        f"assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_exists():
    for name in polycmp_trt.__all__:
        assert getattr(polycmp_trt, name) is not None
        assert name in dir(polycmp_trt)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        polycmp_trt.Nothing  # noqa: B018


def test_every_loader_has_an_immediate_twin():
    public = {name: getattr(polycmp_trt, name) for name in polycmp_trt.__all__}
    loaders = [name for name, item in public.items() if inspect.isclass(item) and issubclass(item, Loader)]
    twins = {immediate(public[name]).__name__ for name in loaders}
    assert len(twins) > 25
    assert twins - set(public) == set()


def test_loaders_print_as_their_source():
    made = SaveEngine(
        EngineFromNetwork(
            ModifyNetworkOutputs(NetworkFromOnnxPath("m.onnx"), outputs=["a*"]), config=CreateConfig(fp16=True)
        ),
        path="m.engine",
    )
    text = repr(made)
    assert text == (
        "SaveEngine(EngineFromNetwork(ModifyNetworkOutputs(NetworkFromOnnxPath('m.onnx'), outputs=['a*']), "
        "config=CreateConfig(fp16=True)), path='m.engine')"
    )
    assert (
        repr(eval(text, vars(polycmp_trt) | {name: getattr(polycmp_trt, name) for name in polycmp_trt.__all__})) == text
    )


def test_both_readers_of_onnx_take_the_same_arguments_after_the_first():
    paths, contents = (
        list(inspect.signature(reader.__init__).parameters)[1:]
        for reader in (NetworkFromOnnxPath, NetworkFromOnnxBytes)
    )
    assert (paths[0], contents[0]) == ("path", "model_bytes")
    assert paths[1:] == contents[1:]
    made = NetworkFromOnnxPath("m.onnx", ["native_instancenorm"], strongly_typed=True, config=None)
    assert repr(made) == "NetworkFromOnnxPath('m.onnx', ['native_instancenorm'], strongly_typed=True)"
    assert (made.path, made.flags, made.strongly_typed) == ("m.onnx", ["native_instancenorm"], True)
    assert repr(pickle.loads(pickle.dumps(made))) == repr(made)
    with pytest.raises(ModelError, match=r"no such file: m\.onnx"):
        made()


class TestMissing:
    @no_tensorrt
    def test_the_runner_names_the_package(self):
        runner = TrtRunner(EngineFromBytes(b""))
        with pytest.raises(PluginError, match="TensorRT is not installed") as caught:
            runner.activate()
        assert "polycmp-trt[cu12]" in caught.value.hint
        assert not runner.is_active
        with pytest.raises(BackendError, match="active runner"):
            runner.infer({})

    @no_tensorrt
    def test_networks_name_it_too(self, tmp_path):
        (tmp_path / "m.onnx").write_bytes(b"x")
        with pytest.raises(PluginError, match="TensorRT is not installed"):
            NetworkFromOnnxPath(tmp_path / "m.onnx")()

    def test_plugin_libraries(self, tmp_path):
        with pytest.raises(FileError, match="cannot load the plugin library"):
            LoadPlugins([tmp_path / "libmine.so"])()

    def test_an_unknown_strategy(self):
        with pytest.raises(UsageError, match="did you mean 'static'"):
            create_context(None, "statik", "me")


class TestOptions:
    def test_engine_files(self):
        loader = engine_from_file("m.engine", Options())
        assert repr(loader) == "LoadPlugins([], EngineFromPath('m.engine'))"
        text = repr(engine_from_file("m.engine", Options(plugins=("libx.so",), engine_host_code_allowed=True)))
        assert text == "LoadPlugins(['libx.so'], EngineFromPath('m.engine', engine_host_code_allowed=True))"
        assert isinstance(EngineFromPath("m.engine"), EngineFromPath)

    def test_host_code_needs_asking(self):
        assert not EngineFromBytes(b"").engine_host_code_allowed
        assert not EngineFromPath("m").engine_host_code_allowed

    def test_what_options_change_in_a_network(self):
        from polycmp_onnx import OnnxFromPath

        options = Options(
            outputs=("a",),
            exclude_outputs=("b",),
            layer_precisions={"conv": "float16"},
            tensor_dtypes={"x": "float16"},
            all_tensor_dtypes="float32",
            tensor_formats={"x": "hwc,linear"},
            mark_debug=("t",),
            network_postprocess_script=("p.py", "q.py:f"),
            save_engine="e.engine",
            timing_cache="t.cache",
        )
        text = repr(engine_from_source(OnnxFromPath("m.onnx"), options))
        for part in (
            "NetworkFromOnnxPath('m.onnx')",
            "['a'], ['b']",
            "{'conv': 'float16'}",
            "{'*': 'float32', 'x': 'float16'}",
            "{'x': ['hwc', 'linear']}",
            "MarkDebug",
            "InvokeFromScript('p.py', 'postprocess')",
            "InvokeFromScript('q.py', 'f')",
            "'e.engine'",
            "save_timing_cache='t.cache'",
        ):
            assert part in text, (part, text)

    def test_network_scripts(self):
        assert repr(make_network("net.py:build")) == "NetworkFromScript('net.py', 'build')"
        assert make_network("net.py").name == "load_network"
        assert isinstance(make_network("net.py"), NetworkFromScript)
        assert repr(BytesFromEngine(make_network("net.py"))).startswith("BytesFromEngine(NetworkFromScript")


class TestReport:
    def test_control_characters_and_lone_backslashes(self):
        assert loads_loosely('{"Name": "a\x1eb"}') == {"Name": "a\x1eb"}
        assert loads_loosely('{"Name": "a\\q"}')["Name"] == "a\\q"
        assert loads_loosely('{"Name": "tab\there", "N": 1}')["N"] == 1

    def test_layers_per_precision(self):
        layers = [
            Layer("a", outputs={"t": "[1,8] Row major linear FP32"}),
            Layer("b", outputs={"t": "[1,8] Channel major FP16 format where channel % 8 == 0"}),
            Layer("c", outputs={"t": "[1,8] Four wide channel vectorized row major Int8 format"}),
            Layer("d", outputs={"t": "[2] Row major Int32"}),
            Layer("only a name"),
        ]
        assert precisions(layers) == {"FP32": 1, "FP16": 1, "INT8": 1, "INT32": 1}

    @pytest.mark.parametrize(
        ("kernel", "precision"),
        [
            ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8", "FP32"),
            ("sm50_xmma_pooling_fw_4d_FP32FP32NCHW_Average_FastDiv", "FP32"),
            ("sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc", "FP16"),
            ("sm80_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32_nchw_vect_c_32kcrs", "INT8"),
            ("turing_h1688cudnn_256x64_ldg8_relu_exp_small_nhwc_tn_v1", "FP16"),
            ("0x00000000000003e8", ""),
        ],
    )
    def test_the_kernel_tells_where_dynamic_shapes_hide_the_type(self, kernel, precision):
        layer = Layer("a", outputs={"t": "[-1,8] N/A due to dynamic shapes"}, details={"TacticName": kernel})
        assert layer.precision == precision


@pytest.mark.parametrize("make", [polycmp_trt.Stream, polycmp_trt.DeviceArray])
@pytest.mark.skipif(find_spec("pycuda") is not None or find_spec("cuda") is not None, reason="CUDA is installed")
def test_a_stream_or_device_array_without_cuda_says_what_to_install(make):
    with pytest.raises(PluginError, match="neither cuda-bindings nor pycuda is installed"):
        make()


def test_a_view_of_a_freed_address_still_says_what_it_is():
    view = polycmp_trt.DeviceView(4096, (2, 3), "float16")
    assert (view.nbytes, view.itemsize, view.shape) == (12, 2, (2, 3))
