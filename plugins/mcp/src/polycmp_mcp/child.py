"""The process of one call of a tool: `polycmp`, which ends when the server ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import distribution
from typing import cast

from polycmp.process import end_with


def main() -> None:
    """Run the command line that follows the server's process number."""
    end_with(int(sys.argv.pop(1)))
    sys.argv[0] = "polycmp"
    scripts = distribution("polycmp").entry_points.select(group="console_scripts", name="polycmp")
    cast(Callable[[], None], next(iter(scripts)).load())()
