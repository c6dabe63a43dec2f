"""Looking inside a model that TensorRT runs: all tensors in windows, and the first that goes wrong."""

from __future__ import annotations

import faulty_models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import save_graph

from polycmp.model import Model
from polycmp.plugins import Registry
from polycmp_trt import NetworkFromOnnxPath, create_config
from polycmp_trt.build.timing_cache import SharedTimings, timings_of_process
from polycmp_trt.factory import make_runner
from polycmp_trt.options import Options

pytestmark = pytest.mark.gpu


def test_all_tensors_in_windows(call, tmp_path):
    model = faulty_models.chain(tmp_path / "chain.onnx")
    for memory in ("1G", "20K"):
        words = ("run", model, "-b", "trt", "-b", "onnxrt", "--mark-all", "--max-memory", memory, "--atol", "1e-3")
        status, text, report = call(*words)
        assert status == 0, text
        [pair] = report["comparison_results"]
        assert list(pair["outputs"]) == [f"{kind}{i}" for i in range(1, 12) for kind in ("conv", "relu")] + [
            "conv12",
            "y",
        ]


def test_shapes_of_dynamic_inputs_reach_every_part(call, dynamic):
    shapes = ("--input-shapes", "x:[3,64,32,32]", "--atol", "1e-3", "--rtol", "1e-3")
    for words in (("run", "--mark-all", "--max-memory", "64K"), ("locate",), ("locate", "--bisect")):
        status, text, _ = call(words[0], dynamic, "-b", "trt", "-b", "onnxrt", *words[1:], *shapes)
        assert status == 0, text


def test_parts_take_over_the_timings_of_the_whole_or_a_note_says_why_not(convolutions):
    timings_of_process.cache_clear()
    whole = Model(convolutions, Registry.discover())
    with make_runner(whole, Options(), name="trt") as runner:
        assert not runner.notes
    builder, network, _ = NetworkFromOnnxPath(convolutions)()
    config, timings = create_config(builder, network), SharedTimings()
    before = len(bytes(config.get_timing_cache().serialize()))
    timings.lend(config)
    taken = len(bytes(config.get_timing_cache().serialize())) > before
    assert taken is not bool(timings.notes)
    graph = whole.graph()
    part = make_runner(whole.part(graph.cut(graph.inputs, ["c0"])), Options(), name="trt")
    with part:
        assert part.infer({"x": np.ones((2, 64, 32, 32), np.float32)})["c0"].shape == (2, 64, 32, 32)
    assert part.notes == timings.notes


@pytest.mark.parametrize("way", [(), ("--bisect",), ("--use-subprocess",)], ids=["all", "bisect", "process"])
def test_a_changed_weight_is_found(call, tmp_path, way):
    good, bad = faulty_models.chain(tmp_path / "good.onnx"), faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    status, text, report = call("locate", bad, "-b", "trt", "-b", f"onnxrt:name=ref,model={good}", *way)
    assert status == 1, text
    assert "FOUND: wrong: Conv 'c8'" in text
    assert report["first_bad"] == "conv8"


def test_what_float16_rounds_is_no_fault_if_it_was_asked_for(call, tmp_path):
    rng = np.random.default_rng(0)
    nodes, weights, source = [], {}, "x"
    for number in range(6):
        weight = (rng.standard_normal((64, 64)) / 8).astype(np.float32)
        weights[f"w{number}"] = weight
        target = "y" if number == 5 else f"t{number}"
        nodes.append(helper.make_node("MatMul", [source, f"w{number}"], [target], name=f"m{number}"))
        source = target
    model = faulty_models.save(tmp_path / "products.onnx", nodes, [64, 64], weights)
    tight = "trt:fp16,precision_constraints=obey,layer_precisions=m2:float16"
    status, text, report = call("locate", model, "-b", tight, "-b", "trt")
    assert status == 0, text
    assert "rounding to float16" in report["sentence"], text
    good = faulty_models.chain(tmp_path / "good.onnx")
    bad = faulty_models.chain(tmp_path / "bad.onnx", changed=8)
    status, text, report = call("locate", bad, "-b", "trt:fp16", "-b", f"onnxrt:name=ref,model={good}")
    assert (status, report["first_bad"]) == (1, "conv8"), text


def overflowing(path):
    """Write two products of which float16 cannot hold the first.

    The matrices are large enough that float16 is the faster in every build of the whole.
    """
    size, rng = 2048, np.random.default_rng(3)
    nodes = [
        helper.make_node("MatMul", ["x", "w_up"], ["large"], name="up"),
        helper.make_node("Relu", ["large"], ["kept"], name="relu"),
        helper.make_node("MatMul", ["kept", "w_down"], ["y"], name="down"),
    ]
    weights = {
        "w_up": rng.uniform(200, 600, (size, size)).astype(np.float32),
        "w_down": rng.uniform(-1e-3, 1e-3, (size, size)).astype(np.float32),
    }
    return faulty_models.save(path, nodes, [size, size], weights)


def test_parts_calculate_in_the_types_that_the_builder_chose_for_the_whole(call, tmp_path):
    """Left to itself the builder takes float32 where every tensor is an output, and nothing overflows any more."""
    model = overflowing(tmp_path / "m.onnx")
    status, text, report = call("locate", model, "-b", "trt:fp16", "-b", "onnxrt")
    # Which of its tensors the builder leaves in float16 hangs on the times that it measured.
    assert (status, report["first_bad"] in {"large", "kept", "y"}) == (1, True), text
    assert any("whose largest number is 65504" in note for note in report["notes"]), text


def test_what_is_calculated_in_float32_is_handed_on_in_float32(call, tmp_path):
    model = overflowing(tmp_path / "m.onnx")
    for names, status in ((("up", "relu", "down"), 0), (("up", "relu"), 1)):
        kept = ",".join(f"{name}:float32" for name in names)
        candidate = f"trt:fp16,precision_constraints=obey,layer_precisions=[{kept}]"
        assert call("run", model, "-b", candidate, "-b", "onnxrt")[0] == status


def edge_scores(path):
    """Write the scores of edges in a graph network: rows of one table times those of another, summed by heads.

    TensorRT 8.6 compiles it as a whole, and reads what nothing wrote: NVIDIA/TensorRT#3645.
    """
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Gather", ["center", "rows"], ["g"], name="gather"),
        helper.make_node("MatMul", ["g", "w_query"], ["q0"], name="query"),
        helper.make_node("Add", ["q0", "b_query"], ["q1"], name="query_bias"),
        helper.make_node("Reshape", ["q1", "heads"], ["q"], name="query_heads"),
        helper.make_node("MatMul", ["neighbour", "w_key"], ["k0"], name="key"),
        helper.make_node("Add", ["k0", "b_key"], ["k1"], name="key_bias"),
        helper.make_node("Reshape", ["k1", "heads"], ["k"], name="key_heads"),
        helper.make_node("Mul", ["q", "k"], ["qk"], name="times"),
        helper.make_node("ReduceSum", ["qk", "last"], ["y"], name="sum", keepdims=0),
    ]
    shapes = {"w_query": (64, 64), "b_query": (64,), "w_key": (64, 64), "b_key": (64,)}
    weights = [(name, (rng.standard_normal(shape) / 8).astype(np.float32)) for name, shape in shapes.items()]
    weights += [("heads", np.int64([-1, 8, 8])), ("last", np.int64([-1]))]
    inputs = [("center", TensorProto.FLOAT, [20, 64]), ("neighbour", TensorProto.FLOAT, [100, 64])]
    inputs += [("rows", TensorProto.INT64, [100])]
    return save_graph(path, nodes, inputs, [("y", TensorProto.FLOAT, [100, 8])], weights, opset=13)


def test_what_is_compiled_wrongly_together_is_named_with_the_outputs_that_keep_it_apart(call, tmp_path):
    model, marked = edge_scores(tmp_path / "m.onnx"), str(tmp_path / "marked.onnx")
    if call("run", model, "-b", "trt", "-b", "onnxrt")[0] == 0:
        pytest.skip("this TensorRT computes it rightly")
    status, text, report = call("locate", model, "-b", "trt", "-b", "onnxrt", "--save-marked", marked)
    assert (status, report["words"]) == (1, "probing removes the fault"), text
    assert {"times", "sum"} <= {node["name"] for node in report["fused"]["operators"]}, text
    assert report["fused"]["replaced_by"], text
    assert call("run", marked, "-b", "trt", "-b", "onnxrt")[0] == 0


def test_layers_of_an_engine_are_written_as_a_model(call, convolutions, tmp_path):
    layers = tmp_path / "layers.onnx"
    status, text, _ = call("run", convolutions, "-b", f"trt:save_layers={layers}", "-b", "onnxrt")
    assert status == 0, text
    graph = onnx.load(layers).graph
    assert [value.name for value in (*graph.input, *graph.output)] == ["x", "y"]
    [first, second] = graph.node
    assert (list(first.input), list(second.output)) == (["x"], ["y"]), "copies into other layouts are left out"
    assert list(first.output) == list(second.input)
    assert "conv0" in first.name
    assert "relu0" in first.name


def test_what_tensorrt_does_not_show_is_left_out(call, tmp_path):
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], name="shape"),
        helper.make_node("Equal", ["s", "none"], ["free"], name="equal"),
        helper.make_node("Where", ["free", "one", "s"], ["target"], name="where"),
        helper.make_node("Expand", ["x", "target"], ["e0"], name="expand"),
        *(helper.make_node("Neg", [f"e{i}"], [f"e{i + 1}"], name=f"neg{i}") for i in range(8)),
        helper.make_node("Relu", ["e8"], ["y"], name="relu"),
    ]
    weights = {"none": np.int64([-1, -1]), "one": np.int64([1, 1])}
    model = faulty_models.save(tmp_path / "m.onnx", nodes, ["n", 8], weights)
    words = ("-b", "trt", "-b", "onnxrt", "--input-shapes", "x:[3,8]", "--atol", "1e-4")
    status, text, report = call("run", model, "--mark-all", *words)
    assert status == 0, text
    assert {*(f"e{i}" for i in range(9)), "y"} <= set(report["comparison_results"][0]["outputs"]), text
    assert "trt: does not show 3 tensors inside the model" in " ".join(text.split())
    status, text, _ = call("locate", model, *words)
    assert status == 0, text
