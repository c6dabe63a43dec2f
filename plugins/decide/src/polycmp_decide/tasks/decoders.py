"""Decoders of detectors' outputs to boxes in shares of the picture, which do not depend on its size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polycmp.errors import DataError, UsageError
from polycmp.tensors import to_numpy
from polycmp_decide.options import DECODERS
from polycmp_decide.scores import Floats
from polycmp_decide.tasks.task import Array

#: Limits that people who measure YOLO use: scores, overlap of boxes of one class, boxes of a picture.
_MIN_SCORE, _MAX_OVERLAP, _MAX_BOXES = 0.001, 0.7, 300
#: Boxes that are looked at, those with the largest scores.
_MAX_CANDIDATES = 3000
#: Pixels between the cells of the grids of YOLO.
_STRIDES = (8, 16, 32)


@dataclass(frozen=True)
class Boxes:
    """The boxes in one picture.

    Attributes:
        corners: Left, top, right and bottom of each, as shares of the picture.
        scores: Their scores.
        classes: Numbers of their classes.
    """

    corners: Floats
    scores: Floats
    classes: Array

    def best(self) -> Boxes:
        """Return the boxes with the largest scores, of those that overlap and are of one class the first."""
        order = np.argsort(-self.scores, kind="stable")
        order = order[self.scores[order] > _MIN_SCORE][:_MAX_CANDIDATES]
        corners, classes = self.corners[order], self.classes[order]
        remaining = np.ones(len(order), bool)
        places: list[int] = []
        for at in range(len(order)):
            if not remaining[at] or len(places) == _MAX_BOXES:
                continue
            places.append(at)
            near = overlaps(corners[at : at + 1], corners)[0] > _MAX_OVERLAP
            remaining &= ~(near & (classes == classes[at]))
        return Boxes(corners[places], self.scores[order][places], classes[places])


def areas(boxes: Floats) -> Floats:
    """Return the area of each box."""
    each: Floats = np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0), axis=-1)
    return each


def shared_areas(some: Floats, others: Floats) -> Floats:
    """Return the area that boxes share: a row for each of the first."""
    shared = np.minimum(some[:, None, 2:], others[None, :, 2:]) - np.maximum(some[:, None, :2], others[None, :, :2])
    both: Floats = np.prod(np.maximum(shared, 0), axis=-1)
    return both


def overlaps(some: Floats, others: Floats) -> Floats:
    """Return the area that boxes share, by the area that they cover together: a row for each of the first."""
    both = shared_areas(some, others)
    together = areas(some)[:, None] + areas(others)[None] - both
    ratios: Floats = np.divide(both, together, out=np.zeros_like(both), where=together > 0)
    return ratios


def decode(outputs: Mapping[str, Any], feed: Mapping[str, Any], decoder: str) -> list[Boxes]:
    """Return the boxes in each picture.

    Args:
        outputs: A detector's outputs.
        feed: Its inputs; the first with four dimensions are the pictures.
        decoder: One of `DECODERS`; empty if the shapes tell.

    Raises:
        DataError: The outputs are not what the decoder reads, or none reads such outputs.
        UsageError: Several do.
    """
    arrays = {name: np.asarray(to_numpy(value)) for name, value in outputs.items()}
    arrays = {name: array.astype(np.float64) for name, array in arrays.items()}
    shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
    size = _size(feed)
    fitting = [name for name in DECODERS if _FORMS[name](arrays, size)]
    if decoder and decoder not in fitting:
        raise DataError(
            f"reads other outputs: {DECODERS[decoder]}", whose=f"--decoder {decoder}", why=f"they are {shapes}"
        )
    if not decoder and len(fitting) != 1:
        if not fitting:
            raise DataError(
                "no decoder reads such outputs", whose="--task detect", why=f"they are {shapes}",
                hint=f"there are: {', '.join(DECODERS)}",
            )  # fmt: skip
        raise UsageError(
            f"the outputs may be {' or '.join(fitting)}", whose="--task detect", why=f"they are {shapes}",
            hint=f"--decoder {fitting[0]}",
        )  # fmt: skip
    return _READERS[decoder or fitting[0]](arrays, size)


def _size(feed: Mapping[str, Any]) -> Floats:
    """Return width, height, width and height of the pictures that a model is fed with; ones where there are none."""
    for array in feed.values():
        shape = tuple(array.shape)
        if len(shape) == 4:
            height, width = shape[2:] if shape[1] in (1, 3) else shape[1:3]
            return np.array([width, height, width, height], np.float64)
    return np.ones(4)


def _corners(centres: Floats) -> Floats:
    """Return the corners of boxes that are given by centre, width and height."""
    half = centres[..., 2:4] / 2
    return np.concatenate([centres[..., :2] - half, centres[..., :2] + half], axis=-1)


def _each_class(corners: Floats, scores: Floats) -> Boxes:
    """Return a box for each class that has a score worth looking at."""
    box, kind = np.nonzero(scores > _MIN_SCORE)
    return Boxes(corners[box], scores[box, kind], kind)


def _lone(arrays: Mapping[str, Array]) -> Array | None:
    """Return the only output, if it has three dimensions."""
    [array] = arrays.values() if len(arrays) == 1 else [np.empty(0)]
    return array if array.ndim == 3 else None


def _is_yolov8(arrays: Mapping[str, Array], size: Floats) -> bool:
    del size
    array = _lone(arrays)
    return array is not None and 4 < array.shape[1] < array.shape[2]


def _yolov8(arrays: Mapping[str, Array], size: Floats) -> list[Boxes]:
    [array] = arrays.values()
    return [_each_class(_corners(item[:4].T) / size, item[4:].T).best() for item in array]


def _is_yolov5(arrays: Mapping[str, Array], size: Floats) -> bool:
    del size
    array = _lone(arrays)
    return array is not None and 5 < array.shape[2] < array.shape[1]


def _yolov5(arrays: Mapping[str, Array], size: Floats) -> list[Boxes]:
    [array] = arrays.values()
    return [_each_class(_corners(item[:, :4]) / size, item[:, 4:5] * item[:, 5:]).best() for item in array]


def _is_yolox(arrays: Mapping[str, Array], size: Floats) -> bool:
    array = _lone(arrays)
    return array is not None and array.shape[2] > 5 and array.shape[1] == len(_cells(size))


def _yolox(arrays: Mapping[str, Array], size: Floats) -> list[Boxes]:
    [array] = arrays.values()
    cells = _cells(size)
    places, strides = cells[:, :2], cells[:, 2:]
    all_boxes = []
    for item in array:
        centres = np.concatenate([(item[:, :2] + places) * strides, np.exp(item[:, 2:4]) * strides], axis=-1)
        all_boxes.append(_each_class(_corners(centres) / size, item[:, 4:5] * item[:, 5:]).best())
    return all_boxes


def _cells(size: Floats) -> Floats:
    """Return column, row and stride of each cell of the three grids that YOLO has over a picture."""
    grids = []
    for stride in _STRIDES:
        rows, columns = np.mgrid[: int(size[1] // stride), : int(size[0] // stride)]
        grids.append(np.stack([columns, rows, np.full_like(rows, stride)], axis=-1).reshape(-1, 3))
    cells: Floats = np.concatenate(grids).astype(np.float64)
    return cells


def _is_end2end(arrays: Mapping[str, Array], size: Floats) -> bool:
    del size
    array = _lone(arrays)
    return array is not None and array.shape[2] == 6


def _end2end(arrays: Mapping[str, Array], size: Floats) -> list[Boxes]:
    [array] = arrays.values()
    return [Boxes(item[:, :4] / size, item[:, 4], item[:, 5].astype(np.int64)) for item in array]


def _queries(arrays: Mapping[str, Array]) -> tuple[Array, Array] | None:
    """Return boxes and scores of queries: two outputs with three dimensions, of which the last of one is 4."""
    if len(arrays) != 2:
        return None
    boxes, scores = sorted(arrays.values(), key=lambda array: array.shape[-1:] != (4,))
    fit = boxes.ndim == scores.ndim == 3 and boxes.shape[2] == 4 and boxes.shape[:2] == scores.shape[:2]
    return (boxes, scores) if fit else None


def _is_queries(arrays: Mapping[str, Array], size: Floats) -> bool:
    del size
    return _queries(arrays) is not None


def _detr(arrays: Mapping[str, Array], size: Floats) -> list[Boxes]:
    del size
    boxes, scores = _queries(arrays) or (np.empty(0), np.empty(0))
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares = (shares / shares.sum(-1, keepdims=True))[..., :-1]  # the last class is none
    return [Boxes(_corners(box), share.max(-1), share.argmax(-1)) for box, share in zip(boxes, shares, strict=True)]


def _rtdetr(arrays: Mapping[str, Array], size: Floats) -> list[Boxes]:
    del size
    boxes, scores = _queries(arrays) or (np.empty(0), np.empty(0))
    all_boxes = []
    for box, score in zip(boxes, scores, strict=True):
        all_classes = _each_class(_corners(box), 1 / (1 + np.exp(-score)))
        order = np.argsort(-all_classes.scores, kind="stable")[: len(box)]
        all_boxes.append(Boxes(all_classes.corners[order], all_classes.scores[order], all_classes.classes[order]))
    return all_boxes


def _is_torchvision(arrays: Mapping[str, Array], size: Floats) -> bool:
    del size
    names = {"boxes", "scores", "labels"}
    return names <= arrays.keys() and arrays["boxes"].ndim == 2 and arrays["boxes"].shape[1] == 4


def _torchvision(arrays: Mapping[str, Array], size: Floats) -> list[Boxes]:
    return [Boxes(arrays["boxes"] / size, arrays["scores"], arrays["labels"].astype(np.int64))]


def _is_ssd(arrays: Mapping[str, Array], size: Floats) -> bool:
    del size
    names = {"detection_boxes", "detection_classes", "detection_scores"}
    return names <= arrays.keys() and arrays["detection_boxes"].ndim == 3


def _ssd(arrays: Mapping[str, Array], size: Floats) -> list[Boxes]:
    del size
    columns = [1, 0, 3, 2]  # it gives top and left
    each = zip(*(arrays[f"detection_{name}"] for name in ("boxes", "scores", "classes")), strict=True)
    return [Boxes(boxes[:, columns], scores, classes.astype(np.int64)) for boxes, scores, classes in each]


_FORMS: Mapping[str, Callable[[Mapping[str, Array], Floats], bool]] = {
    "yolov8": _is_yolov8, "yolov5": _is_yolov5, "yolox": _is_yolox, "end2end": _is_end2end,
    "detr": _is_queries, "rtdetr": _is_queries, "torchvision": _is_torchvision, "ssd": _is_ssd,
}  # fmt: skip
_READERS: Mapping[str, Callable[[Mapping[str, Array], Floats], list[Boxes]]] = {
    "yolov8": _yolov8, "yolov5": _yolov5, "yolox": _yolox, "end2end": _end2end, "detr": _detr, "rtdetr": _rtdetr,
    "torchvision": _torchvision, "ssd": _ssd,
}  # fmt: skip
