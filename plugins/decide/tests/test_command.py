"""`polycmp decide` on trained classifiers of digits, and what it refuses."""

from __future__ import annotations

import pytest

from polycmp.cli.main import run


def test_int8_is_not_accused(digits, decide):
    said = decide("int8.onnx float.onnx -b onnxrt --data pictures", digits)
    assert said.status == 0
    assert "PASSED: not worse: " in said.out
    found = said.document
    assert found["answer"] == "not worse"
    assert found["samples"] == 797
    assert found["old"]["score"] > 0.9
    assert found["drop"]["high"] <= found["max_drop"]


def test_a_damaged_model_is_worse_and_what_it_loses_is_listed(digits, decide):
    said = decide("damaged.onnx float.onnx -b onnxrt --data pictures", digits)
    assert said.status == 1
    found = said.document
    changed = found["changed"]
    assert f"FAILED: worse: {found['lost']} lost, {found['won']} won, p = " in said.out
    assert found["lost"] == sum(item["old"] == item["right"] for item in changed) > found["won"]
    assert found["drop"]["low"] > found["max_drop"]
    assert all((digits / "pictures" / item["sample"]).exists() for item in changed)
    assert found["new"]["score"] == pytest.approx(found["old"]["score"] - (found["lost"] - found["won"]) / 797)
    assert changed[0]["sample"] in said.out
    if pytest.importorskip("polycmp_locate"):
        lost = min(changed, key=lambda item: item["new_score"] - item["old_score"])["sample"]
        step = f"polycmp locate damaged.onnx float.onnx -b onnxrt --data-loader pictures --data pictures/{lost}"
        assert step in " ".join(said.out.split())
        assert run(step.split()[1:]) == 1


def test_few_samples_say_what_they_cannot_show_and_how_many_would(digits, decide, tmp_path):
    for number in range(10):
        (tmp_path / "few" / str(number)).mkdir(parents=True)
        first = next((digits / "pictures" / str(number)).iterdir())
        (tmp_path / "few" / str(number) / first.name).write_bytes(first.read_bytes())
    said = decide(f"int8.onnx float.onnx -b onnxrt --data {tmp_path / 'few'}", digits)
    assert said.status == 3
    assert "UNDECIDED: no evidence: " in said.out
    assert "with 10 samples a drop below " in said.out
    assert f"; take {said.document['needed_samples']:,}" in said.out
    assert said.document["needed_samples"] > 797


def test_a_model_that_guesses_is_noticed(digits, decide):
    """Both sides get pictures of another range than those that they were trained on."""
    remark = "float.onnx is right no more often than who always says"
    said = decide("int8.onnx float.onnx -b onnxrt --data pictures --pictures-scale 1e9", digits)
    assert remark in " ".join(said.out.split())
    assert "--pictures-mean" in said.out
    assert remark not in decide("int8.onnx float.onnx -b onnxrt --data pictures", digits).out


def test_the_confidence_and_the_drop_decide(digits, decide):
    words = "damaged.onnx float.onnx -b onnxrt --data pictures --max-drop"
    assert decide(f"{words} 2", digits).status == 1
    unsure = decide(f"{words} 10", digits)
    assert unsure.status == 3
    assert "lower, " in unsure.out
    assert "whether by more than 10 is not certain; take " in " ".join(unsure.out.split())
    assert decide(f"{words} 20", digits).status == 0


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("float.onnx -b onnxrt -b onnx", 2, "what is right?"),
        ("float.onnx -b onnxrt --data pictures", 2, "1 sides"),
        ("float.onnx -b onnxrt -b onnx --data pictures --load-inputs {csv}", 2, "two sources of inputs"),
        ("float.onnx -b onnxrt -b onnx --data none", 3, "no such folder"),
        ("float.onnx -b onnxrt -b onnx --data pictures --labels {csv}", 3, "no label for "),
        ("float.onnx -b onnxrt -b onnx --data pictures --task tokens", 3, "needs scores of tokens [N, T, V]"),
        ("float.onnx -b onnxrt -b onnx --data pictures --task ocr", 2, "which characters?"),
        ("float.onnx -b onnxrt -b onnx --data pictures --task detect", 3, "says nothing of boxes"),
        ("float.onnx -b onnxrt -b onnx --data pictures --output score", 2, "no output 'score'"),
        ("float.onnx -b onnxrt -b onnx --data pictures --max-drop -1", 2, "is no drop in points"),
        ("float.onnx -b onnxrt -b onnx --data pictures --confidence 100", 2, "is no confidence in per cent"),
        ("", 2, "no backend given"),
    ],
)
def test_what_cannot_be_decided_is_told(digits, decide, tmp_path, words, status, says):
    (tmp_path / "labels.csv").write_text("sample,label\n0/none.png,0\n")
    said = decide(words.format(csv=tmp_path / "labels.csv"), digits)
    assert said.status == status
    assert says in said.err
    assert "Traceback" not in said.err
