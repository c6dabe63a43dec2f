"""`polycmp decide` on trained classifiers of digits, and what it refuses."""

from __future__ import annotations

import base64
import csv
import re
from io import BytesIO

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


def test_a_folder_called_like_a_number_that_is_no_class(digits, decide, tmp_path):
    """Folders of angles, as of a classifier of directions: the second class is not number 180."""
    for name, digit in (("0", "0"), ("180", "1")):
        (tmp_path / "angles" / name).mkdir(parents=True)
        for picture in sorted((digits / "pictures" / digit).iterdir())[:20]:
            (tmp_path / "angles" / name / picture.name).write_bytes(picture.read_bytes())
    words = f"float.onnx float.onnx -b onnxrt --data {tmp_path / 'angles'}"
    said = decide(words, digits)
    assert said.status == 3
    assert "the label '180' is no class" in said.err
    assert "the model has 10 classes, 0 to 9" in said.err
    (tmp_path / "classes.txt").write_text("\n".join(["0", "180", *"23456789"]))
    said = decide(f"{words} --classes {tmp_path / 'classes.txt'}", digits)
    assert said.document["old"]["score"] > 0.9


def test_the_confidence_and_the_drop_decide(digits, decide):
    words = "damaged.onnx float.onnx -b onnxrt --data pictures --max-drop"
    assert decide(f"{words} 2", digits).status == 1
    unsure = decide(f"{words} 10", digits)
    assert unsure.status == 3
    assert "lower, " in unsure.out
    assert "whether by more than 10 is not certain; take " in " ".join(unsure.out.split())
    assert decide(f"{words} 20", digits).status == 0


def test_one_model_on_two_backends_with_labels_of_a_file(digits, decide, tmp_path):
    names = sorted(path.relative_to(digits / "pictures").as_posix() for path in (digits / "pictures").glob("*/*.png"))
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("sample", "label"), *((name, name.partition("/")[0]) for name in reversed(names))])
    words = f"--data pictures --labels {tmp_path / 'labels.csv'}"
    said = decide(f"float.onnx -b onnxrt -b onnx {words}", digits)
    assert said.status == 0
    assert said.document["new"]["label"] == "onnxrt"
    assert said.document["old"]["label"] == "onnx"
    assert said.document["lost"] == said.document["won"] == 0
    assert said.document["old"]["score"] > 0.9


def test_names_of_classes_are_shown(digits, decide, tmp_path):
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    (tmp_path / "classes.txt").write_text("\n".join(names))
    labels = tmp_path / "labels.csv"
    labels.write_text("sample,label\n")
    for path in (digits / "pictures").glob("*/*.png"):
        name = names[int(path.parent.name)]
        with labels.open("a") as file:
            file.write(f"{path.relative_to(digits / 'pictures').as_posix()},{name}\n")
    said = decide(
        f"damaged.onnx float.onnx -b onnxrt --data pictures --labels {labels} --classes {tmp_path / 'classes.txt'}",
        digits,
    )
    assert said.status == 1
    assert "zero" in {item["right"] for item in said.document["changed"]}


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


def test_other_numbers_of_labels_and_samples_are_told(digits, decide, tmp_path):
    import numpy as np

    np.savez(tmp_path / "inputs.npz", picture=np.zeros((3, 1, 8, 8), np.float32))
    (tmp_path / "labels.csv").write_text("label\n1\n2\n")
    words = f"float.onnx -b onnxrt -b onnx --load-inputs {tmp_path / 'inputs.npz'} --labels {tmp_path / 'labels.csv'}"
    said = decide(words, digits)
    assert said.status == 3
    assert "2 labels, and other numbers of predictions" in said.err


def test_sides_that_fail_are_named(digits, decide, tmp_path):
    (tmp_path / "load.py").write_text(
        "import numpy as np\n\n\ndef load_data():\n    yield {'picture': np.zeros((1, 1, 8, 9), np.float32)}\n"
    )
    (tmp_path / "labels.csv").write_text("label\n1\n")
    words = f"--data-loader-script {tmp_path / 'load.py'} --labels {tmp_path / 'labels.csv'}"
    said = decide(f"float.onnx -b onnxrt -b onnx {words}", digits)
    assert said.status == 3
    assert "ERROR: onnxrt, onnx failed" in said.out
    assert said.document["new"]["error"]


def test_samples_that_are_lost_are_no_failures_of_a_side_that_is_not_worse(digits, decide, tmp_path):
    pytest.importorskip("polycmp_report")
    words = f"damaged.onnx float.onnx -b onnxrt --data pictures --max-drop 20 --report {tmp_path / 'junit.xml'}"
    said = decide(words, digits)
    assert said.document["lost"] > 0
    assert 'failures="0"' in (tmp_path / "junit.xml").read_text("utf-8")


def test_a_page_lists_the_samples_and_shows_them(digits, decide, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    pytest.importorskip("polycmp_report")
    said = decide(f"damaged.onnx float.onnx -b onnxrt --data pictures --report {tmp_path / 'page.html'}", digits)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(item["sample"] in page for item in said.document["changed"])
    assert "Samples that change" in page
    shown = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert len(shown) == min(100, len(said.document["changed"]))
    worst = min(said.document["changed"], key=lambda item: item["new_score"] - item["old_score"])
    with (
        Image.open(digits / "pictures" / worst["sample"]) as file,
        Image.open(BytesIO(base64.b64decode(shown[0]))) as small,
    ):
        assert small.convert("L").tobytes() == file.convert("L").tobytes()
