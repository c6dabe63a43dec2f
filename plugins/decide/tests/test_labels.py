"""Labels of samples: of folders, of files, and those that fit no sample."""

from __future__ import annotations

import csv


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


def test_other_numbers_of_labels_and_samples_are_told(digits, decide, tmp_path):
    import numpy as np

    np.savez(tmp_path / "inputs.npz", picture=np.zeros((3, 1, 8, 8), np.float32))
    (tmp_path / "labels.csv").write_text("label\n1\n2\n")
    words = f"float.onnx -b onnxrt -b onnx --load-inputs {tmp_path / 'inputs.npz'} --labels {tmp_path / 'labels.csv'}"
    said = decide(words, digits)
    assert said.status == 3
    assert "2 labels, and other numbers of predictions" in said.err
