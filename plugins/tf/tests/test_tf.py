"""TensorFlow and LiteRT keep the contract of runners, and what users see of the backend `tf`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import flatbuffers
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.cli.main import main
from polycmp.model import Model
from polycmp.plan import Plan, plan_backends
from polycmp.plugins import Registry
from polycmp.runs import resolve
from polycmp.testing import RunnerContract
from polycmp_tf import TfFromFile, TfRunner, lite
from polycmp_tf.plugin import Options

pytest.importorskip("tensorflow", reason="needs TensorFlow: make test-tf")

#: Makes the models in a process of its own: converters print what nobody asked for.
MAKE = """
import keras, numpy as np, tensorflow as tf
image = keras.Input((4, 5, 3), name="image")
hidden = keras.layers.Conv2D(2, 3, name="hidden")(image)
model = keras.Model(image, [hidden, keras.layers.Flatten(name="flat")(keras.layers.ReLU()(hidden))])
weights = np.random.default_rng(3)
model.set_weights([weights.standard_normal(item.shape).astype(np.float32) for item in model.get_weights()])
model.save("net.keras"); model.save("net.h5"); model.save_weights("net.weights.h5")
model.export("saved", verbose=False)
open("net.tflite", "wb").write(tf.lite.TFLiteConverter.from_saved_model("saved").convert())
converter = tf.lite.TFLiteConverter.from_saved_model("saved")
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = lambda: ([weights.random((1, 4, 5, 3), np.float32)] for _ in range(9))
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
open("codes.tflite", "wb").write(converter.convert())
converter.inference_input_type, converter.inference_output_type = tf.uint8, tf.int8
open("ends.tflite", "wb").write(converter.convert())
converter = tf.lite.TFLiteConverter.from_saved_model("saved")
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.target_spec.supported_types = [tf.float16]
open("half.tflite", "wb").write(converter.convert())
model.set_weights([item * 0 for item in model.get_weights()]); model.save("zero.keras")
"""


class _Net:
    """The same in NumPy, and as an ONNX model with channels first."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.kernel = rng.standard_normal((3, 3, 3, 2)).astype(np.float32)
        self.bias = rng.standard_normal(2).astype(np.float32)

    def __call__(self, image):
        patches = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
        hidden = (np.einsum("nyxcij,ijco->nyxo", patches, self.kernel) + self.bias).astype(np.float32)
        return hidden, np.maximum(hidden, 0).reshape(len(image), -1)

    def onnx(self):
        weights = [numpy_helper.from_array(np.ascontiguousarray(self.kernel.transpose(3, 2, 0, 1)), "w"),
                   numpy_helper.from_array(self.bias, "b")]  # fmt: skip
        node = helper.make_node("Conv", ["image", "w", "b"], ["hidden"])
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *dims]) for name, dims in
                  (("image", (3, 4, 5)), ("hidden", (2, 2, 3)))]  # fmt: skip
        graph = helper.make_graph([node], "net", values[:1], values[1:], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


NET = _Net()
SAVED_NAMES = {"output_0": "hidden", "output_1": "flat"}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    subprocess.run([sys.executable, "-c", MAKE], cwd=folder, check=True, capture_output=True)
    onnx.save(NET.onnx(), folder / "net.onnx")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def polycmp(*words):
    return main([str(word) for word in words])


def printed(capsys):
    """Everything that was written, with the breaks of tables taken out."""
    streams = capsys.readouterr()
    return " ".join((streams.out + streams.err).split())


class _Contract(RunnerContract):
    capabilities = frozenset({"dynamic_shapes"})
    rtol = 1e-4
    atol = 1e-5
    file = ""
    options = Options()

    @pytest.fixture(autouse=True)
    def _made(self, made):
        self.folder = made

    def load(self):
        return TfFromFile(self.folder / self.file, self.options)()

    def make_runner(self, load):
        return TfRunner(load, "tf", self.options)

    def feeds(self):
        rng = np.random.default_rng(1)
        return [{"image": rng.standard_normal((2, 4, 5, 3)).astype(np.float32)} for _ in range(2)]

    def other_shapes(self):
        return {"image": np.ones((3, 4, 5, 3), np.float32)}

    def expected(self, feed):
        return dict(zip(("hidden", "flat"), NET(feed["image"]), strict=True))


class TestKeras(_Contract):
    file = "net.keras"


class TestSavedModel(_Contract):
    file = "saved"
    options = Options(rename=SAVED_NAMES)


class TestFrozenOnTheWay(_Contract):
    file = "saved"
    options = Options(rename=SAVED_NAMES, freeze_graph=True)


class TestLite(_Contract):
    file = "net.tflite"
    options = Options(rename=SAVED_NAMES, threads=1)


def test_forms_of_a_model_agree(folder):
    names = ",rename=[output_0:hidden,output_1:flat]"
    forms = ("net.h5", "saved/saved_model.pb" + names, "net.tflite" + names)
    words = [word for form in forms for word in ("-b", f"tf:model={form}")]
    assert polycmp("run", "net.keras", *words, "-b", "tf:xla", "-b", "tf") == 0


def test_the_folder_of_a_saved_model_is_a_model(folder, capsys):
    names = "rename=[output_0:hidden,output_1:flat]"
    assert polycmp("run", "net.keras", "-b", f"tf:model=saved,{names}", "-b", "tf") == 0
    assert polycmp("run", "saved", "-b", "tf:xla", "-b", "tf") == 0
    assert polycmp("inspect", "model", "saved") == 0
    assert "image: float32[-1,4,5,3]" in printed(capsys)
    shutil.rmtree("saved/variables")
    assert polycmp("run", "saved", "-b", "tf") == 3
    assert "cannot read saved" in printed(capsys)


@pytest.mark.parametrize(
    ("model", "command"),
    [
        ("saved", "python -m tf2onnx.convert --saved-model saved --output model.onnx"),
        ("saved/saved_model.pb", "python -m tf2onnx.convert --saved-model saved --output model.onnx"),
        ("net.keras", "python -m tf2onnx.convert --keras net.keras --output model.onnx"),
        ("net.tflite", "python -m tf2onnx.convert --tflite net.tflite --output model.onnx"),
    ],
)
def test_a_backend_for_onnx_says_how_the_model_is_converted(model, command, folder, capsys):
    assert polycmp("run", model, "-b", "onnxrt", "-b", "tf") in {2, 3}
    assert command in printed(capsys)


@pytest.mark.parametrize(
    ("model", "output"),
    [
        ("saved", "output_0: float32["),
        ("net.keras", "hidden: float32["),
        ("net.tflite", "output_0: float32["),
    ],
)
def test_inputs_and_outputs_of_a_model_are_shown(model, output, folder, capsys):
    assert polycmp("inspect", "model", model) == 0
    shown = printed(capsys)
    inputs, _, outputs = shown.partition("outputs:")
    assert "image: float32[-1,4,5,3]" in inputs
    assert output in outputs


def test_the_files_of_a_saved_model_belong_to_it(folder):
    model = Model("saved/saved_model.pb", Registry.discover())
    assert "saved/variables/variables.index" in set(model.files())
    assert "saved/saved_model.pb" not in set(model.files())


def test_an_onnx_model_is_compared_with_channels_first(folder):
    form = "tf:model=saved/saved_model.pb,outputs=output_0,rename=[output_0:hidden],nchw=[image,hidden]"
    assert polycmp("run", "net.onnx", "-b", form, "-b", "onnxrt", "--input-shapes", "image:[2,3,4,5]") == 0


def test_rounding_is_estimated_by_the_graph_that_one_side_shows(folder, capsys):
    model = onnx.load("net.onnx")
    model.graph.node[0].output[0] = "half"
    model.graph.node.append(helper.make_node("Add", ["half", "half"], ["hidden"]))
    onnx.save(model, "double.onnx")
    form = "tf:model=net.keras,outputs=hidden,nchw=[image,hidden]"
    assert polycmp("run", "double.onnx", "-b", "onnxrt", "-b", form, "--input-shapes", "image:[2,3,4,5]") == 1
    assert "float32 in 2 operators in a row, estimated" in printed(capsys)


def test_layouts_are_not_guessed(folder):
    words = ("-b", "tf:model=saved/saved_model.pb,outputs=output_0,rename=[output_0:hidden]", "-b", "onnxrt")
    assert polycmp("run", "net.onnx", *words) != 0


def test_other_weights_are_found_and_a_checkpoint_mends_them(folder):
    assert polycmp("run", "net.keras", "-b", "tf:model=zero.keras", "-b", "tf") == 1
    assert polycmp("run", "net.keras", "-b", "tf:model=zero.keras,ckpt=net.weights.h5", "-b", "tf") == 0


def test_a_frozen_graph_is_written_and_shows_any_tensor(folder, capsys):
    assert polycmp("run", "net.keras", "-b", "tf", "--freeze-graph", "--save-pb", "frozen.pb") == 0
    assert polycmp("run", "frozen.pb", "-b", "tf", "-b", "tf:xla") == 0
    assert polycmp("inspect", "model", "frozen.pb") == 0
    assert "image: float32[-1,4,5,3]" in printed(capsys)
    assert polycmp("run", "frozen.pb", "-b", "tf", "--tf-outputs", "no/such/tensor") != 0
    assert "no/such/tensor" in printed(capsys)


def test_graph_and_profile_are_written(folder):
    assert polycmp("run", "net.keras", "-b", "tf", "--save-tensorboard", "logs", "--save-timeline", "profile") == 0
    assert list(Path("logs").glob("*tfevents*"))
    assert list(Path("profile").rglob("*.pb"))


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--gpu-memory-fraction", "0.5"), "allow_growth"),
        (("--tftrt",), "-b trt"),
        (("--use-tftrt",), "-b trt"),
        (("--minimum-segment-size", "3"), "-b trt"),
        (("--dynamic-op",), "-b trt"),
        (("--opset", "13"), "tf2onnx"),
        (("--tf-threads", "0"), "at least 1"),
    ],
)
def test_options_of_tensorflow_1_say_what_replaced_them(words, what, folder, capsys):
    assert polycmp("run", "net.keras", "-b", "tf", *words) == 2
    assert what in printed(capsys)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("bad.pb", "-b", "tf"), "is not a frozen graph"),
        (("bad.keras", "-b", "tf"), "cannot read bad.keras"),
        (("bad.tflite", "-b", "tf"), "is not a LiteRT model"),
        (("empty", "--model-type", "tf", "-b", "tf"), "saved_model.pb"),
        (("saved", "--model-type", "tf", "-b", "tf:signature=nothing"), "no signature 'nothing'"),
        (("net.keras", "-b", "tf:outputs=nothing"), "no output 'nothing'"),
        (("net.tflite", "-b", "tf:xla"), "has no effect"),
        (("saved", "--model-type", "tf", "-b", "tf:ckpt=net.weights.h5"), "Keras models"),
    ],
)
def test_what_cannot_be_is_an_error_in_words(words, what, folder, capsys):
    (folder / "empty").mkdir()
    for name in ("bad.pb", "bad.keras", "bad.tflite"):
        (folder / name).write_text("nonsense")
    assert polycmp("run", *words) in {2, 3}
    text = printed(capsys)
    assert what in text
    assert "Traceback" not in text and "fault of polycmp" not in text


def located(*words):
    """Return the exit status and the report of a search."""
    status = polycmp("locate", *words, "--report", "report.json")
    return status, json.loads(Path("report.json").read_text("utf-8"))


def halve_the_weights(source, target):
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(Path(source).read_bytes(), 0)
    graph = model.subgraphs[0]
    convolution = next(item for item in graph.operators if len(item.inputs) == 3)
    buffer = model.buffers[graph.tensors[convolution.inputs[1]].buffer]
    values = np.array(buffer.data)
    buffer.data = (values.view(np.float32) / 2).view(np.uint8)
    builder = flatbuffers.Builder(1 << 12)
    builder.Finish(model.Pack(builder), b"TFL3")
    Path(target).write_bytes(bytes(builder.Output()))


def test_operators_inside_a_lite_model_are_compared_one_by_one(folder):
    status, report = located("net.tflite", "-b", "tf", "-b", "tf:kernels=reference")
    assert status == 0
    operators = [row["operator"] for row in report["tensors"]]
    assert "Conv" in operators
    assert "Relu" in operators


def test_a_wrong_weight_in_a_lite_model_is_found_at_its_operator(folder):
    halve_the_weights("net.tflite", "wrong.tflite")
    status, report = located("wrong.tflite", "net.tflite", "-b", "tf")
    assert status == 1
    assert report["operator"]["type"] == "Conv"
    assert "run alone on the reference's tensors, it is wrong as well" in report["sentence"]


def test_a_wrong_weight_is_found_where_litert_runs_in_another_environment(folder):
    """Its parts go there as files, what precedes an activation among them."""
    halve_the_weights("net.tflite", "wrong.tflite")
    there = f"tf:python={sys.executable},name=there"
    status, report = located("wrong.tflite", "-b", there, "-b", "tf:kernels=reference,model=net.tflite")
    assert (status, report["operator"]["type"]) == (1, "Conv")
    assert "run alone on the reference's tensors, it is wrong as well" in report["sentence"]
    status, report = located("net.tflite", "-b", there, "-b", "tf:kernels=reference")
    assert (status, report["words"]) == (0, "equal")


def test_a_part_of_a_lite_model_runs_on_the_kernels_of_who_runs_it(folder, monkeypatch):
    """Searches turn a backend's options while they go through the parts of one graph."""
    asked = []
    made = lite.interpreter

    def interpreter(kernels, *words, **more):
        asked.append(kernels)
        return made(kernels, *words, **more)

    monkeypatch.setattr(lite, "interpreter", interpreter)
    registry = Registry.discover()
    plan = Plan(model="net.tflite", backends=plan_backends(["tf:kernels=builtin"], {}, registry))
    backend = resolve(plan, registry).backends[0]
    graph = backend.model.graph()
    part = graph.cut(graph.inputs, graph.outputs)
    for each in (backend, backend.with_option("kernels", "reference")):
        with each.make_runner(part):
            pass
    assert asked == ["builtin", "reference"]


def test_a_lite_model_that_keeps_a_state_is_compared_by_its_outputs_alone(folder, capfd):
    code = """
import tensorflow as tf
class Sum(tf.Module):
    def __init__(self):
        super().__init__()
        self.state = tf.Variable(tf.zeros((1, 3)))
    @tf.function(input_signature=[tf.TensorSpec((1, 3), tf.float32, name="x")])
    def __call__(self, x):
        return self.state.assign_add(x) * 2
model = Sum()
converter = tf.lite.TFLiteConverter.from_concrete_functions([model.__call__.get_concrete_function()], model)
converter.experimental_enable_resource_variables = True
open("state.tflite", "wb").write(converter.convert())
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    sides = ("-b", "tf", "-b", "tf:kernels=reference")
    assert main(["run", "state.tflite", *sides]) == 0
    assert main(["locate", "state.tflite", *sides]) == 2
    assert "outputs can be compared: polycmp run" in " ".join(capfd.readouterr().err.split())


def test_a_lite_model_is_searched_beside_onnx_with_its_channels_turned(folder):
    model = NET.onnx()
    shape = numpy_helper.from_array(np.array([-1, 12], np.int64), "shape")
    model.graph.initializer.append(shape)
    model.graph.node.extend(
        [
            helper.make_node("Relu", ["hidden"], ["cut"]),
            helper.make_node("Transpose", ["cut"], ["turned"], perm=[0, 2, 3, 1]),
            helper.make_node("Reshape", ["turned", "shape"], ["flat"]),
        ]
    )
    model.graph.output.append(helper.make_tensor_value_info("flat", TensorProto.FLOAT, ["n", 12]))
    onnx.save(model, "whole.onnx")
    turned = "nchw=*,rename=[output_0:hidden,output_1:flat]"
    status, report = located("whole.onnx", "-b", f"tf:model=net.tflite,{turned}", "-b", "onnxrt")
    assert status == 0
    assert {"Conv", "Relu"} <= {row["operator"] for row in report["tensors"]}
    halve_the_weights("net.tflite", "wrong.tflite")
    status, report = located("whole.onnx", "-b", f"tf:model=wrong.tflite,{turned}", "-b", "onnxrt")
    assert status == 1
    assert report["operator"]["type"] == "Conv"


def test_rounding_to_codes_is_no_fault(folder):
    status, report = located("codes.tflite", "net.tflite", "-b", "tf")
    assert status == 0
    assert "int8" in report["sentence"]


def test_inputs_and_outputs_that_are_codes_are_compared_as_the_numbers_that_they_stand_for(folder, capfd):
    """tensorflow#53278: outputs in int8 are not those of the model, but steps of a scale."""
    assert main(["run", "ends.tflite", "-b", "tf", "-b", "tf:kernels=reference"]) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert "'image' holds codes of real numbers, image * 0.0039" in said
    assert "with the option dequantize, as in -b tf:dequantize" in said
    sides = ("-b", "tf:dequantize", "-b", "tf:model=saved", "--val-range", "[0,1]")
    assert main(["run", "ends.tflite", *sides]) == 0
    assert "holds codes" not in capfd.readouterr().out
    status, report = located("ends.tflite", "-b", "tf:dequantize", "-b", "tf:model=net.tflite", "--val-range", "[0,1]")
    assert (status, report["words"]) == (0, "within rounding")
    halve_the_weights("net.tflite", "wrong.tflite")
    assert main(["run", "ends.tflite", *sides[:3], "tf:model=wrong.tflite", *sides[4:]]) == 1


def test_weights_in_float16_are_no_fault(folder):
    status, report = located("half.tflite", "net.tflite", "-b", "tf")
    assert status == 0
    assert "float16" in report["sentence"]
    assert main(["run", "half.tflite", "net.tflite", "-b", "tf"]) == 0


def test_numbers_beyond_float32_inside_are_told(tmp_path, monkeypatch, capfd):
    """xla#42732 and jax#38099: log of exp of 89 is infinite in eager mode, and 89 where XLA leaves out both."""
    monkeypatch.chdir(tmp_path)
    code = """
import tensorflow as tf
class Both(tf.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.one = function, tf.Variable(1.0)
    @tf.function(input_signature=[tf.TensorSpec((3,), tf.float32, name="x")])
    def __call__(self, x):
        return {"y": self.function(x * self.one), "z": x}
tf.saved_model.save(Both(lambda x: tf.math.log(tf.exp(x))), "beyond")
tf.saved_model.save(Both(tf.math.log), "pole")
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    np.savez("x.npz", x=np.array([0, 1, 89], np.float32))
    for name, is_told in (("beyond", True), ("pole", False)):
        main(["run", name, "-b", "tf:xla", "-b", "tf", "--load-inputs", "x.npz"])
        said = " ".join(capfd.readouterr().out.split())
        assert ("tf: a number inside is beyond float32: 1 of 3 elements of 'y'" in said) == is_told, said
        assert "tf:xla: a number inside" not in said


def test_values_that_a_model_keeps_for_its_next_call_are_told(tmp_path, monkeypatch, capfd):
    """keras-onnx#676: a stateful LSTM answered otherwise the second time, and nobody said why."""
    monkeypatch.chdir(tmp_path)
    code = """
import tensorflow as tf
class Sum(tf.Module):
    def __init__(self, share):
        super().__init__()
        self.total, self.share = tf.Variable([0.0, 0.0], name="total"), share
    @tf.function(input_signature=[tf.TensorSpec((2,), tf.float32, name="x")])
    def __call__(self, x):
        return {"y": self.total.assign_add(self.share * x) + x}
tf.saved_model.save(Sum(1.0), "kept")
tf.saved_model.save(Sum(0.0), "same")
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    np.savez("x.npz", x=np.ones(2, np.float32))
    for name, is_told in (("kept", True), ("same", False)):
        main(["run", name, "-b", "tf", "--load-inputs", "x.npz"])
        said = " ".join(capfd.readouterr().out.split())
        assert ("keeps 'total' from one call to the next" in said) == is_told, said


def test_xla_says_which_results_are_left_open_of_what_it_was_fed(tmp_path, monkeypatch, capfd):
    """tensorflow#57029 and #126212: a shift by less than nothing, and integers of NaN, are no fault of either mode."""
    monkeypatch.chdir(tmp_path)
    code = """
import tensorflow as tf
class Open(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((3,), tf.int32, name="x"), tf.TensorSpec((3,), tf.int32, name="n"),
                                  tf.TensorSpec((4,), tf.float32, name="f")])
    def __call__(self, x, n, f):
        return {"y": tf.bitwise.right_shift(x, n), "z": tf.cast(f, tf.int32)}
tf.saved_model.save(Open(), "open")
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    whole, real = np.array([1, 2, 3], np.int32), np.array([1.5, np.nan, 3e9, -7], np.float32)
    words = ("run", "open", "-b", "tf:xla", "-b", "tf", "--load-inputs", "x.npz")
    np.savez("x.npz", x=whole, n=np.array([-1, 0, 32], np.int32), f=real)
    main([*words])
    said = " ".join(capfd.readouterr().out.split())
    assert "RightShift" in said
    assert "shifts by less than 0, or by all bits, in 2 of 3 elements" in said
    assert "makes int32 of NaN or of more in 2 of 4 elements" in said
    np.savez("x.npz", x=whole, n=np.array([1, 0, 31], np.int32), f=np.array([1.5, -2147483648.0, 3, -7], np.float32))
    assert main([*words]) == 0
    assert "leaves open" not in capfd.readouterr().out
