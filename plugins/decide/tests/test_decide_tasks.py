"""What becomes of outputs in each task, and how it is scored: beside other implementations, or worked out by hand."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

from polycmp.errors import DataError, UsageError
from polycmp_decide.coco import Picture
from polycmp_decide.tasks import TaskOptions, make_task
from polycmp_decide.tasks.decoders import Boxes, decode, overlaps


def only(array):
    return {"out": np.asarray(array)}


def totals(task, new, old, truths):
    return task.scores(new, old, truths).totals


# --- classify


def test_the_first_of_equal_scores_is_the_class_and_nan_is_none():
    task = make_task("classify", TaskOptions())
    nan = np.nan
    assert task.predictions(only([[1.0, 3, 3], [nan, 0, 0]]), {}) == [1, -1]
    assert task.shown(-1) == "NaN"
    assert task.predictions(only(np.array([[1, 2.0]]).reshape(1, 2, 1, 1)), {}) == [1]
    assert totals(task, [1, -1], [1, 0], [1, 0]) == (0.5, 1.0)


def test_labels_that_are_no_class_are_told():
    with pytest.raises(DataError, match="'cat' is no class"):
        make_task("classify", TaskOptions()).truth("cat")
    assert make_task("classify", TaskOptions(classes=("dog", "cat"))).truth("cat") == 1


def test_several_outputs_that_may_be_meant_are_told():
    task = make_task("classify", TaskOptions())
    outputs = {"a": np.zeros((1, 3)), "b": np.zeros((1, 5))}
    with pytest.raises(UsageError, match="a, b") as raised:
        task.predictions(outputs, {})
    assert raised.value.hint == "--output a"
    assert make_task("classify", TaskOptions("b")).predictions(outputs, {}) == [0]


# --- embed


def test_a_vector_is_right_where_the_nearest_other_one_has_its_label():
    task = make_task("embed", TaskOptions())
    good = task.predictions(only([[1.0, 0], [2, 0.1], [0, 1], [0.1, 3]]), {})
    bad = task.predictions(only([[1.0, 0], [0, 1], [0.1, 3], [2, 0.1]]), {})
    truths = ["a", "a", "b", "b"]
    assert totals(task, bad, good, truths) == (0.0, 1.0)
    with pytest.raises(DataError, match="no two samples"):
        task.scores(good, good, ["a", "b", "c", "d"])


def test_nearest_vectors_are_those_of_scikit_learn():
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(300, 8)).astype(np.float32), rng.integers(0, 4, 300)
    nearest = neighbors.NearestNeighbors(metric="cosine").fit(vectors).kneighbors(n_neighbors=1, return_distance=False)
    task = make_task("embed", TaskOptions())
    mine = task.predictions(only(vectors), {})
    found = task.scores(mine, mine, [str(label) for label in labels])
    assert found.new.tolist() == (labels[nearest[:, 0]] == labels).astype(float).tolist()


# --- tokens


def test_places_without_a_label_do_not_count():
    task = make_task("tokens", TaskOptions())
    scores = np.eye(5)[[[1, 2, 3], [4, 4, 0]]]
    new = task.predictions(only(scores), {})
    truths = [task.truth("1 2 4"), task.truth("-100 4 -100")]
    found = task.scores(new, new, truths)
    assert found.new.tolist() == [2 / 3, 1.0]
    assert found.totals == (0.75, 0.75)
    with pytest.raises(DataError, match="2 tokens are right, and 3 places"):
        task.scores(new, new, [task.truth("1 2"), truths[1]])


# --- segment


def test_ratios_of_pixels_are_those_of_scikit_learn(tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    task = make_task("segment", TaskOptions())
    scores = rng.random((4, 3, 8, 8))
    right = rng.integers(0, 3, (4, 8, 8))
    truths = []
    for number, mask in enumerate(right):
        image.fromarray(mask.astype(np.uint8)).save(tmp_path / f"{number}.png")
        truths.append(task.truth(str(tmp_path / f"{number}.png")))
    new = task.predictions(only(scores), {})
    found = task.scores(new, new, truths)
    expected = metrics.jaccard_score(right.ravel(), scores.argmax(1).ravel(), average="macro")
    assert found.totals[0] == pytest.approx(expected, abs=1e-12)
    one = metrics.jaccard_score(right[0].ravel(), scores[0].argmax(0).ravel(), average="macro")
    assert found.new[0] == pytest.approx(one, abs=1e-12)


def test_pixels_that_do_not_count_and_other_sizes():
    task = make_task("segment", TaskOptions())
    small = task.predictions(only(np.array([[[0, 1], [1, 0]]])), {})
    right = np.repeat(np.repeat(np.array([[0, 1], [0, 255]]), 2, 0), 2, 1).astype(np.uint8)
    # Class 0: 4 of 8 pixels; class 1: 4 of 8.
    assert totals(task, small, small, [right])[0] == 0.5


# --- ocr, asr


def test_characters_that_repeat_are_one_unless_the_blank_is_between_them():
    task = make_task("ocr", TaskOptions(classes=("a", "b", "l")))
    classes = [1, 1, 0, 3, 3, 0, 3, 2]
    scores = np.eye(4)[classes]
    assert task.predictions(only(scores[None]), {}) == ["allb"]
    assert task.predictions(only(scores[:, None]), {}) == ["allb"]
    named = make_task("asr", TaskOptions(classes=("<pad>", "a", "|", "b")))
    assert named.predictions(only(np.eye(4)[[[1, 0, 2, 2, 3, 1]]]), {}) == ["a ba"]


def test_errors_in_texts_are_counted_over_all_samples():
    pytest.importorskip("jiwer")
    characters = make_task("ocr", TaskOptions(classes=("a",)))
    # kitten to sitting takes three, of six characters; nothing is wrong in the other six.
    found = characters.scores(["sitting", "bottle"], ["kitten", "bottle"], ["kitten", "bottle"])
    assert found.totals == (1 - 3 / 12, 1.0)
    assert found.new.tolist() == [0.5, 1.0]
    words = make_task("asr", TaskOptions(classes=("a",)))
    assert totals(words, ["the cat"], ["the cat sat"], ["the cat sat"]) == (pytest.approx(2 / 3), 1.0)
    assert totals(words, ["more"], [""], [""]) == (0.0, 1.0)


def test_another_number_of_characters_is_told():
    with pytest.raises(DataError, match="3 characters, and the model has 7 classes"):
        make_task("ocr", TaskOptions(classes=("a", "b", "c"))).predictions(only(np.zeros((1, 4, 7))), {})


# --- detect


def scene(seed, pictures=12, classes=3):
    """Return what is in pictures, and two detectors' boxes, the second of which is less exact."""
    rng = np.random.default_rng(seed)
    truths, sides = [], ([], [])
    for _ in range(pictures):
        number = int(rng.integers(0, 5))
        start = rng.uniform(0, 0.6, (number, 2))
        corners = np.concatenate([start, start + rng.uniform(0.05, 0.4, (number, 2))], 1)
        kinds = rng.integers(0, classes, number)
        crowds = rng.random(number) < 0.15
        truths.append(
            Picture(corners, tuple(f"class {kind}" for kind in kinds), tuple(int(kind) for kind in kinds), crowds)
        )
        for side, spread in zip(sides, (0.01, 0.05), strict=True):
            extra = rng.uniform(0, 0.5, (3, 2))
            boxes = np.concatenate([corners, np.concatenate([extra, extra + 0.3], 1)])
            boxes = boxes + rng.normal(0, spread, boxes.shape)
            boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 0.01)
            found = np.concatenate([np.where(rng.random(number) < 0.9, kinds, 0), rng.integers(0, classes, 3)])
            side.append(Boxes(boxes, rng.random(len(boxes)), found))
    return truths, sides


def as_coco(truths, boxes, size=1000.0):
    """Return both in COCO's form, in pictures of 1000 by 1000."""
    widths = [
        (at, corners, kind, crowd)
        for at, item in enumerate(truths)
        for corners, kind, crowd in zip(item.corners, item.places, item.crowds, strict=True)
    ]
    annotations = [
        {
            "id": number + 1, "image_id": at + 1, "category_id": kind + 1, "iscrowd": int(crowd),
            "bbox": [*(corners[:2] * size), *((corners[2:] - corners[:2]) * size)],
            "area": float(np.prod((corners[2:] - corners[:2]) * size)),
        }
        for number, (at, corners, kind, crowd) in enumerate(widths)
    ]  # fmt: skip
    found = [
        {
            "image_id": at + 1, "category_id": int(kind) + 1, "score": float(score),
            "bbox": [*(corners[:2] * size), *((corners[2:] - corners[:2]) * size)],
        }
        for at, item in enumerate(boxes)
        for corners, score, kind in zip(item.corners, item.scores, item.classes, strict=True)
    ]  # fmt: skip
    images = [{"id": at + 1, "file_name": f"{at}.png", "width": size, "height": size} for at in range(len(truths))]
    categories = [{"id": number + 1, "name": f"class {number}"} for number in range(3)]
    return {"images": images, "annotations": annotations, "categories": categories}, found


@pytest.mark.parametrize("seed", range(6))
def test_precision_is_that_of_coco(seed):
    library = pytest.importorskip("faster_coco_eval")
    truths, (exact, loose) = scene(seed)
    task = make_task("detect", TaskOptions())
    found = task.scores(loose, exact, [task.truth(item) for item in truths])
    for mine, boxes in zip(found.totals, (loose, exact), strict=True):
        labels, predicted = as_coco(truths, boxes)
        with contextlib.redirect_stdout(io.StringIO()):
            known = library.COCO(labels)
            evaluation = library.COCOeval_faster(known, known.loadRes(predicted), "bbox")
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
        assert mine == pytest.approx(evaluation.stats[0], abs=1e-9)
    assert found.totals[0] < found.totals[1]


def test_a_picture_twice_counts_twice():
    truths, (exact, loose) = scene(1)
    task = make_task("detect", TaskOptions())
    right = [task.truth(item) for item in truths]
    twice = task.scores([*loose, loose[2]], [*exact, exact[2]], [*right, right[2]])
    once = task.scores(loose, exact, right)
    places = np.append(np.arange(len(truths)), 2)
    assert once.total(places) == pytest.approx(twice.totals[0], abs=1e-12)


def test_areas_that_boxes_share():
    one = np.array([[0.0, 0, 2, 2]])
    assert overlaps(one, np.array([[1.0, 1, 3, 3], [0, 0, 2, 2], [5, 5, 6, 6]])).tolist() == [[1 / 7, 1, 0]]


CORNERS = [0.25, 0.25, 0.75, 0.5]


def grids():
    """Return what YOLOX gives for pictures of 128 by 128: grids of 16, 8 and 4 cells, a box in the last of them."""
    array = np.zeros((1, 16 * 16 + 8 * 8 + 4 * 4, 7))
    array[0, 256 + 64 + 4 + 2] = [0, 0.5, np.log(2), 0, 1, 0, 0.9]  # column 2 and row 1, of 32 pixels each
    return only(array)


@pytest.mark.parametrize(
    ("decoder", "outputs"),
    [
        ("yolov8", only(np.pad([[[64.0], [48], [64], [32], [0], [0.9]]], [(0, 0), (0, 0), (0, 9)]))),
        ("yolov5", only(np.pad([[[64.0, 48, 64, 32, 1, 0, 0.9]]], [(0, 0), (0, 9), (0, 0)]))),
        ("yolox", grids()),
        ("end2end", only([[[32.0, 32, 96, 64, 0.9, 1]]])),
        ("detr", {"logits": np.array([[[-50.0, np.log(9), 0]]]), "boxes": np.array([[[0.5, 0.375, 0.5, 0.25]]])}),
        ("rtdetr", {"boxes": np.array([[[0.5, 0.375, 0.5, 0.25]]]), "logits": np.array([[[-50.0, np.log(9)]]])}),
        ("torchvision", {"boxes": np.array([[32.0, 32, 96, 64]]), "labels": np.array([1]), "scores": np.array([0.9])}),
        (
            "ssd",
            {
                "detection_boxes": np.array([[[0.25, 0.25, 0.5, 0.75]]]),
                "detection_classes": np.array([[1.0]]),
                "detection_scores": np.array([[0.9]]),
                "num_detections": np.array([1.0]),
            },
        ),
    ],
)
def test_boxes_are_read_from_the_outputs_of_detectors(decoder, outputs):
    [boxes] = decode(outputs, {"x": np.zeros((1, 3, 128, 128))}, decoder)
    best = int(boxes.scores.argmax())
    assert boxes.corners[best] == pytest.approx(CORNERS)
    assert boxes.scores[best] == pytest.approx(0.9)
    assert boxes.classes[best] == 1


def test_the_decoder_is_known_by_shapes_only_where_they_tell():
    [boxes] = decode(only(np.zeros((1, 6, 50))), {}, "")
    assert len(boxes.scores) == 0
    [boxes] = decode(only(np.zeros((1, 3 * 336, 7))), {"x": np.zeros((1, 3, 128, 128))}, "")  # three boxes a cell
    assert len(boxes.scores) == 0
    with pytest.raises(UsageError, match="yolov5 or yolox"):
        decode(grids(), {"x": np.zeros((1, 3, 128, 128))}, "")
    queries = {"logits": np.zeros((1, 5, 3)), "boxes": np.zeros((1, 5, 4))}
    with pytest.raises(UsageError, match="detr or rtdetr"):
        decode(queries, {}, "")
    with pytest.raises(DataError, match="no decoder reads"):
        decode(only(np.zeros((1, 6))), {}, "")
    with pytest.raises(DataError, match="reads other outputs"):
        decode(queries, {}, "yolov8")


def test_of_boxes_that_overlap_the_first_of_a_class_stays():
    near = np.array([[0, 0, 1, 1.0], [0.01, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0.5, 0.5]])
    best = Boxes(near, np.array([0.8, 0.9, 0.7, 0.6]), np.array([0, 0, 1, 0])).best()
    assert best.scores.tolist() == [0.9, 0.7, 0.6]
