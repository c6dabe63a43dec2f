"""How long finding the first bad tensor takes and how much memory; whole processes.

    python benchmarks/bench_locate.py [--repeats 3] [--polygraphy-python PYTHON]

60 convolutions 1x1 with Relus on 64x184x184 (120 tensors, 1 GB); one weight of the 38th is changed. Polygraphy, which
has no such command, compares all tensors of the unchanged chain with themselves. That the time grows with the number
of tensors and the memory does not is shown by a chain of half the length. That a weight costs no memory is shown by a
model with one of 2.5 GB, beside `run` of the same model; 1 GB of weights in 64 products is looked at beside one run of
ONNX Runtime alone, and so are two such files that differ in one weight; a chain with the candidate in another
environment stands beside the same in this one.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import models
from measuring import Row, accepting, as_table, beside, in_turn

#: One session of ONNX Runtime and one run.
ALONE = """
import sys, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
session.run(None, {"x": numpy.ones((1, 2048), numpy.float32)})
"""


def search(bad: str, good: str, *options: str) -> list[str]:
    """Return a command that succeeds if `locate` names the 38th convolution."""
    words = [beside(sys.executable, "polycmp"), "locate", bad, "-b", "onnxrt", "-b", f"onnxrt:model={good}", *options]
    return ["sh", "-c", '"$@" | grep -q "conv38_node"', "sh", *words]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each command (default: 3)")
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good, bad, half = (
            models.write_apart(kind, Path(folder) / f"{kind}.onnx") for kind in ("chain", "changed", "half")
        )
        polycmp = beside(sys.executable, "polycmp")
        commands = {
            "locate": search(bad, good),
            "locate --max-memory 300M": search(bad, good, "--max-memory", "300M"),
            "locate --bisect": search(bad, good, "--bisect"),
            "run --mark-all, 120 tensors": [polycmp, "run", good, "-b", "onnxrt", "-b", "onnxrt", "--mark-all"],
            "run --mark-all, 60 tensors": [polycmp, "run", half, "-b", "onnxrt", "-b", "onnxrt", "--mark-all"],
        }
        if given.polygraphy_python:
            polygraphy = beside(given.polygraphy_python, "polygraphy")
            commands["polygraphy"] = [polygraphy, "run", good, "--onnxrt", "--onnxrt", "--onnx-outputs", "mark", "all"]
        medians = in_turn(commands, given.repeats)
        big = models.write_apart("big", Path(folder) / "big.onnx")
        twice = [big, "-b", "onnxrt", "-b", "onnxrt:name=again"]
        of_big = in_turn({name: [polycmp, name, *twice] for name in ("locate", "run")}, given.repeats)
        many = models.write_apart("products", Path(folder) / "products.onnx")
        sides = [many, "-b", "onnxrt", "-b", "onnxrt:optimization=off"]
        altered = models.write_apart("altered", Path(folder) / "altered.onnx")
        pair = [altered, "-b", "onnxrt", "-b", f"onnxrt:model={many}"]
        of_many = in_turn(
            {
                "locate": [polycmp, "locate", *sides],
                "pair": accepting("1", [polycmp, "locate", *pair]),
                "alone": [sys.executable, "-c", ALONE, many],
            },
            1,
        )
        places = {"here": "onnxrt:name=one", "there": f"onnxrt:python={sys.executable}"}
        of_places = in_turn(
            {name: [polycmp, "locate", half, "-b", spec, "-b", "onnxrt"] for name, spec in places.items()}, 1
        )
    theirs = medians.pop("polygraphy", None)
    goals = {"locate": ("≤ 5 s", "≤ 500 MB"), "locate --max-memory 300M": ("", "≤ 300 MB and the weights")}
    rows = []
    for name, sample in medians.items():
        time_goal, memory_goal = goals.get(name, ("", ""))
        rows.append(Row(name, sample.seconds, theirs and theirs.seconds, "s", goal=time_goal))
        rows.append(Row(f"{name}: peak memory", sample.peak, theirs and theirs.peak, "B", goal=memory_goal))
    ours, whole = of_big["locate"], of_big["run"]
    rows.append(Row("locate, a weight of 2.5 GB", ours.seconds, whole.seconds, "s", "run"))
    rows.append(Row("locate, a weight of 2.5 GB: peak memory", ours.peak, whole.peak, "B", "run", "≤ 2"))
    locate, alone = of_many["locate"], of_many["alone"]
    rows.append(Row("locate, 64 products of 1 GB", locate.seconds, alone.seconds, "s", "ONNX Runtime alone", "≤ 4"))
    rows.append(Row("locate, 64 products: peak memory", locate.peak, alone.peak, "B", "ONNX Runtime alone", "≤ 2"))
    pair_of = of_many["pair"]
    rows.append(Row("locate, two files of 1 GB", pair_of.seconds, alone.seconds, "s", "ONNX Runtime alone", "≤ 4"))
    rows.append(Row("locate, two files: peak memory", pair_of.peak, alone.peak, "B", "ONNX Runtime alone", "≤ 2"))
    here, there = of_places["here"], of_places["there"]
    rows.append(Row("locate, candidate in another environment", there.seconds, here.seconds, "s", "in this one"))
    print(as_table(rows))


if __name__ == "__main__":
    main()
