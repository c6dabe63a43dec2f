"""Compare with a default tolerance in a dictionary, and inputs described by hand.

Found in: an entry in a hackathon on ControlNet
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.common import TensorMetadata
from polygraphy.comparator import Comparator, CompareFunc, DataLoader

input_metadata = TensorMetadata()
input_metadata.add("x", shape=(1, 3, 8, 8), dtype=np.float32)
data_loader = DataLoader(input_metadata=input_metadata)
runners = [
    OnnxrtRunner(SessionFromOnnx(path, providers=["CPUExecutionProvider"])) for path in ("conv.onnx", "conv_copy.onnx")
]
results = Comparator.run(runners, data_loader=data_loader)
print(bool(Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(rtol={"": 5e-2}, atol={"": 5e-4}))))
