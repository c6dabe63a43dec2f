"""Findings of `check lint`, as text and as a JSON report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from polycmp.sentences import counted, shortened

#: Severities of findings, as the report spells them, and as people read them.
LEVELS = {"exception": "error", "warning": "warning", "info": "note"}

#: Number of nodes that are named in one finding.
SHOWN = 3


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Attributes:
        level: A key of `LEVELS`.
        source: Source of the finding: `onnx_loader`, `onnx_checker`, `onnx_graphsurgeon` (how nodes hang together),
            `onnxruntime`, `onnx.reference`, `onnx` or `polycmp`.
        message: Description of the finding.
        nodes: Names of the nodes that it is about; none for the whole model.
        hint: The next step for the user; empty for none.
        op: The operator of the node that it is about.
    """

    level: str
    source: str
    message: str
    nodes: tuple[str, ...] = ()
    hint: str = ""
    op: str = ""


@dataclass
class LintReport:
    """All that was found in a model.

    Attributes:
        file: The model's file, as a command names it.
        findings: In the order in which they were found.
        passing: Names of the nodes that ran.
        failing: Names of the nodes with an error.
        skipped: Names of the nodes that were not run, for they read what another failed to make.
    """

    file: str = "MODEL"
    findings: list[Finding] = field(default_factory=list)
    passing: list[str] = field(default_factory=list)
    failing: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def has_errors(self) -> bool:
        """Whether anything is wrong, rather than odd."""
        return any(item.level == "exception" for item in self.findings)

    def add(self, level: str, source: str, message: str, *, node: Any = None, hint: str = "") -> None:
        """Note a finding, once."""
        nodes = () if node is None else (node.name,)
        finding = Finding(level, source, message.strip(), nodes, hint, "" if node is None else node.op_type)
        if finding not in self.findings:
            self.findings.append(finding)

    def document(self) -> dict[str, Any]:
        """Return the report as it is written."""
        entries = []
        for item in self.findings:
            entry: dict[str, Any] = {"level": item.level, "source": item.source, "message": item.message}
            if item.nodes:
                entry["nodes"] = list(item.nodes)
            if item.op:
                entry["op"] = item.op
            if item.hint:
                entry["hint"] = item.hint
            entries.append(entry)
        summary = {"passing": self.passing, "failing": self.failing, "skipped": self.skipped}
        return {"schema": 1, "summary": summary, "lint_entries": entries}

    def lines(self, every: bool = False) -> Iterator[str]:
        """Yield the report as text, what is worst first, one entry for all nodes of which the same is to be said.

        Args:
            every: Name all of these nodes, not only the first.
        """
        groups: dict[tuple[str, str, str, str], list[str]] = {}
        for item in self.findings:
            groups.setdefault((item.level, item.message, item.hint, item.op), []).extend(item.nodes)
        ordered = sorted(groups.items(), key=lambda item: list(LEVELS).index(item[0][0]))
        following = [key[2] for key, _ in ordered[1:]] + [""] * bool(ordered)
        for ((level, message, hint, op), nodes), next_hint in zip(ordered, following, strict=True):
            names = shortened(nodes, len(nodes) if every else SHOWN)
            where = f"{names}{f' ({op})' if op else ''}: " if nodes else ""
            yield f"{LEVELS[level]:<8}{where}{message}"
            if hint and hint != next_hint:  # what mends several findings in a row is told once
                yield f"{'':<8}  next: {hint}"
        counts = [
            counted(number, word)
            for level, word in LEVELS.items()
            if (number := sum(item.level == level for item in self.findings))
        ]
        ran = f"; {len(self.passing)} nodes ran, {len(self.failing)} failed, {len(self.skipped)} were not run"
        yield (", ".join(counts) or "nothing found") + (ran if self.passing or self.failing or self.skipped else "")
