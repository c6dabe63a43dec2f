"""Send results from one process to another as text."""

import numpy as np
from polygraphy.comparator import RunResults
from polygraphy.json import from_json, to_json

results = RunResults()
results.add([{"y": np.eye(2, dtype=np.float32)}, {"y": np.zeros((2, 2), np.float32)}], runner_name="worker")
again = RunResults.from_json(results.to_json())
print(len(again), len(again["worker"]), again["worker"][0]["y"].tolist())
plain = from_json(to_json({"a": np.arange(3), "b": [1, "two", None]}))
print(plain["a"].tolist(), plain["b"])
