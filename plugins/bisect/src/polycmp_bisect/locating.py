"""Asks `polycmp locate` for the operator, as anybody would: by its words, and by the JSON report that it writes."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.command import BackendCommand
from polycmp.errors import PolycmpError
from polycmp.plan import FilesPlan, to_words
from polycmp.process import module_words

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry

_TIMEOUT = 1800.0


@dataclass(frozen=True)
class Operator:
    """Answer of `locate` on a run.

    Attributes:
        sentence: The verdict in one sentence; empty if it found none.
        document: The JSON report of `locate`.
        command: The command line.
    """

    sentence: str = ""
    document: dict[str, Any] = field(default_factory=dict)
    command: str = ""

    @property
    def together(self) -> tuple[str, ...]:
        """Outputs of operators that the backend runs right one by one, and wrong together."""
        operators = (self.document.get("fused") or {}).get("operators") or ()
        return tuple(name for item in operators for name in item["outputs"])

    @property
    def way_round(self) -> str:
        """Command to type until the fault is mended; empty if none is known."""
        fused = self.document.get("fused") or {}
        return str((fused.get("switch") or {}).get("words") or "")


def words_for(command: str, plan: Plan, registry: Registry) -> list[str] | None:
    """Return the words of a command for the run of a plan; None if there is no such command."""
    try:
        target = registry.load(registry.find_command(command))
    except PolycmpError:
        return None
    assert isinstance(target, BackendCommand)
    table = target.table_of(registry)
    return to_words(
        replace(plan, files=replace(plan.files, reports=())), registry, command=command.split(), table=table
    )


def run_polycmp(words: Sequence[str]) -> None:
    """Run a polycmp command; a failure shows by the missing file alone."""
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            [*module_words("polycmp"), *words], capture_output=True, timeout=_TIMEOUT, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip


def locate(plan: Plan, registry: Registry, typed: Plan | None = None) -> Operator:
    """Run `locate` and return its answer; an empty one where it is not installed, or cannot look inside.

    Args:
        plan: The run.
        registry: The plugins.
        typed: The run that the command line of the answer shows; by default the same.
    """
    words, shown = (
        words_for("locate", replace(item, files=FilesPlan(load_outputs=item.files.load_outputs)), registry)
        for item in (plan, typed or plan)
    )
    if words is None or shown is None:
        return Operator()
    command = shlex.join(["polycmp", *shown])
    with tempfile.TemporaryDirectory(prefix="polycmp-bisect-") as folder:
        report = Path(folder) / "locate.json"
        try:
            run_polycmp([*words, "--report", str(report), "--silent"])
            document = json.loads(report.read_text("utf-8"))
        except (OSError, ValueError):
            return Operator(command=command)
    return Operator(str(document.get("sentence") or document.get("words") or ""), document, command)
