"""Count right answers over a data set, and what a comparison keeps of it.

Found in: NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/More/08-ValidatingOnADataset
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator
from polygraphy.logger import G_LOGGER

G_LOGGER.module_severity = G_LOGGER.ERROR
images = np.random.RandomState(0).rand(6, 3, 8, 8).astype(np.float32)
load = SessionFromOnnx("conv.onnx")


def feed(index):
    return {"x": images[index : index + 1]}


with OnnxrtRunner(load) as runner:
    print([int(np.asarray(runner.infer(feed(index))["y"]).argmax()) for index in range(6)])
results = Comparator.run([OnnxrtRunner(load, name="ort")], data_loader=(feed(index) for index in range(6)))
kept = sum(np.asarray(value).nbytes for _, steps in results.items() for step in steps for _, value in step.items())
print(len(results["ort"]), kept)
