"""Plants faults in .pte files and asks polycmp for them, in the environment of `make test-executorch`.

    python -m truth.outside.edge.pte_loop FOLDER

Prints a line of JSON for each plant, and for each file without one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from executorch.exir import to_edge_transform_and_lower

from polycmp_executorch.program import PteProgram
from polycmp_executorch.pte import PteFile
from truth.outside.edge.asking import ask, is_one, say
from truth.outside.edge.networks import networks
from truth.outside.edge.plants import PTE, PTE_LATER, Plant

_OUTPUT = "output"


def write(folder: Path) -> None:
    """Write the networks as exported programs, as .pte files, and an input for each."""
    for name, (module, example) in networks().items():
        program = torch.export.export(module, (example,))
        torch.export.save(program, folder / f"{name}.pt2")
        (folder / f"{name}.pte").write_bytes(to_edge_transform_and_lower(program).to_executorch().buffer)
        np.savez(folder / f"{name}.npz", **{program.graph_signature.user_inputs[0]: example.numpy()})


def plant(path: Path, fault: Plant, target: Path) -> list[str]:
    """Write a file with a fault; return the places of the tensor that the wrong operator makes."""
    file = PteFile.read(str(path))
    program = PteProgram(file, str(path))
    plan = file.program["execution_plan"][0]
    calls = [call for call in program.calls if call.operator.endswith(f"::{fault.operator}")]
    call = calls[fault.number]
    assert call.content is not None
    arguments: list[int] = call.content["instr_args"]["args"]
    if fault.kind in {"weight", "row"}:
        _change_weight(file, plan, arguments[fault.detail[0]], fault.kind)
    elif fault.kind == "argument":
        kind = {float: "Double", int: "Int"}[type(fault.detail[1])]
        plan["values"].append({"val_type": kind, "val": {f"{kind.lower()}_val": fault.detail[1]}})
        arguments[fault.detail[0]] = len(plan["values"]) - 1
    elif fault.kind == "twice":
        arguments[1] = arguments[0]
    else:
        _change_operator(plan, call.content["instr_args"], fault)
    target.write_bytes(file.write())
    # What is only brought into another shape is named by either tensor.
    places = {call.makes[0]}
    places.update(other.makes[0] for other in program.calls if "view" in other.operator and other.reads[0] in places)
    return sorted(_OUTPUT if place in program.outputs else str(place) for place in places)


def _change_operator(plan: Any, content: Any, fault: Plant) -> None:
    operator = plan["operators"][content.get("op_index", 0)]
    plan["operators"].append({"name": f"aten::{fault.detail[0]}", "overload": "out"})
    if operator["name"] == "aten::gelu":  # the others have no choice of approximation
        del content["args"][1]
    if fault.detail[0] in {"add", "sub"} and operator["name"] == "aten::mul":  # which have a factor
        plan["values"].append({"val_type": "Int", "val": {"int_val": 1}})
        content["args"].insert(2, len(plan["values"]) - 1)
    content["op_index"] = len(plan["operators"]) - 1


def _change_weight(file: PteFile, plan: Any, place: int, kind: str) -> None:
    tensor = plan["values"][place]["val"]
    table = file.program["constant_segment"]
    start = table["offsets"][tensor["data_buffer_idx"]]
    number = table.get("segment_index", 0)
    data = bytearray(file.segments[number])
    count = int(np.prod(tensor["sizes"], dtype=np.int64)) if tensor.get("sizes") else 1
    values = np.frombuffer(data, np.float32, count, start)
    if kind == "weight":
        values[np.abs(values).argmax()] *= 2
    else:
        values[: max(count // 8, 1)] = 0
    file.segments[number] = bytes(data)


def main(folder: Path) -> None:
    """Plant all faults."""
    write(folder)
    for name in networks():
        answer = ask(f"{folder}/{name}.pt2", f"executorch:program={folder}/{name}.pte", "torch", f"{folder}/{name}.npz")
        say({"model": name, "file": ".pte", **answer})
    for number, fault in enumerate(PTE + PTE_LATER):
        path = folder / f"plant{number}.pte"
        expected = plant(folder / f"{fault.model}.pte", fault, path)
        model = f"{folder}/{fault.model}.pt2"
        answer = ask(model, f"executorch:program={path}", "torch", f"{folder}/{fault.model}.npz")
        named = answer["named"].rpartition(".")[2]
        # The output has the name that the exported program gives it.
        right = named in expected or (expected == [_OUTPUT] and not named.isdigit())
        say({"plant": number, "file": ".pte", "right": right and is_one(answer), **answer})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
