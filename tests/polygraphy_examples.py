"""The examples and how-tos of Polygraphy's documentation, by name: the shape of each, or why it is refused.

A line holds the exit statuses of Polygraphy and of polycmp, and a command, where TOOL stands for the program's name; a
line that begins with `python` runs a program of `PROGRAMS`. Models are small ones of our own.
`python polygraphy_examples.py` puts the table into `docs/coming-from-polygraphy.md`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PAGE = Path(__file__).parents[1] / "docs" / "coming-from-polygraphy.md"
MARKS = "<!-- examples: made by tests/polygraphy_examples.py -->", "<!-- end of examples -->"

#: What the examples do that need neither TensorRT nor TensorFlow 1; `--trt` has become another backend.
SAME = {
    "api/01_comparing_frameworks": ["0 0 python compare.py"],
    "api/02_validating_on_a_dataset": ["0 0 python validate.py"],
    "api/08_working_with_run_results_and_saved_inputs_manually": [
        "0 0 TOOL run identity.onnx --onnxrt --save-inputs inputs.json --save-outputs outputs.json",
        "0 0 python results.py",
    ],
    "api/10_streaming_accuracy_on_large_datasets": ["0 0 python golden.py", "0 0 python streaming.py"],
    "cli/check/01_linting_an_onnx_model": ["1 1 TOOL check lint bad_graph.onnx -o report.json"],
    "cli/convert/04_converting_models_to_fp16": [
        "0 0 TOOL convert --fp-to-fp16 -o identity_fp16.onnx identity.onnx",
        "0 0 TOOL inspect model identity_fp16.onnx",
        "0 0 TOOL run --onnxrt identity.onnx --save-inputs inputs.json --save-outputs outputs_fp32.json",
        "0 0 TOOL run --onnxrt identity_fp16.onnx --load-inputs inputs.json --load-outputs outputs_fp32.json"
        " --atol 0.001 --rtol 0.001",
        "0 0 TOOL run --onnxrt identity_fp16.onnx --onnx-outputs mark all --validate",
    ],
    "cli/debug/02_reducing_failing_onnx_models": [
        "0 0 TOOL surgeon sanitize affine.onnx -o folded.onnx --fold-constants"
        " --override-input-shapes x0:[1,3,8,8] x1:[1,3,8,8]",
        "0 0 TOOL run folded.onnx --onnxrt --save-inputs inputs.json --onnx-outputs mark all"
        " --save-outputs layerwise_golden.json",
        "0 0 TOOL data merge inputs.json layerwise_golden.json -o layerwise_inputs.json",
        "0 0 TOOL debug reduce folded.onnx -o initial_reduced.onnx --mode=bisect --load-inputs layerwise_inputs.json"
        " --check TOOL run TOOL_debug.onnx --onnxrt --load-inputs layerwise_inputs.json"
        " --load-outputs layerwise_golden.json",
        "0 0 TOOL debug reduce folded.onnx -o initial_reduced.onnx --mode=bisect --fail-regex Op:.Mul"
        " --check TOOL inspect model TOOL_debug.onnx --show layers",
        "0 0 TOOL inspect model initial_reduced.onnx --show layers",
        "0 0 TOOL debug reduce initial_reduced.onnx -o final_reduced.onnx --mode=linear --fail-regex Op:.Mul"
        " --check TOOL inspect model TOOL_debug.onnx --show layers",
        "0 0 TOOL inspect model final_reduced.onnx --show layers",
    ],
    "cli/inspect/03_inspecting_an_onnx_model": [
        "0 0 TOOL inspect model identity.onnx --show layers",
        "0 0 TOOL inspect model identity.onnx --show layers attrs weights",
    ],
    "cli/inspect/05_inspecting_inference_outputs": [
        "0 0 TOOL run identity.onnx --onnxrt --save-outputs outputs.json",
        "0 0 TOOL inspect data outputs.json --show-values",
    ],
    "cli/inspect/06_inspecting_input_data": [
        "0 0 TOOL run identity.onnx --onnxrt --save-inputs inputs.json",
        "0 0 TOOL inspect data inputs.json --show-values",
    ],
    "cli/run/01_comparing_frameworks": [
        "0 0 TOOL run dynamic_identity.onnx --pluginref --onnxrt",
        "0 0 TOOL run dynamic_identity.onnx --pluginref --onnxrt --input-shapes X:[1,2,4,4]",
        "0 0 TOOL run dynamic_identity.onnx --pluginref --onnxrt --input-shapes X:[1,2,4,4]"
        " --atol 0.001 --rtol 0.001 --check-error-stat median",
        "0 0 TOOL run dynamic_identity.onnx --pluginref --onnxrt --onnx-outputs mark all --fail-fast",
    ],
    "cli/run/02_comparing_across_runs": [
        "0 0 TOOL run identity.onnx --onnxrt --save-inputs inputs.json --save-outputs run_0_outputs.json",
        "0 0 TOOL run identity.onnx --onnxrt --load-inputs inputs.json --load-outputs run_0_outputs.json",
        "0 0 TOOL run identity.onnx --onnxrt --load-inputs inputs.json --load-outputs run_0_outputs.json"
        " --atol 0.001 --rtol 0.001 --check-error-stat median",
    ],
    "cli/run/03_generating_a_comparison_script": [
        "0 0 TOOL run identity.onnx --pluginref --onnxrt --gen-script=compare_both.py",
        "0 0 python compare_both.py",
    ],
    "cli/run/05_comparing_with_custom_input_data": [
        "0 0 python data_loader.py",
        "0 0 TOOL run dynamic_identity.onnx --pluginref --onnxrt --data-loader-script data_loader.py",
        "0 0 TOOL run dynamic_identity.onnx --pluginref --onnxrt --load-inputs custom_inputs.json",
    ],
    "cli/run/06_comparing_with_custom_output_data": [
        "0 0 python generate_data.py",
        "0 0 TOOL inspect data made_inputs.json",
        "0 0 TOOL inspect data made_outputs.json",
        "0 0 TOOL run identity.onnx --onnxrt --load-inputs made_inputs.json --load-outputs made_outputs.json",
    ],
    "cli/plugin/01_match_and_replace_plugin": [
        "0 0 TOOL plugin list affine.onnx --plugin-dir ./plugins",
        "0 0 TOOL plugin match affine.onnx --plugin-dir ./plugins -o config.yaml",
        "0 0 TOOL plugin match affine.onnx --plugin-dir ./plugins --include scaleAdd",
        "0 0 TOOL plugin replace affine.onnx --plugin-dir ./plugins -o replaced.onnx",
        "0 0 TOOL plugin replace affine.onnx --plugin-dir ./plugins --config config.yaml -o again.onnx",
    ],
    "cli/run/07_checking_nan_inf": ["1 1 TOOL run add_infinity.onnx --onnx-outputs * --onnxrt --validate"],
    "cli/run/09_streaming_accuracy_on_large_datasets": [
        "0 0 TOOL run identity.onnx --onnxrt --onnxrt --data-loader-script many.py --check-error-stat mean",
        "0 0 TOOL run identity.onnx --onnxrt --data-loader-script many.py --save-inputs inputs --save-outputs kept",
        "0 0 TOOL run identity.onnx --onnxrt --load-inputs inputs --load-outputs kept",
    ],
    "cli/surgeon/01_isolating_subgraphs": [
        "0 0 TOOL surgeon extract affine.onnx --inputs x1:auto:auto --outputs add_out:auto -o subgraph.onnx",
        "0 0 TOOL surgeon extract affine.onnx --inputs x1:[1,3,8,8]:float32 --outputs add_out:float32 -o subgraph.onnx",
        "0 0 TOOL inspect model subgraph.onnx --show layers",
    ],
    "cli/surgeon/02_folding_constants": [
        "0 0 TOOL surgeon sanitize constants.onnx --fold-constants -o folded.onnx",
        "0 0 TOOL inspect model folded.onnx --show layers",
    ],
    "cli/surgeon/03_modifying_input_shapes": [
        "0 0 TOOL surgeon sanitize identity.onnx --override-input-shapes x:['batch',1,2,2] -o dynamic.onnx",
        "0 0 TOOL inspect model dynamic.onnx --show layers",
    ],
    "cli/surgeon/04_setting_upper_bounds": [
        "0 0 TOOL surgeon sanitize counted.onnx -o folded.onnx --fold-constants",
        "0 0 TOOL inspect model folded.onnx --list-unbounded-dds",
        "0 0 TOOL surgeon sanitize folded.onnx --set-unbounded-dds-upper-bound 1000 -o modified.onnx",
        "0 0 TOOL inspect model modified.onnx --list-unbounded-dds",
    ],
    "how-to/debug_accuracy": [
        "0 0 TOOL surgeon sanitize constants.onnx --fold-constants -o folded.onnx",
        "0 0 TOOL run folded.onnx --onnxrt --onnxrt --onnx-outputs mark all --fail-fast",
    ],
    "how-to/use_custom_input_data": [
        "0 0 TOOL run identity.onnx --onnxrt --data-loader-script many.py:other_name --save-inputs some.json",
        "0 0 TOOL run identity.onnx --onnxrt --load-inputs some.json",
    ],
    "how-to/use_debug_reduce_effectively": [
        "0 0 TOOL debug reduce affine.onnx -o reduced.onnx --min-good good.onnx --artifacts TOOL_debug.onnx"
        " --model-input-shapes x0:[1,3,8,8] --no-reduce-inputs --fail-regex Op:.Mul"
        " --check TOOL inspect model TOOL_debug.onnx --show layers",
    ],
    "how-to/use_debug_subtools_effectively": [
        "0 0 TOOL debug reduce affine.onnx -o reduced.onnx --fail-code 1 --check TOOL inspect model TOOL_debug.onnx",
    ],
}  # fmt: skip

#: Where more is to be said than that it is the same.
REMARKS = {
    "api/01_comparing_frameworks": "also with TensorRT, from `polycmp_trt`",
    "api/02_validating_on_a_dataset": "also with TensorRT, from `polycmp_trt`",
    "api/10_streaming_accuracy_on_large_datasets": "",
    "cli/debug/02_reducing_failing_onnx_models": "`data to-input`, the name until 0.49, is `data merge` in both",
    "cli/run/05_comparing_with_custom_input_data": "the names in the data must be the model's: for data that say `x` "
    "where the model says `X`, add `--map-input x=X`",
    "cli/surgeon/02_folding_constants": "`inspect model --mode=basic` of old versions is `--show layers` in both",
    "how-to/use_custom_input_data": "`--data-loader-func-name` of old versions works, too",
}

#: Examples that need TensorRT: the same with polycmp-trt, whose tests run their shapes on a GPU.
WITH_TENSORRT = (
    "api/00_inference_with_tensorrt",
    "api/03_interoperating_with_tensorrt",
    "api/04_int8_calibration_in_tensorrt",
    "api/05_using_tensorrt_network_api",
    "api/06_immediate_eval_api",
    "api/07_tensorrt_and_dynamic_shapes",
    "api/09_working_with_pytorch_tensors",
    "cli/convert/01_int8_calibration_in_tensorrt",
    "cli/convert/02_deterministic_engine_builds_in_tensorrt",
    "cli/convert/03_dynamic_shapes_in_tensorrt",
    "cli/debug/01_debugging_flaky_trt_tactics",
    "cli/debug/03_comparing_int8_fp16_accuracy",
    "cli/inspect/01_inspecting_a_tensorrt_network",
    "cli/inspect/02_inspecting_a_tensorrt_engine",
    "cli/inspect/07_inspecting_tactic_replays",
    "cli/inspect/08_inspecting_tensorrt_onnx_support",
    "cli/inspect/09_inspecting_tensorrt_static_onnx_support",
    "cli/run/04_defining_a_tensorrt_network_or_config_manually",
    "cli/run/08_adding_precision_constraints",
    "how-to/work_with_reduced_precision",
)

_PLUGINS = "polycmp builds no TensorRT plugins to measure them; `polycmp plugin replace` puts one into a model"
_DEVICES = "polycmp does not spread a model over several devices"
REFUSED = {
    "api/plugin_autotuner/01_conv_relu_demo": _PLUGINS,
    "api/plugin_autotuner/02_swiglu_demo": _PLUGINS,
    "api/plugin_autotuner/03_timing_cache_demo": _PLUGINS,
    "api/plugin_autotuner/04_weights_transformation_demo": _PLUGINS,
    "cli/inspect/04_inspecting_a_tensorflow_graph": "needs TensorFlow 1; `polycmp inspect model` shows ONNX models",
    "cli/multi_device/01_sharding_attention_layers": _DEVICES,
    "cli/multi_device/02_fused_replacement": _DEVICES,
    "cli/plugin_autotuner/01_cli_demo": _PLUGINS,
    "cli/surgeon/05_visual_extraction": "there is no server for a browser: `inspect model --save-visual FILE.html` "
    "shows the names, and `surgeon extract` takes them",
    "dev/01_writing_cli_tools": "commands come from [plugins](writing-a-command.md)",
    "dev/02_extending_polygraphy_run": "backends come from [plugins](writing-a-backend.md), with their options",
}

#: The module that an example needs besides those of every package.
NEEDS = {"cli/plugin/01_match_and_replace_plugin": "yaml"}
#: A TensorRT plugin's pattern: a product whose only reader is a sum.
PATTERN = """
def get_plugin_metadata():
    return {"name": "scaleAdd", "op": "ScaleAdd_TRT"}


def get_matching_subgraphs(graph):
    found = []
    for node in graph.nodes:
        if node.op == "Mul" and node.o().op == "Add":
            sides = {"inputs": [node.inputs[0].name], "outputs": [node.o().outputs[0].name]}
            found.append({**sides, "attributes": {"scale": 2.0}})
    return found
"""

#: Programs in the form that the examples have; the names of modules are Polygraphy's.
PROGRAMS = {
    "many.py": """
import numpy as np


def load_data():
    for number in range(20):
        yield {"x": np.full((1, 1, 2, 2), number, dtype=np.float32)}


other_name = load_data
""",
    "data_loader.py": """
import numpy as np
from polygraphy.json import save_json


def load_data():
    for _ in range(3):
        yield {"X": np.ones(shape=(1, 2, 6, 6), dtype=np.float32)}


save_json(list(load_data()), "custom_inputs.json", description="some inputs")
""",
    "generate_data.py": """
import numpy as np
from polygraphy.comparator import RunResults
from polygraphy.json import save_json

feed = {"x": np.ones(shape=(1, 1, 2, 2), dtype=np.float32)}
save_json([feed], "made_inputs.json", description="inputs from elsewhere")
results = RunResults()
results.add([{"y": feed["x"]}], runner_name="elsewhere")
results.save("made_outputs.json")
""",
    "compare.py": """
from polygraphy.backend.onnx import GsFromOnnx, OnnxFromPath
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.backend.pluginref import PluginRefRunner
from polygraphy.comparator import Comparator, CompareFunc


def main():
    runners = [
        PluginRefRunner(GsFromOnnx(OnnxFromPath("identity.onnx"))),
        OnnxrtRunner(SessionFromOnnx("identity.onnx")),
    ]
    run_results = Comparator.run(runners)
    assert bool(Comparator.compare_accuracy(run_results, compare_func=CompareFunc.simple(atol=1e-8)))
    run_results.save("inference_results.json")


if __name__ == "__main__":
    main()
""",
    "validate.py": """
import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx

DATA = [np.full((1, 1, 2, 2), value, dtype=np.float32) for value in (1, 0, 1, 0)]

with OnnxrtRunner(SessionFromOnnx("identity.onnx")) as runner:
    for data, golden in zip(DATA, DATA):
        outputs = runner.infer(feed_dict={"x": data})
        assert np.array_equal(outputs["y"], golden)
""",
    "results.py": """
from polygraphy.comparator import RunResults
from polygraphy.json import load_json

[feed_dict] = load_json("inputs.json")
for name, array in feed_dict.items():
    print(name, array)
for runner_name, [outputs] in RunResults.load("outputs.json").items():
    for name, array in outputs.items():
        print(runner_name, name, array)
""",
    "golden.py": """
from many import load_data
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator

runner = OnnxrtRunner(SessionFromOnnx("identity.onnx"), name="golden")
for _ in Comparator.run([runner], data_loader=load_data(), save_outputs_path="golden", streaming=True):
    pass
""",
    "streaming.py": """
from many import load_data
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, RunResults

runners = [OnnxrtRunner(SessionFromOnnx("identity.onnx"), name=name) for name in ("first", "second")]
results = Comparator.compare_accuracy([Comparator.run(runners, data_loader=load_data(), streaming=True)])
assert bool(results)
runner = OnnxrtRunner(SessionFromOnnx("identity.onnx"), name="onnxrt")
live = Comparator.run([runner], data_loader=load_data(), streaming=True)
assert bool(Comparator.compare_accuracy([live, RunResults.load_streaming("golden")]))
""",
}


def commands(name: str) -> list[tuple[int, int, str]]:
    """Return of each line of an example Polygraphy's exit status, that of polycmp, and the command."""
    found = [line.split(" ", 2) for line in SAME[name]]
    return [(int(theirs), int(ours), command) for theirs, ours, command in found]


def table() -> str:
    """Return the table of the page."""
    rows = [(name, "same", REMARKS.get(name, "")) for name in SAME]
    rows += [(name, "same", "needs TensorRT and polycmp-trt") for name in WITH_TENSORRT]
    rows += [(name, "refused", why) for name, why in REFUSED.items()]
    lines = [f"| `{name}` | {kind} | {remark} |" for name, kind, remark in sorted(rows)]
    return "\n".join([MARKS[0], "", "| example | | |", "|---|---|---|", *lines, "", MARKS[1]])


def make_files(folder: Path) -> None:
    """Make the models of the examples."""
    float32, vector = TensorProto.FLOAT, helper.make_tensor_value_info
    image = [1, 3, 8, 8]

    def save(name, nodes, inputs, outputs, weights=None, graph="graph"):
        values = [numpy_helper.from_array(value, key) for key, value in (weights or {}).items()]
        made = helper.make_graph(nodes, graph, inputs, outputs, values)
        onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / name)

    shape = [1, 1, 2, 2]
    node = helper.make_node
    save(
        "identity.onnx", [node("Identity", ["x"], ["y"])], [vector("x", float32, shape)], [vector("y", float32, shape)]
    )
    openly = [1, 2, "height", "width"]
    save("dynamic_identity.onnx", [node("Identity", ["X"], ["Y"])], [vector("X", float32, openly)],
         [vector("Y", float32, openly)])  # fmt: skip
    save("add_infinity.onnx", [node("Add", ["A", "infinity"], ["B"])], [vector("A", float32, [4])],
         [vector("B", float32, [4])], {"infinity": np.array([np.inf], np.float32)})  # fmt: skip
    weights = {"a": np.full(image, 2, np.float32), "b": np.full(image, 3, np.float32)}
    nodes = [node("Mul", ["x1", "a"], ["mul_out"], "mul"), node("Add", ["mul_out", "b"], ["add_out"], "add"),
             node("Add", ["x0", "add_out"], ["Y"], "last")]  # fmt: skip
    save("affine.onnx", nodes, [vector("x0", float32, image), vector("x1", float32, image)],
         [vector("Y", float32, image)], weights)  # fmt: skip
    sums = {name: np.full(4, value, np.float32) for value, name in enumerate("abd")}
    nodes = [node("Add", ["a", "b"], ["c"]), node("Add", ["c", "d"], ["e"]), node("Add", ["input", "e"], ["output"])]
    save("constants.onnx", nodes, [vector("input", float32, [4])], [vector("output", float32, [4])], sums)
    nodes = [node("MatMul", ["A", "B"], ["ab"], "unused"), node("MatMul", ["C", "D"], ["cd"], "fits"),
             node("Add", ["E", "F"], ["ef"], "add"), node("MatMul", ["cd", "C"], ["m"], "clash")]  # fmt: skip
    sizes = {"A": [1, 3], "B": [4, 4], "C": [3, 4], "D": [4, 1], "E": [2, 4], "F": [3, 1]}
    save("bad_graph.onnx", nodes, [vector(name, float32, size) for name, size in sizes.items()],
         [vector("m", float32, None), vector("ef", float32, None)], graph="")  # fmt: skip
    for name, pattern in (("scaleAdd", PATTERN), ("noMatch", PATTERN.replace('"Mul"', '"Div"'))):
        (folder / "plugins" / name).mkdir(parents=True)
        (folder / "plugins" / name / "pattern.py").write_text(pattern.replace("scaleAdd", name), encoding="utf-8")
    scalars = {"zero": np.array(0), "one": np.array(1)}
    nodes = [node("ReduceSum", ["n"], ["total"], keepdims=0), node("Range", ["zero", "total", "one"], ["r"])]
    save("counted.onnx", nodes, [vector("n", TensorProto.INT64, [2])], [vector("r", TensorProto.INT64, ["k"])], scalars)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(MARKS[0])[0], text.partition(MARKS[1])[2]
    PAGE.write_text(f"{before}{table()}{after}", encoding="utf-8")
