"""A runner of one's own that overrides the public methods' implementations without decorators.

Found in: Triton Model Navigator, the runner for TensorFlow 2
"""

import time
from collections import OrderedDict

import numpy
from polygraphy.backend.base import BaseRunner
from polygraphy.common import TensorMetadata
from polygraphy.comparator import Comparator


class TFRunner(BaseRunner):
    def __init__(self, model, input_metadata, output_names=None, name=None):
        super().__init__(name=name, prefix="tf-runner")
        self._model, self.input_metadata, self.output_names = model, input_metadata, output_names

    def activate_impl(self):
        self.model = self._model

    def get_input_metadata_impl(self):
        return self.input_metadata

    def deactivate_impl(self):
        del self.model

    def infer_impl(self, feed_dict):
        start = time.time()
        outputs = self.model(**feed_dict)
        self.inference_time = time.time() - start
        return OrderedDict(zip(self.output_names, outputs))


meta = TensorMetadata()
meta.add("a", numpy.float32, (2, 2))
runners = [TFRunner(lambda a: [a * 2], meta, ["b"]), TFRunner(lambda a: [a + a], meta, ["b"])]
results = Comparator.run(runners)
print(bool(Comparator.compare_accuracy(results)), [name.split("-N")[0] for name in results.keys()])
