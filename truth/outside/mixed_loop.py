"""Leaves layers of an 8-bit model in float by other tools, without polycmp: run in an environment that has them.

    python mixed_loop.py pictures FEEDS.npy SHAPE
    python mixed_loop.py make MODEL FEEDS.npy FOLDER
    python mixed_loop.py debug MODEL FEEDS.npy FOLDER TARGET
    python mixed_loop.py control MODEL FEEDS.npy FOLDER TARGET
    python mixed_loop.py measure MODEL FEEDS.npy FILE

The first half of the feeds calibrates, the second is judged: by the smallest signal-to-noise ratio of any output for
any of them, in dB, which polycmp calls `snr`. Each command prints a line of JSON.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization import qdq_loss_debug, shape_inference

LAYERS = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm"})
#: Operators that hand on what a DequantizeLinear makes.
_BETWEEN = frozenset({"Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"})
#: The pictures; the first half calibrates.
_PICTURES = (
    *("astronaut.png", "page.png", "coffee.png", "coins.png"),
    *("chelsea.png", "text.png", "rocket.jpg", "camera.png"),
)
#: Ratio that stands for no noise at all.
_MOST = 100.0


def main() -> None:
    """Do what the command line asks."""
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(4)
    said, sys.stdout = sys.stdout, sys.stderr  # tools print
    if sys.argv[1] == "pictures":
        np.save(sys.argv[2], pictures([int(size) for size in sys.argv[3].split(",")]))
        print("{}", file=said)
        return
    what, model, feeds, *rest = sys.argv[1:]
    arrays = np.load(feeds)
    if what == "make":
        found = make(model, arrays, Path(rest[0]))
    elif what == "measure":
        found = measure(model, arrays, rest[0])
    else:
        start = time.perf_counter()
        search = {"debug": by_debugging, "control": by_control}[what]
        path, models = search(model, arrays, Path(rest[0]), float(rest[1]))
        seconds = time.perf_counter() - start
        found = {"seconds": seconds, "models": models, **measure(model, arrays, path)}
    print(json.dumps(found), file=said)


def pictures(shape: list[int]) -> Any:
    """Return pictures that scikit-image brings, as a model of this input reads them, from -1 to 1."""
    from PIL import Image
    from skimage import data

    last = shape[-1] == 3
    height, width = shape[1:3] if last else shape[2:]
    found = []
    for name in _PICTURES:
        picture = Image.open(Path(data.__file__).parent / name).convert("RGB").resize((width, height))
        array = np.asarray(picture, np.float32) / 127.5 - 1.0
        found.append((array if last else array.transpose(2, 0, 1))[None])
    return np.stack(found)


def make(model: str, arrays: Any, folder: Path) -> dict[str, object]:
    """Write a model as ONNX Runtime prepares it, and in 8 bits as ONNX Runtime and as NNCF do by default, in QDQ."""
    source = str(folder / "float.onnx")
    shape_inference.quant_pre_process(model, source, skip_symbolic_shape=True)
    quantise(source, arrays, folder / "ort.onnx", ())
    onnx.save(_nncf(source, arrays), folder / "nncf.onnx")
    return {name: measure(source, arrays, str(folder / f"{name}.onnx")) for name in ("ort", "nncf")}


class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
    """Hands out the calibrating half of the feeds."""

    def __init__(self, model: str, arrays: Any) -> None:
        name = input_of(model)
        self._feeds: Iterator[Any] = iter([{name: array} for array in calibrating(arrays)])

    def get_next(self) -> Any:
        """Return the next feed; None behind the last."""
        return next(self._feeds, None)


def calibrating(arrays: Any) -> Any:
    """Return the half of the feeds that calibrates."""
    return arrays[: len(arrays) // 2]


def judged(arrays: Any) -> Any:
    """Return the half of the feeds that is judged."""
    return arrays[len(arrays) // 2 :]


def input_of(model: str) -> str:
    """Return the name of a model's one input."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    [given] = session.get_inputs()
    return str(given.name)


def quantise(model: str, arrays: Any, path: Path, left_out: Iterable[str]) -> None:
    """Write a model in 8 bits, with these operators left in float."""
    quantization.quantize_static(model, str(path), Reader(model, arrays), nodes_to_exclude=list(left_out))


def outputs(model: str, arrays: Any) -> list[list[Any]]:
    """Return the outputs of a model for each feed."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return [session.run(None, {name: array}) for array in arrays]


def ratio(made: list[list[Any]], wanted: list[list[Any]]) -> list[float]:
    """Return the smallest signal-to-noise ratio of any output for each feed, in dB."""
    found = []
    for one, two in zip(made, wanted, strict=True):
        ratios = [_MOST]
        for a, b in zip(one, two, strict=True):
            noise, signal = float(np.mean((np.float64(a) - b) ** 2)), float(np.mean(np.float64(b) ** 2))
            if noise:
                ratios.append(10.0 * math.log10(signal / noise) if signal else -_MOST)
        found.append(min(ratios))
    return found


def measure(model: str, arrays: Any, path: str) -> dict[str, object]:
    """Return the ratio of a file beside its source, how many layers it has and leaves in float, and its size."""
    given = judged(arrays)
    made = onnx.load(path)
    makers = {name: node for node in made.graph.node for name in node.output}
    layers = [node for node in made.graph.node if node.op_type in LAYERS]
    kept = sum(not _is_quantised(node, makers) for node in layers)
    found = min(ratio(outputs(path, given), outputs(model, given)))
    return {"snr": found, "layers": len(layers), "kept": kept, "bytes": Path(path).stat().st_size}


def _is_quantised(node: Any, makers: dict[str, Any]) -> bool:
    """Return whether both operands of a layer come from a DequantizeLinear."""
    for name in node.input[:2]:
        maker = makers.get(name)
        while maker is not None and maker.op_type in _BETWEEN:
            maker = makers.get(maker.input[0])
        if maker is None or maker.op_type != "DequantizeLinear":
            return False
    return True


def by_debugging(model: str, arrays: Any, folder: Path, target: float) -> tuple[str, int]:
    """Leave the layers in float whose outputs ONNX Runtime's `qdq_loss_debug` says to be worst; as few as do.

    The documentation of ONNX Runtime says to look for the tensors that are worst; how many is searched by halves.

    Returns:
        The file, and the number of models that were made.
    """
    worst = _worst_first(model, arrays, folder)
    path, wanted, made = folder / "debug.onnx", outputs(model, judged(arrays)), 0
    low, high = 0, len(worst)
    while low < high:
        middle = (low + high) // 2
        quantise(model, arrays, path, worst[:middle])
        made += 1
        good = min(ratio(outputs(str(path), judged(arrays)), wanted)) >= target
        low, high = (low, middle) if good else (middle + 1, high)
    quantise(model, arrays, path, worst[:high])
    return str(path), made + 1


def _worst_first(model: str, arrays: Any, folder: Path) -> list[str]:
    """Return the names of the layers, the one with the worst output first."""
    tensors = []
    for name, path in (("float", model), ("coded", str(folder / "ort.onnx"))):
        shown = str(folder / f"{name}_shown.onnx")
        qdq_loss_debug.modify_model_output_intermediate_tensors(path, shown)
        tensors.append(qdq_loss_debug.collect_activations(shown, Reader(model, arrays)))
    matched = qdq_loss_debug.create_activation_matching(tensors[1], tensors[0])
    errors = qdq_loss_debug.compute_activation_error(matched)
    layers = [node for node in onnx.load(model).graph.node if node.op_type in LAYERS]
    return [
        node.name
        for node in sorted(layers, key=lambda node: errors.get(node.output[0], {}).get("xmodel_err", math.inf))
    ]


def _nncf(model: str, arrays: Any) -> Any:
    import nncf

    name = input_of(model)
    return nncf.quantize(onnx.load(model), nncf.Dataset([{name: array} for array in calibrating(arrays)]))


def by_control(model: str, arrays: Any, folder: Path, target: float) -> tuple[str, int]:
    """Have NNCF leave operators in float until the ratio is large enough.

    Returns:
        The file, and the number of models that were judged.
    """
    import nncf

    name, asked = input_of(model), 0
    wanted = dict(enumerate(outputs(model, judged(arrays))))

    def validate(prepared: Any, feeds: Iterable[Any]) -> tuple[float, list[float]]:
        nonlocal asked
        asked += 1
        ratios = []
        session = onnxruntime.InferenceSession(prepared.SerializeToString(), providers=["CPUExecutionProvider"])
        for item in feeds:
            ratios += ratio([session.run(None, {name: item[name]})], [wanted[int(item["place"])]])
        return min(ratios), ratios

    items = [{name: array, "place": place} for place, array in enumerate(judged(arrays))]
    made = nncf.quantize_with_accuracy_control(
        onnx.load(model),
        nncf.Dataset([{name: array} for array in calibrating(arrays)]),
        nncf.Dataset(items, lambda item: {name: item[name]}),
        validate,
        max_drop=_MOST - target,
        drop_type=nncf.DropType.ABSOLUTE,
    )
    path = folder / "control.onnx"
    onnx.save(made, path)
    return str(path), asked


if __name__ == "__main__":
    main()
