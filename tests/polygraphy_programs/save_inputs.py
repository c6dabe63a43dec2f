"""Write inputs of a camera's first frame for the command line, and read them back.

Found in: a script that keeps the inputs of a detector's head for its first frame
"""

import numpy as np
from polygraphy import json as pjson
from polygraphy.json import save_json

rng = np.random.default_rng(0)
feature = rng.random((1, 24, 8), dtype=np.float32)
spatial = np.array([[4, 2], [2, 1]], dtype=np.int32)
save_json([{"feature": feature, "spatial_shapes": spatial, "level_start": spatial[:1].copy()}], "inputs.json")
loaded = pjson.load_json("inputs.json", description="input data")
assert all(np.array_equal(loaded[0]["feature"], item["feature"]) for item in loaded)
print(len(loaded), {name: (array.dtype.name, array.shape) for name, array in loaded[0].items()})
