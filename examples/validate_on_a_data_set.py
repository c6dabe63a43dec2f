"""Use one runner on a data set of any size: your loop, your check, one batch in memory.

python examples/validate_on_a_data_set.py
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from make_demo_model import make_model

from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


def data_set(batches: int) -> Iterator[np.ndarray]:
    """Stand in for files that are read one batch after the other."""
    generator = np.random.default_rng(0)
    for _ in range(batches):
        yield generator.random((4, 3, 32, 32), np.float32)


def main() -> None:
    images, seconds = 0, 0.0
    with OnnxrtRunner(SessionFromOnnx(make_model().SerializeToString())) as runner:
        print("inputs:", runner.get_input_metadata())
        for batch in data_set(8):
            # A runner may reuse its output buffers in the next infer(): copy what has to outlive this pass.
            outputs = runner.infer({"image": batch})
            assert np.allclose(outputs["probabilities"].sum(axis=-1), 1, atol=1e-5)
            assert np.array_equal(outputs["logits"].argmax(-1), outputs["probabilities"].argmax(-1))
            images += len(batch)
            seconds += runner.last_inference_time()
    print(f"{images} images are right, {1000 * seconds / images:.2f} ms each")


if __name__ == "__main__":
    main()
