"""Give a language model tokens and masks in ranges of their own."""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.common import TensorMetadata
from polygraphy.comparator import Comparator, DataLoader

metadata = TensorMetadata().add("ids", dtype=np.int64, shape=(2, 4)).add("mask", dtype=np.int64, shape=(2, 4))
data_loader = DataLoader(input_metadata=metadata, val_range={"ids": (0, 5), "mask": (1, 1)}, iterations=3)
for feed_dict in data_loader:
    print({name: (array.shape, int(array.min()) >= 0, int(array.max()) <= 5) for name, array in feed_dict.items()})
runners = [OnnxrtRunner(SessionFromOnnx("dynamic.onnx")) for _ in range(2)]
results = Comparator.run(runners, data_loader=data_loader)
print([iteration["hidden"].shape for iteration in results[1][1]])
