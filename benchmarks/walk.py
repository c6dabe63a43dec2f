"""How long the way of a command through our code is.

    python benchmarks/walk.py run model.onnx -b onnxrt -b onnx

Prints how many of our modules are imported, how many functions are called how often, and how deep their calls lie in
each other, all in the main thread. Generators and comprehensions count where Python runs them as functions.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType


def main(words: list[str]) -> int:
    """Run a command, print the figures, and return its exit status."""
    counts: Counter[CodeType] = Counter()
    depth = deepest = 0

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal depth, deepest
        ours = str(frame.f_globals.get("__name__", "")).startswith("polycmp")
        is_written = Path(frame.f_code.co_filename).suffix == ".py"  # not made by dataclasses
        if not ours or not is_written or frame.f_code.co_name == "<module>" or event not in {"call", "return"}:
            return
        if event == "call":
            counts[frame.f_code] += 1
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1

    sys.setprofile(profile)
    from polycmp.cli.main import run

    status = run(words)
    sys.setprofile(None)
    modules = [name for name in sys.modules if name.partition(".")[0].startswith("polycmp")]
    print(f"{len(modules)} modules, {len(counts)} functions, {counts.total()} calls, {deepest} deep", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
