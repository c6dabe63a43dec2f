"""Options of the compare functions for classes, distributions and boxes. Light: a help text needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.spec import opt, parse_tolerance


def _share(text: str) -> float:
    value = float(text)
    if not 0.0 <= value <= 1.0:
        raise ValueError("it must be between 0 and 1")
    return value


@dataclass(frozen=True)
class TopkAgreementOptions:
    """Options of `topk_agreement`."""

    k: int = opt(1, help="How many of the largest entries to compare; 1 or more.")
    axis: int = opt(-1, help="The axis of the classes.")
    threshold: Mapping[str, float] = opt(
        {"": 1.0}, help="Smallest share of them that must agree.", metavar="[OUTPUT:]SHARE", parse=_share
    )

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError("k must be at least 1")


@dataclass(frozen=True)
class KlDivergenceOptions:
    """Options of `kl_divergence`."""

    of: str = opt("probabilities", help="Meaning of the outputs.", choices=("probabilities", "logits"))
    axis: int = opt(-1, help="The axis of the classes.")
    threshold: Mapping[str, float] = opt(
        {"": 1e-3}, help="Largest mean divergence, in nats.", metavar="[OUTPUT:]NATS", parse=parse_tolerance
    )


@dataclass(frozen=True)
class IouMatchOptions:
    """Options of `iou_match`."""

    form: str = opt(
        "xyxy",
        help="Format of the boxes: two corners, corner and size, or centre and size.",
        choices=("xyxy", "xywh", "cxcywh"),
    )
    min_iou: float = opt(0.9, help="Smallest overlap (IoU) at which two boxes match.", metavar="IOU", parse=_share)
    threshold: Mapping[str, float] = opt(
        {"": 1.0}, help="Smallest share of boxes that must have a match.", metavar="[OUTPUT:]SHARE", parse=_share
    )
