"""Keep the state of a plugin as JSON, and read it back from bytes.

Found in: NVIDIA/TensorRT samples on a plugin for circular padding, written in Python
"""

import numpy as np
from polygraphy.json import from_json, to_json


class CircPadPlugin:
    def __init__(self, pads=()):
        self.pads = pads
        self.weights = np.arange(4, dtype=np.float16).reshape(2, 2)

    def serialize(self):
        return to_json({"pads": self.pads, "weights": self.weights})

    @staticmethod
    def deserialize(data):
        made = CircPadPlugin()
        made.__dict__.update(dict(from_json(data)))
        return made


text = CircPadPlugin((1, 1, 2, 2)).serialize()
for data in (text, text.encode()):
    plugin = CircPadPlugin.deserialize(data)
    print(list(plugin.pads), plugin.weights.dtype, plugin.weights.tolist())
