"""Real inputs instead of random ones. On the command line the same file is --data-loader-script custom_data.py.

python examples/custom_data.py
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from make_demo_model import make_model

from polycmp.comparator import Comparator
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


def load_data() -> Iterator[dict[str, np.ndarray]]:
    """Give one feed per iteration: a mapping from input name to array. Batch sizes may change."""
    columns, rows = np.meshgrid(np.linspace(0, 1, 32), np.linspace(0, 1, 32))
    for batch in (1, 3):
        stripes = np.sin(20 * columns * batch) * rows
        yield {"image": np.broadcast_to(stripes, (batch, 3, 32, 32)).astype(np.float32)}


def main() -> None:
    model = make_model().SerializeToString()
    runners = [
        OnnxrtRunner(SessionFromOnnx(model, optimization=level), name=f"optimization {level}")
        for level in ("all", "off")
    ]
    results = Comparator.run(runners, data_loader=load_data())
    for name, iterations in results.items():
        print(name, [result["logits"].shape for result in iterations])
    accuracy = Comparator.compare_accuracy(results)
    print(accuracy.describe())
    assert accuracy


if __name__ == "__main__":
    main()
