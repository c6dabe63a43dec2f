"""Save inputs and outputs of one run, and compare with them in another; Polygraphy reads the same files.

python examples/save_and_load.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from make_demo_model import make_model

from polycmp.comparator import Comparator, DataLoader, RunResults
from polycmp.json import load_json
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


def main(folder: Path) -> None:
    model = make_model().SerializeToString()
    inputs, outputs = str(folder / "inputs.json"), str(folder / "outputs.json")

    # Yesterday: a release that is known to be good.
    before = OnnxrtRunner(SessionFromOnnx(model, optimization="off"), name="before")
    Comparator.run([before], DataLoader(iterations=2), save_inputs_path=inputs, save_outputs_path=outputs)

    # Inputs are a list of iterations, each a mapping from input name to array.
    for index, feed in enumerate(load_json(inputs)):
        for name, array in feed.items():
            print(f"iteration {index}: {name} {array.dtype}{list(array.shape)}, mean {array.mean():.3f}")

    # Today: the same inputs again, against what was saved.
    now = OnnxrtRunner(SessionFromOnnx(model, optimization="all"), name="now")
    results = Comparator.run([now], load_json(inputs))
    for name, iterations in RunResults.load(outputs).items():
        print(f"{name}: {len(iterations)} iterations, outputs {', '.join(iterations[0])}")
        results.append((name, iterations))
    accuracy = Comparator.compare_accuracy(results)
    print(accuracy.describe())
    assert accuracy


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
