"""A stand-in for trtexec: an honest subset of its arguments, calculated with ONNX Runtime.

The file of outputs has the form of `exportJSONOutput` in TensorRT's samples: six digits, `nan` and `inf` as C++ prints
them. An argument that it does not know ends it with status 1, as there.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

KNOWN = {"onnx", "saveEngine", "loadEngine", "loadInputs", "exportOutput", "exportTimes", "shapes", "minShapes",
         "optShapes", "maxShapes", "iterations", "duration", "warmUp", "fp16", "noTF32", "useCudaGraph"}  # fmt: skip


def fail(text):
    print(f"[12/01/2026-10:00:00] [E] {text}")
    print("&&&& FAILED TensorRT.trtexec")
    sys.exit(1)


def pairs(text):
    """Take `a:1x2,'b:0':3` apart."""
    found, rest = {}, text
    while rest:
        if rest[0] == "'":
            name, _, rest = rest[1:].partition("'")
            rest = rest[1:]
        else:
            name, _, rest = rest.partition(":")
        value, _, rest = rest.partition(",")
        found[name] = value
    return found


def main():
    given = dict(word.removeprefix("--").partition("=")[::2] for word in sys.argv[1:])
    with Path("calls.txt").open("a") as file:
        file.write(" ".join(sys.argv[1:]) + "\n")
    for name in given:
        if name not in KNOWN:
            fail(f"Unknown option: --{name}")
    model = onnx.load(given.get("onnx") or given["loadEngine"])
    weights = {item.name for item in model.graph.initializer}
    inputs = {value.name: value for value in model.graph.input if value.name not in weights}
    is_open = any(
        not dim.HasField("dim_value") for value in inputs.values() for dim in value.type.tensor_type.shape.dim
    )
    shapes = pairs(given.get("shapes") or given.get("minShapes") or "")
    if shapes and not is_open:
        fail("Static model does not take explicit shapes")
    if "onnx" in given:
        if is_open and not shapes:
            fail("Dynamic dimensions required for input")
        onnx.save(model, given["saveEngine"])
        return
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {}
    for name, path in pairs(given["loadInputs"]).items():
        kind = inputs[name].type.tensor_type
        sizes = shapes[name].split("x") if name in shapes else [dim.dim_value for dim in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        feeds[name] = np.frombuffer(Path(path).read_bytes(), dtype).reshape([int(size) for size in sizes])
    made = session.run(None, feeds)
    with Path(given["exportOutput"]).open("w") as file:
        file.write("[\n")
        for index, (value, array) in enumerate(zip(session.get_outputs(), made, strict=True)):
            sizes = "x".join(map(str, array.shape))
            values = ", ".join(f"{item:.6g}" for item in array.reshape(-1).tolist())
            file.write(f'{", " if index else "  "}{{ "name" : "{value.name}"\n  , "dimensions" : "{sizes}"\n')
            file.write(f'  , "values" : [ {values} ]\n  }}\n')
        file.write("]\n")
    Path(given["exportTimes"]).write_text(json.dumps([{"startEnqMs": 0.0, "latencyMs": 3.0, "computeMs": 2.5}]))


main()
