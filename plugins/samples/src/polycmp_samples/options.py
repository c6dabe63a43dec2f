"""Options of the data loader `sample`. Light: `polycmp_samples.plugin` imports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.spec import opt

#: The pictures, in the order in which iterations take them.
PICTURES: Mapping[str, str] = {
    "coffee": "photograph 'coffee'",
    "astronaut": "photograph 'astronaut'",
    "page": "page of text",
}
#: Sizes at which there is something to see or hear, before those that are common.
SIZES: Mapping[str, tuple[int, ...]] = {"image": (320, 224, 640), "series": (16000, 512)}
#: How values of 0 to 255 become real numbers: what is subtracted, and by what the rest is divided.
SCALES: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "0..1": ((0.0,), (255.0,)),
    "imagenet": ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "0..255": ((0.0,), (1.0,)),
    "-1..1": ((127.5,), (127.5,)),
}


def _picture(text: str) -> str:
    if text not in PICTURES:
        raise ValueError(f"{text!r} is not a picture; use some of {', '.join(PICTURES)}")
    return text


@dataclass(frozen=True)
class SampleOptions:
    """Options of the data loader `sample`."""

    pictures: tuple[str, ...] = opt(
        tuple(PICTURES),
        help="Pictures to use in turn: coffee, astronaut, page.",
        alias=("--sample-pictures", "--sample-picture"),
        metavar="PICTURE",
        parse=_picture,
    )
    scale: str = opt(
        "",
        help="Range of the pictures' values. By default 0..255 if the model normalizes them itself, else 0..1.",
        choices=("", *SCALES),
    )
    iterations: int = opt(0, help="Number of iterations; by default one for each picture, or one.", metavar="N")

    def __post_init__(self) -> None:
        if not self.pictures:
            raise ValueError("pictures: at least one is needed")
        for name in self.pictures:
            _picture(name)
        if self.iterations < 0:
            raise ValueError(f"iterations: {self.iterations} is less than 0")
