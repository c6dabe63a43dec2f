"""Faults of Qualcomm's execution provider on the emulator of its NPU, seen over the one-node models of onnx."""

from __future__ import annotations

from truth.found.fault import Fault

_QNN = "onnxruntime-qnn"

NPU_FAULTS: tuple[Fault, ...] = (
    Fault("Resize to the nearest by scales, QNN", _QNN, "takes the ratio of the sizes for the scales", 13,
          "g (float[1,1,2,4] x) => (float[1,1,1,2] y) <float[4] s = {1.0, 1.0, 0.6, 0.6}, float[0] r = {}> "
          "{ y = Resize<mode = \"nearest\">(x, r, s) }",
          "{'x': np.float32([[[[1, 2, 3, 4], [5, 6, 7, 8]]]])}", "[[[[1, 3]]]]",
          "Resize: half_pixel, round_prefer_floor: (0 + 0.5) / 0.6 - 0.5 = 0.33 is 0, (1 + 0.5) / 0.6 - 0.5 = 2"),
    Fault("Resize to the nearest, align_corners, QNN", _QNN, "takes other coordinates", 13,
          "g (float[1,1,1,4] x) => (float[1,1,1,8] y) <int64[4] s = {1, 1, 1, 8}, float[0] r = {}> "
          "{ y = Resize<mode = \"nearest\", coordinate_transformation_mode = \"align_corners\", "
          "nearest_mode = \"floor\">(x, r, r, s) }",
          "{'x': np.float32([[[[1, 2, 3, 4]]]])}", "[[[[1, 1, 1, 2, 2, 3, 3, 4]]]]",
          "Resize: x_original = x_resized * (4 - 1) / (8 - 1), and its floor"),
    Fault("Resize by a linear interpolation, QNN", _QNN, "takes the ratio of the sizes for the scales", 13,
          "g (float[1,1,2,4] x) => (float[1,1,1,2] y) <float[4] s = {1.0, 1.0, 0.6, 0.6}, float[0] r = {}> "
          "{ y = Resize<mode = \"linear\">(x, r, s) }",
          "{'x': np.float32([[[[1, 2, 3, 4], [5, 6, 7, 8]]]])}", "[[[[2.6666665, 4.333333]]]]",
          "Resize: half_pixel: rows at 0.33, columns at 0.33 and 2"),
)  # fmt: skip
