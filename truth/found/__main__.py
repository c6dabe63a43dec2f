"""Shows every fault again, and writes the page: `python -m truth.found [--output FILE]`.

Each fault's five lines are run with the product that is said to have it, and the same model with the other products. A
fault is told on the page only if the product computes something else than what is right, in the release that is
installed, and another product agrees with what is right. The exit status is 1 if one is not shown any more.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from truth.found.compiler_faults import COMPILER_FAULTS
from truth.found.fault import RUNS
from truth.found.faults import FAULTS
from truth.found.learned_faults import LEARNED_FAULTS
from truth.found.npu_faults import NPU_FAULTS
from truth.found.showing import AnyFault, page, release_of, show
from truth.found.survey_faults import SURVEY_FAULTS
from truth.found.tool_faults import TOOL_FAULTS
from truth.found.torch_faults import TORCH_FAULTS

PAGE = Path(__file__).parents[2] / "docs" / "found.md"


def main(words: Sequence[str]) -> int:
    """Show all faults and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.found", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    if missing := [product for product in (*RUNS, "torch", "skl2onnx") if not release_of(product)]:
        print(f"skipped: {', '.join(missing)} not installed here, and the page tells of all of them")
        return 0
    faults: tuple[AnyFault, ...] = (
        *FAULTS,
        *SURVEY_FAULTS,
        *TOOL_FAULTS,
        *COMPILER_FAULTS,
        *NPU_FAULTS,
        *TORCH_FAULTS,
        *LEARNED_FAULTS,
    )
    shown = [show(fault) for fault in faults]
    gone = [item for item in shown if not item.is_shown]
    for item in gone:
        print(f"{item.fault.product}: {item.fault.name}: not shown: {item.said}; agree: {item.agree}")
    options.output.write_text(page([item for item in shown if item.is_shown]), "utf-8")
    print(f"{len(shown) - len(gone)} of {len(shown)} faults are shown; wrote {options.output}")
    return int(bool(gone))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
