"""Trained files that ship in packages, with inputs of a kind that they were made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx

from truth.build import Array, Net
from truth.models.minilm import package_file


def _picture(*shape: int) -> Array:
    """Return smooth values with edges, as pictures have, around 0."""
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[0 : shape[-2], 0 : shape[-1]]
    waves = np.sin(rows / 5.0) + np.cos(columns / 7.0) + 1.5 * ((rows // 8 + columns // 8) % 2)
    return np.asarray(np.broadcast_to(waves / 2 - 0.5, shape) + 0.1 * rng.standard_normal(shape), np.float32)


def _sound(*shape: int) -> Array:
    """Return a tone that grows, with noise."""
    time = np.arange(shape[-1]) / 16000.0
    noise = np.random.default_rng(4).standard_normal(shape) * 0.02
    return np.asarray(np.sin(2 * np.pi * 220 * time) * np.linspace(0.1, 0.6, shape[-1]) + noise, np.float32)


#: Name, package, path in it, and the arrays to feed in the order of the inputs.
_FILES: tuple[tuple[str, str, str, Callable[[], tuple[Array, ...]]], ...] = (
    ("PP-OCRv4 det", "rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", lambda: (_picture(1, 3, 96, 96),)),
    ("PP-OCRv4 rec", "rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", lambda: (_picture(1, 3, 48, 96),)),
    ("PP-OCR cls", "rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
     lambda: (_picture(1, 3, 48, 192),)),
    ("silero vad", "silero_vad", "data/silero_vad_16k_op15.onnx",
     lambda: (_sound(1, 576), np.zeros((2, 1, 128), np.float32), np.array(16000, np.int64))),
    ("magika", "magika", "models/standard_v3_3/model.onnx",
     lambda: (np.random.default_rng(5).integers(0, 256, (1, 2048)).astype(np.int32),)),
)  # fmt: skip


def trained() -> Mapping[str, Callable[[], Net]]:
    """Return the trained files that are installed, by name."""
    found: dict[str, Callable[[], Net]] = {}
    for name, package, path, arrays in _FILES:
        file = package_file(package, path)
        if file is None:
            continue

        def make(file: str = str(file), arrays: Callable[[], tuple[Array, ...]] = arrays) -> Net:
            model = onnx.load(file)
            held = {item.name for item in model.graph.initializer}
            names = [item.name for item in model.graph.input if item.name not in held]
            return Net(model, dict(zip(names, arrays(), strict=True)))

        found[name] = make
    return found
