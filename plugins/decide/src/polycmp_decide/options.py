"""The options of `polycmp decide`. Light: a help text needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.spec import opt, parse_confidence, parse_real

#: Class in `polycmp_decide.tasks` by task.
TASKS: Mapping[str, str] = {
    "classify": "classify:Classify",
    "detect": "detect:Detect",
    "segment": "segment:Segment",
    "tokens": "tokens:Tokens",
    "embed": "embed:Embed",
    "ocr": "text:Characters",
    "asr": "text:Words",
}
#: Forms of the outputs of detectors, in words; boxes are left, top, right, bottom unless their centre is named.
DECODERS: Mapping[str, str] = {
    "yolov8": "[N, 4 + classes, boxes]: centre and size in pixels, then scores",
    "yolov5": "[N, boxes, 5 + classes]: centre and size in pixels, a score of the box, then scores",
    "yolox": "[N, boxes, 5 + classes]: as yolov5, but places are relative to their cells, and sizes logarithms",
    "end2end": "[N, boxes, 6]: corners in pixels, score, class",
    "detr": "[N, queries, 4] and [N, queries, classes + 1]: centre and size as shares, logits, the last of none",
    "rtdetr": "[N, queries, 4] and [N, queries, classes]: centre and size as shares, logits of a sigmoid each",
    "torchvision": "boxes [K, 4] in pixels, scores [K] and labels [K]",
    "ssd": "detection_boxes [N, K, 4] as shares with the top first, detection_classes and detection_scores [N, K]",
}


def _points(text: str) -> float:
    value = parse_real(text)
    if not 0 <= value <= 100:
        raise ValueError(f"{text} is no drop in points, which is between 0 and 100")
    return value


@dataclass(frozen=True)
class DecideSection:
    """Deciding."""

    task: str = opt("classify", help="What the model is for.", choices=tuple(TASKS))
    labels: str = opt(
        "",
        help="What is right: a .csv file with the column label, and sample where the order does not tell; a .json "
        "file as COCO's; a folder of masks; hf:NAME, a data set; by default the folders that --data has for its "
        "classes.",
        metavar="FILE|DIR",
    )
    classes: str = opt("", help="Names of the classes in the model's order, a line each.", metavar="FILE")
    output: str = opt("", help="Output to look at, where several could be meant.", metavar="NAME")
    decoder: str = opt(
        "", help="Form of a detector's outputs, where their shapes do not tell.", choices=tuple(DECODERS)
    )
    max_drop: float = opt(0.5, help="The drop that is still well, in points of 100.", metavar="POINTS", parse=_points)
    confidence: float = opt(95.0, help="How sure to be, in per cent.", metavar="PERCENT", parse=parse_confidence)
