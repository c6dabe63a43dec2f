"""Make inputs for whatever a model declares."""

import numpy as np
from polygraphy import util
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx

with OnnxrtRunner(SessionFromOnnx("dynamic.onnx", providers=["CPUExecutionProvider"])) as runner:
    feed_dict = {}
    for name, (dtype, shape) in runner.get_input_metadata().items():
        shape = util.override_dynamic_shape(shape, default_shape_value=2)
        feed_dict[name] = np.zeros(shape, dtype=dtype)
    print({name: (array.dtype.name, array.shape) for name, array in feed_dict.items()})
    print({name: array.shape for name, array in runner.infer(feed_dict).items()})
    print(runner.is_active, runner.last_inference_time() > 0)
print(runner.is_active)
