"""Optimiser faults of ONNX Runtime, searched over its passes with `polycmp bisect --over passes`.

    python -m truth.history.bisecting

needs an environment with polycmp-bisect, which keeps the old releases in its own cache. Each issue is run once before
it is timed, so that its release is installed. The table is written to truth/history/bisecting.md; the exit status is 0
if every pass is right and no operator that it replaces is missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx

from truth.history.issue import Issue
from truth.history.issues.fusions import FUSIONS
from truth.table import machine

HERE = Path(__file__).parent
#: The pass that the issue names, by ONNX Runtime's name for it, or what that begins with; and what the operators make
#: that it replaces. Written down before polycmp was asked.
EXPECTED: Mapping[str, tuple[str, frozenset[str]]] = {
    "Reshape with allowzero behind Reshape": ("ReshapeFusion", frozenset("bc")),
    "Conv with groups and Add": ("ConvAddActivationFusion", frozenset("cy")),
    "Transpose that changes nothing, MatMul, Add": ("GemmTransposeFusion", frozenset("tms")),
    "Transpose that changes nothing before Gemm": ("GemmTransposeFusion", frozenset("ts")),
    "MaxPool between negative scales": ("QDQSelectorActionTransformer", frozenset({"d1", "p", "q2"})),
    "LayerNormalization with a scale of one element": (
        "LayerNormFusion", frozenset({"mean", "d", "sq", "var", "ve", "sd", "n", "m", "y"}),
    ),
    "Pad and AveragePool": ("Pad_Fusion", frozenset("pa")),
    "MatMul, Transpose, BatchNormalization": ("MatMul_BatchNormalization_Fusion", frozenset({"m", "t", "bn"})),
    "AveragePool behind two pairs of QuantizeLinear": ("DoubleQDQPairsRemover", frozenset({"p"})),
    "DequantizeLinear of int8 and Reshape": ("QDQPropagationTransformer", frozenset("dr")),
}  # fmt: skip


@dataclass(frozen=True)
class Bisected:
    """What came out of a search.

    Attributes:
        issue: The issue.
        passes: The passes that were named, and those that it is right without as well.
        operators: What the operators make that they replace.
        sentence: The whole sentence.
        runs: Runs that it took.
        seconds: Seconds that it took.
    """

    issue: Issue
    passes: tuple[str, ...]
    operators: frozenset[str]
    sentence: str
    runs: int
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether the pass is the expected one, and no expected operator is missing."""
        wanted, operators = EXPECTED[self.issue.name]
        return any(name.startswith(wanted) for name in self.passes) and operators <= self.operators

    @property
    def also(self) -> str:
        """What else was named, in words."""
        wanted, operators = EXPECTED[self.issue.name]
        names = [*(name for name in self.passes if not name.startswith(wanted)), *sorted(self.operators - operators)]
        return ", ".join(names)


def bisected(issue: Issue, folder: Path) -> Bisected:
    """Search over the passes of the release that has a fault."""
    net = issue.make().net
    onnx.save(net.model, folder / "m.onnx")
    np.savez(folder / "x.npz", allow_pickle=False, **net.feed)
    release = issue.bad.packages[0].partition("==")[2]
    words = ["m.onnx", "-b", f"onnxrt:version={release},name=old", "-b", "onnx", "--load-inputs", "x.npz"]
    _polycmp(folder, "run", *words)
    begun = time.monotonic()
    _polycmp(folder, "bisect", *words, "--over", "passes", "--report", "r.json")
    seconds = time.monotonic() - begun
    found: dict[str, Any] = json.loads((folder / "r.json").read_text("utf-8"))
    nodes = [node["name"] for item in found["replaced"] for node in item["operators"]]
    nodes += [node["name"] for node in found["together"]]
    switch = found["switch"] or {}
    passes = (*(switch.get("value") or ()), *switch.get("others", ()))
    made = frozenset(name for node in net.model.graph.node if node.name in nodes for name in node.output)
    return Bisected(issue, tuple(passes), made, found["sentence"], len(found["judged"]), seconds)


def _polycmp(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "polycmp", *words], cwd=folder, capture_output=True, check=False)


def _row(item: Bisected) -> str:
    cells = (
        item.issue.number,
        item.issue.name,
        item.issue.bad.packages[0].replace("==", " "),
        ", ".join(item.passes),
        ", ".join(sorted(item.operators)),
        "yes" if item.is_right else "no",
        item.also,
        item.runs,
        f"{item.seconds:.0f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def main() -> int:
    """Search over the passes of each release, write the table, and return the exit status."""
    found = []
    for issue in FUSIONS:
        if issue.name in EXPECTED:
            with TemporaryDirectory() as folder:
                found.append(bisected(issue, Path(folder)))
            print(f"{issue.name}: {'right' if found[-1].is_right else 'WRONG'}, {found[-1].seconds:.0f} s", flush=True)
    right, longest = sum(item.is_right for item in found), max(item.seconds for item in found)
    rows = "\n".join(_row(item) for item in found)
    (HERE / "bisecting.md").write_text(
        f"""# Passes of ONNX Runtime that changed a result

Written by `python -m truth.history.bisecting`. {machine()}.

`polycmp bisect --over passes` on the release that had the fault, installed beforehand: {right} of {len(found)} times it
names the pass of the issue and all operators that this replaces. It took at most {longest:.0f} s.

| issue | model | release | passes named | what the operators make | right | named beyond that | runs | seconds |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
{rows}
""",
        "utf-8",
    )
    return int(right < len(found))


if __name__ == "__main__":
    sys.exit(main())
