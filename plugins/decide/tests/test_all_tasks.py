"""`polycmp decide` on each task, with models that pass their inputs on: one as they are, one with the sign changed."""

from __future__ import annotations

import json

import numpy as np
import pytest

SAMPLES = 40


@pytest.fixture
def models(tmp_path):
    """Return a function that writes old.onnx, which changes nothing, and new.onnx, which changes the sign."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

    def write(form):
        for name, operator in (("old", "Identity"), ("new", "Neg"), ("same", "Identity")):
            graph = f"net (float[{form}] x) => (float[{form}] y) {{ y = {operator}(x) }}"
            text = f'<ir_version: 8, opset_import: ["" : 17]> {graph}'
            onnx.save(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")

    return write


def save(folder, arrays, labels):
    """Save an input for each sample, and their labels."""
    np.savez(folder / "inputs.npz", x=np.concatenate(arrays).astype(np.float32))
    (folder / "labels.csv").write_text("label\n" + "".join(f"{label}\n" for label in labels))


def check(decide, words, score):
    """Ask about a side that is worse and one that is the same."""
    same = decide(f"same.onnx old.onnx -b onnxrt {words} --max-drop 20")
    assert same.status == 0, same.err
    assert same.document["old"]["score"] == same.document["new"]["score"] == pytest.approx(score)
    worse = decide(f"new.onnx old.onnx -b onnxrt {words}")
    assert worse.status == 1, worse.out + worse.err
    assert worse.document["new"]["score"] < score
    assert worse.document["lost"] > worse.document["won"]


LOADED = "--load-inputs inputs.npz --labels labels.csv"


def test_tokens(models, decide, tmp_path):
    models("N, 5, 9")
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 9, (SAMPLES, 5))
    save(tmp_path, [np.eye(9)[tokens] + rng.random((SAMPLES, 5, 9)) / 2], [" ".join(map(str, row)) for row in tokens])
    check(decide, f"--task tokens {LOADED}", 1.0)


def test_embed(models, decide, tmp_path):
    models("N, 3")
    rng = np.random.default_rng(0)
    labels = np.arange(SAMPLES) % 4
    corners = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    save(tmp_path, [corners[labels] + rng.normal(0, 0.05, (SAMPLES, 3))], labels)
    same = decide(f"new.onnx old.onnx -b onnxrt --task embed {LOADED} --max-drop 20")
    assert same.status == 0  # the sign changes no cosine between two of them
    assert same.document["old"]["score"] == same.document["new"]["score"] == 1.0


def test_ocr(models, decide, tmp_path):
    pytest.importorskip("jiwer")
    models("N, 6, 4")
    texts = ["ab", "ba", "cab", "abc"] * (SAMPLES // 4)
    classes = [[" abc".index(letter) for letter in text.ljust(6)] for text in texts]
    save(tmp_path, [np.eye(4)[classes]], texts)
    (tmp_path / "characters.txt").write_text("a\nb\nc\n")
    check(decide, f"--task ocr --classes characters.txt {LOADED}", 1.0)


def test_segment(models, decide, tmp_path):
    image = pytest.importorskip("PIL.Image")
    models("1, 3, 8, 8")
    rng = np.random.default_rng(0)
    for folder in ("pictures", "masks"):
        (tmp_path / folder).mkdir()
    for number in range(SAMPLES):
        mask = rng.integers(0, 3, (8, 8))
        image.fromarray((np.eye(3)[mask] * 255).astype(np.uint8)).save(tmp_path / "pictures" / f"{number}.png")
        image.fromarray(mask.astype(np.uint8)).save(tmp_path / "masks" / f"{number}.png")
    check(decide, "--task segment --data pictures --labels masks", 1.0)


def test_detect(decide, tmp_path):
    """The new detector puts all boxes beside the right place."""
    onnx = pytest.importorskip("onnx")
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "pictures").mkdir()
    rng = np.random.default_rng(0)
    images, annotations = [], []
    for number in range(SAMPLES):
        image.fromarray(rng.integers(0, 255, (16, 32, 3)).astype(np.uint8)).save(
            tmp_path / "pictures" / f"{number}.png"
        )
        images.append({"id": number, "file_name": f"{number}.png", "width": 32, "height": 16})
        annotations.append({"id": number + 1, "image_id": number, "category_id": 7, "bbox": [8, 4, 16, 8]})
    labels = {"images": images, "annotations": annotations, "categories": [{"id": 7, "name": "thing"}]}
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    # A model of 64 by 64: the box is [16, 16, 48, 48] there.
    for name, left in (("old", 16), ("same", 16), ("new", 40)):
        box = f"{left}.0, 16.0, {left + 32}.0, 48.0, 0.9, 0.0"
        text = f"""<ir_version: 8, opset_import: ["" : 17]>
        net (float[1, 3, 64, 64] x) => (float[1, 1, 6] y) {{
            zero = Constant<value = float {{0.0}}>()
            mean = ReduceMean<keepdims = 0>(x)
            none = Mul(mean, zero)
            box = Constant<value = float[1, 1, 6] {{{box}}}>()
            y = Add(box, none)
        }}"""
        onnx.save(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")
    check(decide, "--task detect --data pictures --labels labels.json", 1.0)
