"""Load a session when it is first needed, and activate its runner again for each image.

Found in: yyq19990828/onnxtools, infer_onnx
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx


class Detector:
    def __init__(self, path):
        self._loader = SessionFromOnnx(path, providers=["CPUExecutionProvider"])
        self._runner = None

    def names(self):
        if self._runner is None:
            self._runner = OnnxrtRunner(self._loader)
            with self._runner:
                self.input_name = next(iter(self._runner.get_input_metadata()))
            self.output_names = [output.name for output in self._loader().get_outputs()]
        return self.input_name, self.output_names

    def __call__(self, image):
        name, _ = self.names()
        with self._runner:
            return self._runner.infer({name: image})


detector = Detector("conv.onnx")
print(detector.names())
for value in (1, 3):
    print({name: array.round(3).tolist() for name, array in detector(np.full((1, 3, 8, 8), value, np.float32)).items()})
