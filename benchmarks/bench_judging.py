"""What measuring rounding costs where outputs differ, in inferences of the model; processor time of whole processes.

    python benchmarks/bench_judging.py [--repeats 3] [--quick]

Two files of a chain of convolutions and of a sentence encoder of MiniLM's kind, once with all weights off by a few
roundings of float32, which passes by one sample, and once with a channel off by a tenth, which fails; of ResNet-50 only
the latter, since weights that are so little off make no difference there that is measured. One file on two backends,
one of which reverses a tensor in the middle, fails without what two files would tell. Beside what `run` takes
without a tolerance more than with one stand six inferences of ONNX Runtime and one millisecond for each operator.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import minilm
import models
import numpy as np
import onnx
from measuring import Row, accepting, as_table, beside, in_turn
from onnx import numpy_helper

TYPED = ["--atol", "1e-2", "--rtol", "1e-2"]
#: By how much the weights of a pair that passes are off, by model: more than a few roundings explain, and so little
#: that one sample does.
ROUNDINGS = {"half": 1e-6, "minilm": 3e-6}
#: Inferences, and seconds for each operator, that measuring may take.
INFERENCES, SECONDS = 6.0, 1e-3


def changed(source: str, target: Path, *, faulty: bool) -> str:
    """Write a model with each weight off by a few roundings, or with a channel of the last large one off by a tenth."""
    model, random = onnx.load(source), np.random.default_rng(0)
    off = ROUNDINGS.get(Path(source).stem, 0.0)
    large = [index for index, item in enumerate(model.graph.initializer) if len(item.dims) > 1 and item.data_type == 1]
    for index in large if not faulty else large[-1:]:
        item = model.graph.initializer[index]
        array = numpy_helper.to_array(item).copy()
        if faulty:
            array[..., 0] *= np.float32(1.1)
        else:
            array *= 1 + random.uniform(-off, off, array.shape).astype(np.float32)
        item.CopyFrom(numpy_helper.from_array(array, item.name))
    onnx.save(model, target)
    return str(target)


def inference(path: str) -> tuple[float, int]:
    """Return the processor time of a run in ONNX Runtime, in seconds, and the number of operators."""
    import onnxruntime

    model = onnx.load(path)
    held = {item.name for item in model.graph.initializer}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {}
    for value in model.graph.input:
        if value.name in held:
            continue
        shape = [item.dim_value or 1 for item in value.type.tensor_type.shape.dim]
        feed[value.name] = np.ones(shape, _dtype(value))
    session.run(None, feed)
    times = []
    for _ in range(5):
        start = time.process_time()
        session.run(None, feed)
        times.append(time.process_time() - start)
    return sorted(times)[2], len(model.graph.node)


def _dtype(value: onnx.ValueInfoProto) -> np.dtype[np.generic]:
    """Return the type of an input's numbers."""
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))


#: What is measured of a model.
PASSES, FAILS, BACKENDS = "passes", "fails", "fails on one of two backends"


def measure(
    title: str, old: str, folder: Path, repeats: int, words: Sequence[str] = (PASSES, FAILS, BACKENDS)
) -> list[Row]:
    """Return a row for a pair of files that passes, one for a pair that fails, and one for one file on two backends."""
    seconds, operators = inference(old)
    allowed = INFERENCES * seconds + SECONDS * operators
    rows = []
    for word in words:
        command = [beside(sys.executable, "polycmp"), "run", old]
        if word == BACKENDS:
            nodes = onnx.load(old, load_external_data=False).graph.node
            command += ["-b", f"faulty:backend=onnxrt,fault=shuffle,at={nodes[len(nodes) // 2].output[0]}"]
        else:
            command[2:2] = [changed(old, folder / f"{word}.onnx", faulty=word == FAILS)]
        command += ["-b", "onnxrt"]
        status = "0" if word == PASSES else "1"
        medians = in_turn(
            {"default": accepting(status, command), "typed": accepting("0|1", [*command, *TYPED])}, repeats
        )
        cost = medians["default"].processor - medians["typed"].processor
        rows.append(Row(f"{title}, {word}: {cost / seconds:.1f} inferences", cost, allowed, "s", "six and 1 ms", "≤ 1"))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each command (default: 3)")
    parser.add_argument("--quick", action="store_true", help="the convolutions alone")
    given = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows += measure("30 convolutions", models.write_apart("half", folder / "half.onnx"), folder, given.repeats)
        if not given.quick:
            resnet = models.write_apart("resnet50", folder / "resnet50.onnx")
            rows += measure("ResNet-50", resnet, folder, given.repeats, [FAILS, BACKENDS])
            rows += measure("MiniLM", minilm.write_apart(folder / "minilm.onnx"), folder, given.repeats)
    print(as_table(rows))


if __name__ == "__main__":
    main()
