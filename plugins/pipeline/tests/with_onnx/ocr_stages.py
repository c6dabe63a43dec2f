"""The stages of a reader of text around two models of rapidocr_onnxruntime, most of them that package's own code."""

import cv2
import numpy as np
from rapidocr_onnxruntime.ch_ppocr_det.utils import DBPostProcess, DetPreProcess


def read(path):
    return cv2.imread(path)


def prepare(picture):
    return DetPreProcess(320, "min")(picture)


def boxes(probability, picture):
    found, _ = DBPostProcess(0.3, 0.5, 1000, 1.6, "fast", True)(probability, picture.shape[:2])
    return sorted(found.astype(np.int64).tolist(), key=lambda corners: (corners[0][1], corners[0][0]))


def crop(picture, boxes):
    crops = []
    for corners in np.array(boxes, np.float32).reshape(-1, 4, 2):
        width = int(max(np.linalg.norm(corners[0] - corners[1]), np.linalg.norm(corners[2] - corners[3])))
        height = int(max(np.linalg.norm(corners[0] - corners[3]), np.linalg.norm(corners[1] - corners[2])))
        target = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
        turned = cv2.getPerspectiveTransform(corners, target)
        flags = {"borderMode": cv2.BORDER_REPLICATE, "flags": cv2.INTER_CUBIC}
        crops.append(cv2.warpPerspective(picture, turned, (width, height), **flags))
    return crops


def scale(crops):
    lines = []
    for item in crops:
        height, width = item.shape[:2]
        wide = int(np.ceil(48 * width / height))
        line = cv2.resize(item, (wide, 48)).astype(np.float32).transpose(2, 0, 1) / 255
        padded = np.zeros((1, 3, 48, max(wide, 320)), np.float32)
        padded[0, :, :, :wide] = (line - 0.5) / 0.5
        lines.append(padded)
    return lines


def decode(scores):
    texts = []
    for item in scores:
        best = item[0].argmax(-1)
        kept = best[np.flatnonzero(np.diff(best, prepend=-1))]
        texts.append(" ".join(str(number) for number in kept if number))
    return texts
