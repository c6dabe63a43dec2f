"""What users see of the backend `openvino`: commands, reports and errors."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.cli.main import main
from polycmp.errors import BackendError, ModelError
from polycmp_openvino import OpenvinoRunner
from polycmp_openvino.plugin import OPTIMIZATIONS, OpenvinoTools, Options
from polycmp_openvino.reasons import reading_failed
from polycmp_openvino.runner import properties

openvino = pytest.importorskip("openvino", reason="needs OpenVINO: make test-openvino")


def network(scale=1.0):
    """Returns y = relu(x @ w) * scale with a batch of any size, called `batch`."""
    rng = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(rng.standard_normal((8, 4)).astype(np.float32), "w"),
        numpy_helper.from_array(np.float32(scale), "scale"),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="matmul"),
        helper.make_node("Relu", ["product"], ["positive"], name="relu"),
        helper.make_node("Mul", ["positive", "scale"], ["y"], name="mul"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name, size in
              (("x", 8), ("y", 4))]  # fmt: skip
    graph = helper.make_graph(nodes, "net", values[:1], values[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def identity(kind, shape=("n", 3)):
    values = [helper.make_tensor_value_info(name, kind, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "id", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "m.onnx")
    return "m.onnx"


def polycmp(*words):
    return main([str(word) for word in words])


def printed(capsys):
    """Everything that was written, with the breaks of tables taken out."""
    streams = capsys.readouterr()
    return " ".join((streams.out + streams.err).split())


def test_agrees_with_onnx_runtime(model):
    assert polycmp("run", model, "-b", "openvino", "-b", "onnxrt", "--input-shapes", "x:[5,8]") == 0


def test_another_weight_is_found(model):
    onnx.save(network(scale=1.01), "other.onnx")
    words = ("-b", "openvino", "-b", "onnxrt:model=other.onnx", "--input-shapes", "x:[5,8]")
    assert polycmp("run", model, *words) == 1


def test_open_dimensions_keep_the_names_of_the_onnx_file(model):
    for source in (model, onnx.load(model), onnx.load(model).SerializeToString()):
        with OpenvinoRunner(source) as runner:
            assert str(runner.get_input_metadata()) == "{x [dtype=float32, shape=('batch', 8)]}"


def test_inner_tensors_are_compared_in_windows(model, capsys):
    words = ("-b", "openvino", "-b", "onnxrt", "--input-shapes", "x:[5,8]", "--mark-all", "--report", "report.json")
    assert polycmp("run", model, *words) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("product", "positive"))


def test_locate_names_the_operator_that_differs(model, capsys):
    onnx.save(network(scale=1.01), "other.onnx")
    words = ("-b", "openvino:model=other.onnx", "-b", "onnxrt", "--input-shapes", "x:[5,8]")
    assert polycmp("locate", model, *words) == 1
    assert "mul" in capsys.readouterr().out


def test_a_model_converted_to_ir_runs_without_the_onnx_file(model, capsys):
    assert polycmp("convert", model, "-o", "m.xml") == 0
    assert polycmp("run", "m.xml", "-b", "openvino", "-b", "onnxrt:model=m.onnx", "--input-shapes", "x:[5,8]") == 0
    assert polycmp("inspect", "model", "m.xml") == 0
    text = capsys.readouterr().out
    assert "MatMul" in text and "x: f32[?,8]" in text


def test_weights_keep_their_type_in_the_ir(model):
    assert polycmp("convert", model, "-o", "m.xml") == 0
    weights = {node.get_element_type().get_type_name() for node in openvino.Core().read_model("m.xml").get_ops()}
    assert "f16" not in weights


def test_an_ir_without_its_weights_is_an_error_in_words(model, tmp_path, capsys):
    assert polycmp("convert", model, "-o", "m.xml") == 0
    (tmp_path / "m.bin").unlink()
    assert polycmp("run", "m.xml", "-b", "openvino") == 3
    assert "m.bin" in printed(capsys)


@pytest.mark.parametrize("content", ["", "<html></html>", "<net><layers>", "\x00\x01"])
def test_what_is_no_ir_is_an_error_in_words(content, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.xml").write_text(content)
    (tmp_path / "m.bin").write_bytes(b"")
    assert polycmp("run", "m.xml", "-b", "openvino") == 3
    text = capsys.readouterr().err
    assert "m.xml" in text and "Traceback" not in text and "fault of polycmp" not in text


def test_a_device_that_is_not_here_is_named_with_those_that_are(model, capsys):
    assert polycmp("run", model, "-b", "openvino:device=GPU.7", "-b", "onnxrt") == 3
    text = printed(capsys)
    assert "GPU.7" in text and "CPU" in text


def test_a_property_that_openvino_does_not_know_is_named(model, capsys):
    assert polycmp("run", model, "-b", "openvino:config=NO_SUCH_THING:1", "-b", "onnxrt") in {2, 3}
    text = printed(capsys)
    assert "NO_SUCH_THING" in text and "Traceback" not in text


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("precision=float8", "float16"),
        ("hint=fast", "latency"),
        ("threads=0", "at least 1"),
        ("precision=float16;own_precision", "exclude"),
        ("config=1", "KEY:VALUE"),
    ],
)
def test_values_that_cannot_be_right_are_refused(words, what, model, capsys):
    assert polycmp("run", model, "-b", f"openvino:{words}".replace(";", ","), "-b", "onnxrt") == 2
    assert what in capsys.readouterr().err


def test_options_reach_openvino(tmp_path):
    options = Options(precision="f16", hint="latency", threads=2, streams=1, cache_dir=str(tmp_path), config={"A": "B"})
    assert properties(options) == {
        "EXECUTION_MODE_HINT": "ACCURACY",
        "INFERENCE_PRECISION_HINT": "f16",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": 2,
        "NUM_STREAMS": "1",
        "CACHE_DIR": str(tmp_path),
        "A": "B",
    }
    assert "EXECUTION_MODE_HINT" not in properties(Options(own_precision=True))


def test_compiled_models_are_kept_in_the_cache(model, tmp_path):
    words = ("-b", f"openvino:cache_dir={tmp_path / 'cache'},hint=throughput,streams=1", "-b", "onnxrt")
    assert polycmp("run", model, *words) == 0
    assert list((tmp_path / "cache").glob("*.blob"))
    assert polycmp("run", model, *words) == 0


def test_a_requested_precision_is_judged_by_its_rounding(model):
    """Whether or not this CPU calculates in bfloat16, `locate` takes its rounding for no fault."""
    words = ("-b", "openvino:precision=bf16", "-b", "onnxrt", "--input-shapes", "x:[5,8]")
    assert polycmp("locate", model, *words) == 0


def test_the_report_tells_the_version(model, tmp_path):
    assert polycmp("run", model, "-b", "openvino", "-b", "onnxrt", "--report", "report.json") == 0
    assert openvino.__version__.partition("-")[0] in json.dumps(json.loads((tmp_path / "report.json").read_text()))


@pytest.mark.parametrize(
    "kind", ["BFLOAT16", "FLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2", "INT4", "UINT4", "BOOL", "UINT64"]
)
@pytest.mark.parametrize("rows", [1, 3])
def test_types_pass_in_and_out_unchanged(kind, rows):
    number = getattr(TensorProto, kind)
    array = np.array([[0, 1, 1]] * rows).astype(helper.tensor_dtype_to_np_dtype(number))
    with OpenvinoRunner(identity(number)) as runner:
        got = runner.infer({"x": array})["y"]
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got.astype(np.float32), array.astype(np.float32))


def test_scalars_and_empty_tensors_pass():
    with OpenvinoRunner(identity(TensorProto.FLOAT, ())) as runner:
        assert runner.infer({"x": np.array(2.5, np.float32)})["y"] == np.float32(2.5)
    with OpenvinoRunner(identity(TensorProto.FLOAT)) as runner:
        assert runner.infer({"x": np.zeros((0, 3), np.float32)})["y"].shape == (0, 3)


def test_a_scalar_that_nobody_may_write_to_passes():
    value = np.array(2.5, np.float32)
    value.flags.writeable = False
    with OpenvinoRunner(identity(TensorProto.FLOAT, ())) as runner:
        assert runner.infer({"x": value})["y"] == np.float32(2.5)


def test_a_model_in_int8_is_looked_into(tmp_path, monkeypatch, capsys):
    from onnxruntime.quantization import quantize_dynamic

    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "float.onnx")
    quantize_dynamic("float.onnx", "m.onnx")
    for command in ("locate", "run"):
        words = ("--mark-all", "--rtol", "0.1", "--atol", "0.1", "--allow-blind") if command == "run" else ()
        assert polycmp(command, "m.onnx", "-b", "openvino", "-b", "onnxrt", "--input-shapes", "x:[2,8]", *words) == 0
        assert "not writeable" not in printed(capsys)


def test_weights_that_a_file_holds_in_half_precision_are_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "m.onnx")
    model = openvino.Core().read_model("m.onnx")
    for name, half in (("half", True), ("whole", False)):
        openvino.save_model(model, f"{name}.xml", compress_to_fp16=half)
        polycmp("run", f"{name}.xml", "-b", "openvino", "-b", "onnxrt:model=m.onnx", "--input-shapes", "x:[2,8]")
        assert ("in float16, rounded once to that type" in printed(capsys)) is half


@pytest.mark.parametrize(("weight", "half", "status"), [(1.0, True, 0), (1.02, True, 1), (1.0001, False, 1)])
def test_weights_in_half_precision_are_judged_as_such(tmp_path, monkeypatch, weight, half, status):
    """openvino#30041: a saved model was said to differ for the float16 that save_model writes."""
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "m.onnx")
    onnx.save(network(scale=weight), "other.onnx")
    openvino.save_model(openvino.Core().read_model("other.onnx"), "saved.xml", compress_to_fp16=half)
    words = ("-b", "openvino:model=saved.xml", "-b", "onnxrt", "--input-shapes", "x:[64,8]")
    assert polycmp("run", "m.onnx", *words) == status


def test_strings_are_refused_before_they_end_the_process():
    with pytest.raises(BackendError, match="input 'x' holds strings"):
        OpenvinoRunner(identity(TensorProto.STRING)).activate()


def test_an_operator_that_openvino_lacks_is_named():
    node = helper.make_node("Nonsense", ["x"], ["y"], domain="com.example")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    with pytest.raises(BackendError, match="Nonsense"):
        OpenvinoRunner(made).activate()


@pytest.mark.parametrize(
    "text",
    [
        "No conversion rule found for operations: com.example.Nonsense",
        "OpenVINO does not support the following ONNX operations: com.example.Nonsense",
    ],
)
def test_an_operator_that_a_release_lacks_is_named_whatever_the_words(text):
    error = reading_failed(RuntimeError(text), "m.onnx")
    assert isinstance(error, BackendError)
    assert error.what == "has no operator com.example.Nonsense"


def test_what_is_no_model_is_refused_with_its_type():
    with pytest.raises(ModelError, match="int"):
        OpenvinoRunner(7).activate()


def test_an_input_that_only_passes_through_keeps_its_name():
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Dropout", ["x"], ["y"])], "g", values[:1], values[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    with OpenvinoRunner(made) as runner:
        assert list(runner.get_input_metadata()) == ["x"]
        assert list(runner.infer({"x": np.ones(2, np.float32)})) == ["y"]


def test_a_type_that_openvino_does_not_know_is_named_with_what_holds_it(tmp_path, monkeypatch, capsys):
    """No release reads complex numbers, early ones no strings; what OpenVINO says names neither type nor place."""
    monkeypatch.chdir(tmp_path)
    onnx.save(identity(TensorProto.COMPLEX64), "m.onnx")
    np.savez("x.npz", x=np.ones((2, 3), np.complex64))
    assert polycmp("run", "m.onnx", "-b", "openvino", "-b", "onnx", "--load-inputs", "x.npz") == 3
    assert "Unsupported type: 'x' holds complex64, 'y' holds complex64" in printed(capsys)


def test_weights_outside_the_file_are_read(model, tmp_path):
    made = network()
    onnx.save(made, "big.onnx", save_as_external_data=True, location="big.data", size_threshold=0)
    assert polycmp("run", "big.onnx", "-b", "openvino", "-b", "onnxrt:model=m.onnx") == 0


def layers(model, **options):
    """Return the kinds and types of the layers that OpenVINO's CPU runs for a model."""
    compiled = openvino.Core().compile_model(
        openvino.Core().read_model(model.SerializeToString()), "CPU", properties(Options(**options))
    )
    found = [node.get_rt_info() for node in compiled.get_runtime_model().get_ordered_ops()]
    return [(str(info["layerType"].value), str(info["runtimePrecision"].value)) for info in found]


def elementwise():
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 64]) for name in ("x", "z", "y")]
    nodes = [
        helper.make_node("Add", ["x", "z"], ["a"]),
        helper.make_node("Sigmoid", ["a"], ["s"]),
        helper.make_node("Mul", ["s", "x"], ["m"]),
        helper.make_node("Exp", ["m"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "elementwise", values[:2], values[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def quantized():
    """A convolution between a quantized input and quantized weights."""
    weight = np.random.default_rng(0).integers(-127, 127, (8, 8, 3, 3)).astype(np.int8)
    arrays = {"xs": np.float32(0.03), "xz": np.uint8(128), "ws": np.float32(0.01), "wz": np.int8(0), "wq": weight}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "xs", "xz"], ["d"]),
        helper.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["w"]),
        helper.make_node("Conv", ["d", "w"], ["y"], "conv"),
    ]
    ends = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 8, 8])]
    made = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 6, 6])]
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "quantized", ends, made, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_operators_are_not_joined_where_that_is_left_out():
    assert "Subgraph" in {kind for kind, _ in layers(elementwise())}
    assert "Subgraph" not in {kind for kind, _ in layers(elementwise(), disable=("snippets",))}


def test_a_quantized_model_is_computed_in_float_where_integers_are_left_out():
    assert ("Convolution", "u8") in layers(quantized())
    assert ("Convolution", "f32") in layers(quantized(), disable=("low_precision",))


def test_what_can_be_left_out_leaves_the_results_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(elementwise(), "m.onnx")
    backends = [f"openvino:disable={name}" for name in OPTIMIZATIONS]
    assert polycmp("run", "m.onnx", *(word for item in backends for word in ("-b", item)), "-b", "onnxrt") == 0


def test_an_optimization_that_cannot_be_left_out_is_named_with_those_that_can(model, capsys):
    assert polycmp("run", model, "-b", "openvino:disable=all", "-b", "onnxrt") == 2
    assert "'all' cannot be left out; known: snippets, low_precision" in printed(capsys)


def test_searches_can_leave_out_what_openvino_does_by_default():
    switches = OpenvinoTools().switches
    assert switches[0].option == "disable"
    assert set(switches[0].values) == set(OPTIMIZATIONS)
    for switch in switches:  # each setting is one that the options take
        values = [switch.values] if switch.option == "disable" else switch.values
        assert all(getattr(Options(**{switch.option: value}), switch.option) == value for value in values)
