"""`polycmp decide` on models that packages bring: a good file in 8 bits is not accused, a bad one is worse."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from real_tasks import clip_classifier, draw_lines, draw_scenes, make_sounds, model_of, quantise, rounded

pytestmark = pytest.mark.corpus
Image = pytest.importorskip("PIL.Image")
pytest.importorskip("onnxruntime")


def check(decide, words, least):
    """Ask about a good file and a bad one; the old side scores well enough for a difference to show."""
    good = decide(f"good.onnx old.onnx -b onnxrt {words}")
    assert good.status == 0, good.out + good.err
    assert "PASSED: not worse: " in good.out
    assert good.document["old"]["score"] > least
    assert good.document["drop"]["high"] <= good.document["max_drop"]
    bad = decide(f"bad.onnx old.onnx -b onnxrt {words}")
    assert bad.status == 1, bad.out + bad.err
    assert "FAILED: worse: " in bad.out
    assert bad.document["drop"]["low"] > bad.document["max_drop"]
    assert bad.document["samples"] == good.document["samples"]
    return good.document, bad.document


def test_a_detector_of_characters(decide, tmp_path):
    pytest.importorskip("faster_coco_eval")
    old = model_of("ddddocr/common_det.onnx")
    draw_scenes(tmp_path, 60)

    def feeds(brightness):
        for path in sorted((tmp_path / "scenes").iterdir())[:12]:
            blue_first = np.asarray(Image.open(path), np.float32)[:, :, ::-1].transpose(2, 0, 1)
            yield {"images": np.ascontiguousarray(blue_first)[None] * np.float32(brightness)}

    quantise(old, tmp_path / "good.onnx", feeds(1.0), op_types_to_quantize=["Conv"])
    quantise(old, tmp_path / "bad.onnx", feeds(0.2), op_types_to_quantize=["Conv"])  # calibrated in the dark
    onnx.save(onnx.load(old), tmp_path / "old.onnx")
    words = "--data scenes --pictures-bgr --pictures-scale 1 --labels boxes.json --task detect --decoder yolox"
    good, bad = check(decide, f"{words} --max-drop 3", 0.5)
    assert good["measure"] == bad["measure"] == "mAP"


def test_a_reader_of_lines(decide, tmp_path):
    pytest.importorskip("jiwer")
    old = onnx.load(model_of("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"))
    characters = next(item.value for item in old.metadata_props if item.key == "character")
    (tmp_path / "characters.txt").write_text(f"{characters}\n ")
    draw_lines(tmp_path, 80)
    onnx.save(old, tmp_path / "old.onnx")
    onnx.save(rounded(old, 8), tmp_path / "good.onnx")
    onnx.save(rounded(old, 6), tmp_path / "bad.onnx")
    check(decide, "--load-inputs lines --labels lines.csv --classes characters.txt --task ocr --max-drop 2", 0.8)


def test_a_detector_of_speech(decide, tmp_path):
    old = model_of("silero_vad/data/silero_vad_16k_sequence.onnx")
    make_sounds(tmp_path, 800)
    for name, bits in (("good", 8), ("bad", 4)):
        onnx.save(clip_classifier(rounded(onnx.load(old), bits)), tmp_path / f"{name}.onnx")
    onnx.save(clip_classifier(onnx.load(old)), tmp_path / "old.onnx")
    check(decide, "--load-inputs sounds --labels sounds.csv --max-drop 1.5", 0.9)
