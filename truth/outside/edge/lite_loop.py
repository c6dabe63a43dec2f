"""Plants faults in .tflite files and asks polycmp for them, in the environment of `make test-tf`.

    python -m truth.outside.edge.lite_loop FOLDER

Prints a line of JSON for each plant, and for each file without one. Believed is the file in float32 without a fault, as
LiteRT's plain kernels run it; a file in codes is held beside that, too.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from truth.outside.edge.asking import ask, is_one, say
from truth.outside.edge.keras_networks import convert, networks
from truth.outside.edge.plants import LITE, LITE_LATER, Plant

_OPERATORS = {name: number for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}


def write(folder: Path) -> list[str]:
    """Write the networks in float32, those of pictures in codes, and an input for each; return their names."""
    names = []
    random = np.random.default_rng(2)
    for name, model in networks().items():
        for codes in (False, True) if name != "bert" else (False,):
            names.append(f"{name}8" if codes else name)
            (folder / f"{names[-1]}.tflite").write_bytes(convert(model, codes=codes))
        entry = model.inputs[0]
        np.savez(folder / f"{name}.npz", **{entry.name: random.random(entry.shape, np.float32)})
    return names


def plant(path: Path, fault: Plant, target: Path) -> str:
    """Write a file with a fault; return the name of the tensor that the wrong operator makes."""
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    graph = model.subgraphs[0]
    numbers = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in model.operatorCodes]
    same = [item for item in graph.operators if numbers[item.opcodeIndex] == _OPERATORS[fault.operator]]
    operator = same[fault.number]
    result = graph.tensors[operator.outputs[0]]
    if fault.kind in {"weight", "row"}:
        tensor = graph.tensors[operator.inputs[fault.detail[0]]]
        kind = np.int8 if tensor.type == schema.TensorType.INT8 else np.float32
        values = np.array(model.buffers[tensor.buffer].data).view(kind)
        if fault.kind == "weight":
            values[np.abs(values).argmax()] *= 2
        else:
            values[: values.size // 8] = 0
        model.buffers[tensor.buffer].data = values.view(np.uint8)
    elif fault.kind == "activation":
        operator.builtinOptions.fusedActivationFunction = fault.detail[0]
    elif fault.kind == "option":
        setattr(operator.builtinOptions, *fault.detail)
    elif fault.kind == "twice":
        operator.inputs = [operator.inputs[0], operator.inputs[0]]
    elif fault.kind == "scale":
        steps = graph.tensors[operator.inputs[fault.detail[0]]].quantization
        steps.scale = [scale * 1.5 for scale in steps.scale]
    else:
        _change_operator(model, operator, fault.detail[0])
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    target.write_bytes(bytes(builder.Output()))
    return str(result.name.decode())


def _change_operator(model: Any, operator: Any, name: str) -> None:
    code = copy.copy(model.operatorCodes[operator.opcodeIndex])
    code.builtinCode, code.version = _OPERATORS[name], 1
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    model.operatorCodes.append(code)
    operator.opcodeIndex = len(model.operatorCodes) - 1
    options = {"SUB": schema.SubOptionsT, "ADD": schema.AddOptionsT}.get(name)
    if options is not None:
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, options.__name__[:-1])
        operator.builtinOptions = options()


def main(folder: Path) -> None:
    """Plant all faults."""
    for name in write(folder):
        plain = name.rstrip("8")
        reference = f"tf:model={folder}/{plain}.tflite,kernels=reference"
        answer = ask(f"{folder}/{name}.tflite", "tf", reference, f"{folder}/{plain}.npz")
        say({"model": name, "file": ".tflite", **answer})
    for number, fault in enumerate(LITE + LITE_LATER):
        path, plain = folder / f"plant{number}.tflite", fault.model.rstrip("8")
        expected = plant(folder / f"{fault.model}.tflite", fault, path)
        reference = f"tf:model={folder}/{plain}.tflite,kernels=reference"
        answer = ask(str(path), "tf", reference, f"{folder}/{plain}.npz")
        named = answer["named"].removesuffix(".before_activation").partition("#")[0]
        right = named == expected or (named == "output_0" and ":" in expected)
        say({"plant": number, "file": ".tflite", "right": right and is_one(answer), "expected": expected, **answer})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
