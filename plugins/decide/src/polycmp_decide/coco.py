"""Labels of pictures in COCO's form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polycmp.errors import DataError, FileError, describe_exception
from polycmp_decide.scores import Floats


@dataclass(frozen=True)
class Picture:
    """Boxes in a picture.

    Attributes:
        corners: Left, top, right and bottom of each box, as shares of the picture.
        names: Names of their classes.
        places: Places of their classes among all of the file, by its numbers.
        crowds: Whether each is of a crowd.
    """

    corners: Floats
    names: tuple[str, ...]
    places: tuple[int, ...]
    crowds: npt.NDArray[np.bool_]


def read_pictures(path: str) -> dict[str, Picture]:
    """Return the boxes in each picture, by its name.

    Raises:
        FileError: The file cannot be read.
        DataError: It is no file of boxes.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FileError("cannot read the labels", whose=path, why=describe_exception(error)) from error
    try:
        return _pictures(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            "is not in COCO's form", whose=path, why=describe_exception(error),
            hint="it has images (id, file_name, width, height), annotations (image_id, category_id, bbox) and "
            "categories (id, name)",
        ) from error  # fmt: skip


def _pictures(content: Mapping[str, Any]) -> dict[str, Picture]:
    categories = sorted(content["categories"], key=lambda item: int(item["id"]))
    names = {item["id"]: str(item["name"]) for item in categories}
    places = {item["id"]: place for place, item in enumerate(categories)}
    boxes: dict[Any, list[Mapping[str, Any]]] = {item["id"]: [] for item in content["images"]}
    for item in content["annotations"]:
        boxes[item["image_id"]].append(item)
    pictures = {}
    for image in content["images"]:
        image_boxes = boxes[image["id"]]
        corners = np.array([item["bbox"] for item in image_boxes], np.float64).reshape(-1, 4)
        corners[:, 2:] += corners[:, :2]
        size = np.array([image["width"], image["height"]] * 2, np.float64)
        pictures[str(image["file_name"])] = Picture(
            corners / size,
            tuple(names[item["category_id"]] for item in image_boxes),
            tuple(places[item["category_id"]] for item in image_boxes),
            np.array([bool(item.get("iscrowd", 0)) for item in image_boxes], bool),
        )
    return pictures
