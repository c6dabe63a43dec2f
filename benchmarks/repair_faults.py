"""Plants faults of conversions in models and counts those that `locate --save-fixed` locates and mends.

    python benchmarks/repair_faults.py unet resnet50=resnet50.onnx minilm=minilm.onnx [--renamed]

`unet` is made here; other models are files, named for the table. With `--renamed` the tensors inside the faulty model
have other names than in the source, as in another exporter's file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conversion_faults import Fault, faults, frozen_batch
from unet import unet

from polycmp.cli.main import main

TOLERANCE = ("--atol", "1e-3", "--rtol", "1e-3")


def feed(model: onnx.ModelProto, batch: int) -> dict[str, Any]:
    """Return inputs: images of both signs, or words of a sentence."""
    draw = np.random.default_rng(11)
    made = {}
    for value in model.graph.input:
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        shape = [batch, *(size or (224 if len(dims) == 4 else 16) for size in dims[1:])]
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            made[value.name] = draw.standard_normal(shape).astype(np.float32)
        elif "mask" in value.name:
            made[value.name] = np.ones(shape, np.int64)
        else:
            made[value.name] = draw.integers(0, 2 if "type" in value.name else 20000, shape)
    return made


def opened(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model with its batch open, where it is fixed and nothing inside depends on it."""
    for value in (*model.graph.input, *model.graph.output):
        first = value.type.tensor_type.shape.dim[0]
        if first.WhichOneof("value") == "dim_value":
            first.dim_param = "n"
    del model.graph.value_info[:]
    return model


def renamed(model: onnx.ModelProto) -> None:
    """Give the tensors inside a model other names."""
    outer = {value.name for value in (*model.graph.input, *model.graph.output)}
    names: dict[str, str] = {}
    for node in model.graph.node:
        for name in (*node.input, *node.output):
            if name and name not in outer:
                names.setdefault(name, f"t{len(names)}")
    for node in model.graph.node:
        node.name = f"n_{node.name}"
        for field in (node.input, node.output):
            field[:] = [names.get(name, name) for name in field]
    for item in model.graph.initializer:
        item.name = names.get(item.name, item.name)
    del model.graph.value_info[:]


def quietly(*words: str) -> int:
    """Run a command; return its exit status."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main(list(words))


def all_faults(model: onnx.ModelProto) -> Iterator[Fault]:
    """Yield the faults that fit a model."""
    yield from faults(model)
    if model.graph.input[0].type.tensor_type.shape.dim[0].dim_param:
        yield frozen_batch(model, feed(model, 1))


def try_fault(fault: Fault, model: onnx.ModelProto, *, other_names: bool) -> tuple[str, dict[str, Any]]:
    """Return what became of a fault: `unseen`, `invalid`, `mended`, `located` or `lost`; and the report."""
    faulty = fault.planted(model)
    if other_names:
        renamed(faulty)
    try:
        onnx.save(faulty, "faulty.onnx")
    except Exception:  # noqa: BLE001
        return "invalid", {}
    for name in ("fixed.onnx", "fixed.changes.json", "found.json"):
        Path(name).unlink(missing_ok=True)
    words = ("source.onnx", "-b", "onnxrt:model=faulty.onnx", "-b", "onnxrt", "--load-inputs", "feed.npz", *TOLERANCE)
    status = quietly("locate", *words, "--save-fixed", "fixed.onnx", "--report", "found.json")
    report = json.loads(Path("found.json").read_text()) if Path("found.json").exists() else {}
    if status == 0:
        return "unseen", report
    again = ("run", "source.onnx", "-b", "onnxrt:model=fixed.onnx", "-b", "onnxrt", "--load-inputs", "feed.npz")
    if Path("fixed.onnx").exists() and quietly(*again, *TOLERANCE) == 0:
        return "mended", report
    return "located" if is_located(fault, report) else "lost", report


def is_located(fault: Fault, report: dict[str, Any]) -> bool:
    """Return whether the operator that is wrong is among the suspects."""
    named = {name for item in report.get("suspects", ()) for name in item["operators"]}
    return bool(set(fault.where) & (named | {item["where"] for item in report.get("changes", ())}))


def measure(name: str, model: onnx.ModelProto, *, other_names: bool) -> None:
    """Print a line for each fault, and the shares for each kind."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        onnx.save(model, "source.onnx")
        np.savez("feed.npz", **feed(model, 2))
        for fault in all_faults(model):
            start = time.perf_counter()
            became, report = try_fault(fault, model, other_names=other_names)
            if became in ("unseen", "invalid"):
                print(f"  {name}: {fault.kind}: {fault.name} at {fault.where[0]}: {became}", flush=True)
                continue
            mended, located = became == "mended", is_located(fault, report)
            counts[fault.kind] = [a + b for a, b in zip(counts[fault.kind], (1, located, mended), strict=True)]
            changes = "; ".join(f"{item['kind']} {item['where']}: {item['text']}" for item in report.get("changes", ()))
            seconds = time.perf_counter() - start
            print(
                f"  {name}: {fault.kind}: {fault.name} at {fault.where[0]}: {became}, located {located}, "
                f"{report.get('runs')} runs, {seconds:.1f} s: {changes[:160]}",
                flush=True,
            )
    for kind, (planted, located, mended) in counts.items():
        print(f"{name} | {kind} | {planted} | {located} | {mended}", flush=True)


if __name__ == "__main__":
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    for word in wanted:
        label, _, path = word.partition("=")
        measure(label, opened(onnx.load(path)) if path else unet(), other_names="--renamed" in sys.argv)
