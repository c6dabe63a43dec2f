"""The process of one call of a tool: `polycmp`, which ends when the server ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from polycmp.process import end_with

if TYPE_CHECKING:
    from polycmp.command import Invocation

#: Names of the files through which the server says what is asked for, and is told what will be written.
ASKED, WRITES = "call.json", "writes.json"


def main() -> None:
    """Run the call that lies in the folder named by the second word; the first is the server's process number."""
    _, server, place = sys.argv
    end_with(int(server))
    asked = json.loads(Path(place, ASKED).read_text(encoding="utf-8"))
    if asked["trust"] is not None:
        _check(asked["trust"], Path(place, WRITES))
    sys.argv[:] = ["polycmp", *asked["words"]]
    scripts = distribution("polycmp").entry_points.select(group="console_scripts", name="polycmp")
    cast(Callable[[], None], next(iter(scripts)).load())()


def _check(rules: dict[str, Any], writes: Path) -> None:
    from polycmp.command import check_calls
    from polycmp_mcp.trust import Trust

    files = {path: tuple(values) for path, values in rules["left"].items()}
    trust = Trust(rules["scripts"], tuple(rules["folders"]), rules["home"], tuple(rules["own"]), files)

    def check(call: Invocation) -> None:
        writes.write_text(json.dumps(trust.check(call)), encoding="utf-8")

    check_calls(check)
