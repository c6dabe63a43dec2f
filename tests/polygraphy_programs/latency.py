"""Feed a runner from a DataLoader that knows its inputs by an example, and time it.

Found in: a script that times a network for grasping
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.common import TensorMetadata
from polygraphy.comparator import DataLoader

data_loader = DataLoader(
    iterations=4,
    val_range=(-0.5, 0.5),
    input_metadata=TensorMetadata.from_feed_dict({"x": np.zeros([1, 3, 8, 8], dtype=np.float32)}),
)
times = []
with OnnxrtRunner(SessionFromOnnx("conv.onnx")) as runner:
    for feed_dict in data_loader:
        outputs = runner.infer(feed_dict=feed_dict)
        times.append(runner.last_inference_time())
        print(sorted(outputs), outputs["y"].shape, round(float(feed_dict["x"].mean()), 6))
print(len(times), all(second > 0 for second in times))
