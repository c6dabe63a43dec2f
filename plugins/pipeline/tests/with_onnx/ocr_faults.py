"""Stages of `ocr_stages` with a fault each, called `STAGE_FAULT`."""

import cv2
import numpy as np
import ocr_stages as right
from rapidocr_onnxruntime.ch_ppocr_det.utils import DBPostProcess, DetPreProcess


def read_blue_last(path):
    return right.read(path)[:, :, ::-1].copy()


def read_grey(path):
    return cv2.merge([cv2.imread(path, 0)] * 3)


def read_seven_bits(path):
    return right.read(path) // 2 * 2


def read_upside_down(path):
    return right.read(path)[::-1].copy()


def prepare_other_mean_and_deviation(picture):
    return DetPreProcess(320, "min", [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])(picture)


def prepare_without_mean(picture):
    return DetPreProcess(320, "min", [0, 0, 0])(picture)


def prepare_divided_by_256(picture):
    return (right.prepare(picture) + 1) * np.float32(255 / 256) - 1


def prepare_transposed(picture):
    return right.prepare(picture).transpose(0, 1, 3, 2).copy()


class Nearest(DetPreProcess):
    """Takes the nearest pixel."""

    def resize(self, img):
        """Return the picture in the right size."""
        height, width = super().resize(img).shape[:2]
        return cv2.resize(img, (width, height), interpolation=cv2.INTER_NEAREST)


def prepare_nearest_pixel(picture):
    return Nearest(320, "min")(picture)


def prepare_smaller(picture):
    return DetPreProcess(288, "min")(picture)


def in_order(found):
    return sorted(found.astype(np.int64).tolist(), key=lambda corners: (corners[0][1], corners[0][0]))


def boxes_other_threshold(probability, picture):
    return in_order(DBPostProcess(0.6, 0.5, 1000, 1.6, "fast", True)(probability, picture.shape[:2])[0])


def boxes_tighter(probability, picture):
    return in_order(DBPostProcess(0.3, 0.5, 1000, 1.5, "fast", True)(probability, picture.shape[:2])[0])


def boxes_one_pixel_right(probability, picture):
    return [[[x + 1, y] for x, y in corners] for corners in right.boxes(probability, picture)]


def boxes_from_bottom_to_top(probability, picture):
    return right.boxes(probability, picture)[::-1]


def boxes_last_one_lost(probability, picture):
    return right.boxes(probability, picture)[:-1]


def boxes_height_for_width(probability, picture):
    return right.boxes(probability, picture.transpose(1, 0, 2))


def crop_one_column_less(picture, boxes):
    return [item[:, :-1] for item in right.crop(picture, boxes)]


def crop_one_pixel_off(picture, boxes):
    return right.crop(np.roll(picture, 1, 1), boxes)


def crop_half_a_pixel_off(picture, boxes):
    return right.crop(picture, [[[x + 0.5, y] for x, y in corners] for corners in boxes])


def crop_turned_by_half(picture, boxes):
    return [item[::-1, ::-1].copy() for item in right.crop(picture, boxes)]


def scale_blue_last(crops):
    return [item[:, ::-1].copy() for item in right.scale(crops)]


def scale_without_mean(crops):
    return [item + np.float32(1) for item in right.scale(crops)]


def scale_one_pixel_narrower(crops):
    return [item[..., :-1] for item in right.scale(crops)]


def scale_white_behind(crops):
    lines = right.scale(crops)
    for line, item in zip(lines, crops, strict=True):
        line[..., int(np.ceil(48 * item.shape[1] / item.shape[0])) :] = 1
    return lines


def decode_repeats_kept(scores):
    return [" ".join(str(number) for number in item[0].argmax(-1) if number) for item in scores]


def decode_one_character_on(scores):
    return [" ".join(str(int(number) + 1) for number in text.split()) for text in right.decode(scores)]
