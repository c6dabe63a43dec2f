"""A data loader that takes images where there are some, and draws where there are none.

Found in: yyq19990828/onnxtools, the loader of images for engines
"""

from collections import OrderedDict

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator
from polygraphy.comparator.data_loader import DataLoader
from polygraphy.logger import G_LOGGER

G_LOGGER.severity = G_LOGGER.ERROR


class CustomEngineDataLoader(DataLoader):
    def __init__(self, input_name, images=None, iterations=10, **kwargs):
        super().__init__(iterations=iterations, **kwargs)
        self.input_name, self.images = input_name, images or []

    def __getitem__(self, index):
        if index >= self.iterations:
            raise IndexError(index)
        if not self.images:
            return super().__getitem__(index)
        feed_dict = OrderedDict()
        feed_dict[self.input_name] = self.images[index % len(self.images)]
        return feed_dict

    def __len__(self):
        return self.iterations


for images in ([np.full((1, 3, 8, 8), value, np.float32) for value in (1, 2)], None):
    loader = CustomEngineDataLoader("x", images, iterations=3, val_range={"x": (0, 1)})
    results = Comparator.run([OnnxrtRunner(SessionFromOnnx("conv.onnx"), name="ort")], data_loader=loader)
    print(len(loader), [round(float(step["y"].sum()), 4) for step in results["ort"]])
