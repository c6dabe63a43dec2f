"""A small U-Net, the faults that a conversion may plant in it, and the words that have one of them searched for."""

from __future__ import annotations

from conversion_faults import faults
from unet import unet

SOURCE = unet()
#: One fault of each name, at the first place that it fits.
FAULTS = {fault.name: fault for fault in reversed(list(faults(SOURCE)))}
WORDS = ("source.onnx", "-b", "onnxrt:model=faulty.onnx", "-b", "onnxrt", "--load-inputs", "x.npz")
WORDS += ("--atol", "1e-3", "--rtol", "1e-3")
