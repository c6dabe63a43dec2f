"""How often `polycmp generate` accuses what changes nothing but rounding: threads, optimisations, batches.

By hand, in an environment with polycmp-onnxrt and polycmp-generate:

    python benchmarks/generate_alarms.py --seeds 100                  # random decoders
    python benchmarks/generate_alarms.py MODEL.onnx --prompts prompts.txt --tokenizer DIR

Of a model the prompts are taken in groups of ten, each a comparison of its own. The last row counts answers of a
file with weights of 4 bits beside the same old side, where `--worse FILE` names one; of random decoders it is made
here.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx

from polycmp.cli.main import run

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from decoders import decoder

#: Settings of the new side and words of the command, by name.
SAME = {
    "threads=1": ("onnxrt:threads=1,name=new", ()),
    "threads=4": ("onnxrt:threads=4,name=new", ()),
    "optimization=off": ("onnxrt:optimization=off,name=new", ()),
    "other kernels": ("onnx:name=new", ()),
    "batch 2": ("onnxrt:name=new", ("--batch", "2")),
    "batch 8": ("onnxrt:name=new", ("--batch", "8")),
}
GROUP, TOKENS = 10, 30


def answer(words: list[str], folder: Path) -> tuple[str, float]:
    """Return the answer of `polycmp generate`, and the divergence."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    run(["generate", *words, "--steps", str(TOKENS), "--report", str(report), "-q"])
    found = json.loads(report.read_text("utf-8"))["generate"]
    return found["answer"], float(found["kl"]["value"])


def random_decoders(number: int, folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield decoders with random weights, surer of themselves than such are: file, file of 4 bits, other words."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    for seed in range(number):
        random = np.random.default_rng(seed)
        model = decoder(layers=int(random.integers(1, 5)), seed=seed)
        last = next(node.input[1] for node in model.graph.node if node.output[0] == "logits")
        for tensor in model.graph.initializer:
            if tensor.name == last:
                tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) * 3, last))
        onnx.save(model, folder / "float.onnx")
        quantizer = MatMulNBitsQuantizer(model, bits=4, block_size=16, is_symmetric=False)
        quantizer.process()
        quantizer.model.save_model_to_file(str(folder / "int4.onnx"))
        prompts = folder / "prompts.txt"
        prompts.write_text("\n".join(" ".join(map(str, random.integers(0, 40, 8))) for _ in range(GROUP)))
        yield str(folder / "float.onnx"), str(folder / "int4.onnx"), ["--prompts", str(prompts)]


def groups(given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield a model with the prompts of each group: file, file of 4 bits, other words."""
    lines = Path(given.prompts).read_text("utf-8").splitlines()
    more = ["--tokenizer", given.tokenizer] if given.tokenizer else []
    more += ["--input-shapes", *given.input_shapes] if given.input_shapes else []
    for number in range(len(lines) // GROUP):
        prompts = folder / f"prompts{number}.txt"
        prompts.write_text("\n".join(lines[GROUP * number : GROUP * (number + 1)]))
        yield given.model, given.worse, ["--prompts", str(prompts), *more]


def main() -> None:
    """Count answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--worse", default="")
    parser.add_argument("--prompts")
    parser.add_argument("--tokenizer", default="")
    parser.add_argument("--input-shapes", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    largest: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for old, worse, words in groups(given, folder) if given.model else random_decoders(given.seeds, folder):
            tried = {key: [old, "-b", spec, "-b", "onnxrt", *more] for key, (spec, more) in SAME.items()}
            if worse:
                tried["4 bits"] = [worse, old, "-b", "onnxrt"]
            for key, sides in tried.items():
                word, kl = answer([*sides, *words], folder)
                counts.setdefault(key, Counter())[word] += 1
                largest[key] = max(largest.get(key, 0.0), kl)
    for key, found in counts.items():
        print(f"{key:20} {dict(found)}, largest KL {largest[key]:.2g}")


if __name__ == "__main__":
    main()
