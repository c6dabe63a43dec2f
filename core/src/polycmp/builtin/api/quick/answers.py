"""Answers of comparisons in one call: verdict and figures, as text, as HTML in a notebook, and in files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from polycmp.compare import ErrorStats, OutputComparison, Worst
from polycmp.errors import DataError, PluginError, PolycmpError, UsageError, did_you_mean
from polycmp.files import atomic_write, to_bytes
from polycmp.report import Result, Row, Table, result_as_html, result_as_text, save_result
from polycmp.report.elements import tag

if TYPE_CHECKING:
    import pandas as pd

    from polycmp.plan import Plan
    from polycmp.plugins import Registry
    from polycmp.results import Outcome

Verdict: TypeAlias = Literal["passed", "failed", "blind", "undecided", "error"]
#: The weightiest verdict comes first.
_WEIGHTS: tuple[Verdict, ...] = ("error", "failed", "undecided", "blind", "passed")


@dataclass(frozen=True)
class OutputResult:
    """One output of a candidate compared with the reference's, over all iterations.

    Figures are those of the worst iteration. They are NaN if nothing could be computed: for an output that one side
    lacks, another shape, text, or NaN that counts as a difference.

    Attributes:
        name: The output's name.
        candidate: Label of the candidate.
        reference: Label of the reference.
        verdict: `passed`, `failed`, `blind` (nothing could have differed) or `undecided`.
        reason: The verdict in words.
        max_abs: Largest absolute error.
        mean_abs: Mean absolute error.
        max_rel: Largest relative error.
        of_range: The largest absolute error as a share of the reference's largest magnitude.
        elements: Number of elements compared.
        failed: Number of elements outside the tolerances.
        required_atol: The smallest atol that alone would have passed.
        required_rtol: The smallest rtol that alone would have passed.
        worst: The worst element: its index and both values; None where there is none.
        type: Element type and shape.
        iterations: Number of iterations compared.
        worst_iteration: The iteration that the figures are of.
        metrics: The figures of all compare functions, as `FUNCTION.METRIC`.
    """

    name: str
    candidate: str
    reference: str
    verdict: Verdict
    reason: str
    max_abs: float = math.nan
    mean_abs: float = math.nan
    max_rel: float = math.nan
    of_range: float = math.nan
    elements: int = 0
    failed: int = 0
    required_atol: float = math.nan
    required_rtol: float = math.nan
    worst: Worst | None = None
    type: str = ""
    iterations: int = 1
    worst_iteration: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the output is within tolerance, and could have failed."""
        return self.verdict == "passed"

    def __str__(self) -> str:
        return f"{self.name}: {self.verdict}: {self.reason}"


def output_result(item: OutputComparison, candidate: str, reference: str, reason: str) -> OutputResult:
    """Return the comparison of one output as programs read it.

    Args:
        item: The comparison.
        candidate: Label of the candidate.
        reference: Label of the reference.
        reason: The verdict in words.
    """
    verdict: Verdict = next(name for name in _WEIGHTS if name == item.verdict)
    stats = item.stats or ErrorStats()
    counted = item.stats is not None and not (math.isinf(stats.required_abs) and stats.nan_failed)
    share = stats.share
    return OutputResult(
        item.output,
        candidate,
        reference,
        verdict,
        reason,
        max_abs=float(stats.max_abs) if counted else math.nan,
        mean_abs=float(stats.mean_abs) if counted else math.nan,
        max_rel=float(stats.max_rel) if counted else math.nan,
        of_range=float(share) if counted and share is not None else math.nan,
        elements=stats.count,
        failed=stats.failed,
        required_atol=float(stats.required_abs) if item.stats is not None else math.nan,
        required_rtol=float(stats.required_rel) if item.stats is not None else math.nan,
        worst=stats.worst,
        type=item.candidate_type or item.reference_type,
        iterations=item.iterations,
        worst_iteration=item.worst_iteration,
        metrics={
            f"{name}.{key}": float(value) for name, one in item.verdicts.items() for key, value in one.metrics.items()
        },
    )


class Picture:
    """A drawing that notebooks show, and that can be saved.

    Args:
        html: The drawing.
    """

    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing as an HTML page.

        Raises:
            UsageError: The file is to have another form.
            FileError: The file cannot be written.
        """
        if Path(path).suffix.lower() not in {".html", ".htm"}:
            raise UsageError(
                f"a drawing cannot be saved as {path}", hint=f"save it as {Path(path).with_suffix('.html')}"
            )
        with atomic_write(Path(path)) as file:
            file.write(to_bytes(f"<!DOCTYPE html>\n<meta charset='utf-8'>\n{self._html}\n"))


class Answer:
    """Result of a command. It prints as the command does, and notebooks show it as a card.

    Args:
        result: The findings, as reports render them.
        registry: The plugins.
        plan: The plan of the run; None where nothing ran.

    Attributes:
        result: The findings, as reports render them.
    """

    def __init__(self, result: Result, registry: Registry, plan: Plan | None = None) -> None:
        self.result = result
        self._registry, self._plan = registry, plan

    @property
    def passed(self) -> bool:
        """Whether everything is within tolerance, and could have failed."""
        return self.result.verdict == "passed"

    @property
    def verdict(self) -> Verdict:
        """`passed`, `failed`, `blind` (nothing could have differed), `undecided`, or `error` (nothing was compared)."""
        return self.result.verdict

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        return self.result.summary

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return result_as_text(self.result)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        try:
            card = result_as_html(self.result, self._registry)
        except PluginError:
            card = ""
        return card or tag("pre", str(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a report: `.html`, `.json`, `.xml` (JUnit), `.md`, or what a plugin brings.

        Raises:
            UsageError: No report has that suffix.
            PluginError: The plugin that writes it is not installed, broken, or lacks a module.
            FileError: The file cannot be written.
        """
        save_result(self.result, os.fspath(path), self._registry, self._plan)


class Comparison(Answer, Mapping[str, OutputResult]):
    """Outputs compared with a reference's: `r.passed`, `r["logits"].max_abs`, `r.to_pandas()`, `r.save("r.html")`.

    It is a mapping from output names to results. If several candidates were compared, each output has the worst of
    their results; `candidates` has all of them.

    Args:
        result: The findings, as reports render them.
        outcome: The same with its figures.
        registry: The plugins.
        plan: The plan of the run; None where nothing ran.
    """

    def __init__(self, result: Result, outcome: Outcome, registry: Registry, plan: Plan | None = None) -> None:
        super().__init__(result, registry, plan)
        self._outcome = outcome

    @cached_property
    def candidates(self) -> Mapping[str, Mapping[str, OutputResult]]:
        """The outputs of each candidate, by its label."""
        reasons = {table.subject: table.rows for table in self.result.blocks(Table) if table.judged}
        return {
            pair.candidate: {
                item.output: output_result(item, pair.candidate, pair.reference, row.reason)
                for item, row in zip(pair.outputs.values(), reasons[pair.candidate], strict=True)
            }
            for pair in self._outcome.comparisons
        }

    @property
    def reference(self) -> str:
        """Label of the reference."""
        return self._outcome.reference

    @cached_property
    def _worst(self) -> Mapping[str, OutputResult]:
        worst: dict[str, OutputResult] = {}
        for outputs in self.candidates.values():
            for name, item in outputs.items():
                if name not in worst or _weight(item) < _weight(worst[name]):
                    worst[name] = item
        return worst

    def __getitem__(self, output: str) -> OutputResult:
        key: object = output  # whatever a type checker would say
        if not isinstance(key, str):
            known = did_you_mean("", self._worst)
            raise UnknownOutputError(f"outputs are found by their names, and {key!r} is none", why=known)
        if output not in self._worst:
            raise UnknownOutputError(f"no output {output!r} was compared", why=did_you_mean(output, list(self._worst)))
        return self._worst[output]

    def __iter__(self) -> Iterator[str]:
        return iter(self._worst)

    def __len__(self) -> int:
        return len(self._worst)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = Answer.__hash__

    @property
    def failures(self) -> tuple[OutputResult, ...]:
        """The outputs that did not pass, of every candidate."""
        return tuple(item for outputs in self.candidates.values() for item in outputs.values() if not item.passed)

    def to_pandas(self) -> pd.DataFrame:
        """Return a table with a row for each output of each candidate.

        Raises:
            PluginError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise PluginError("pandas is not installed", hint="pip install pandas") from error
        hidden = {"metrics", "worst"}
        rows = [
            {key: value for key, value in vars(item).items() if key not in hidden} | dict(item.metrics)
            for outputs in self.candidates.values()
            for item in outputs.values()
        ]
        return pandas.DataFrame(rows)

    def plot(self, output: str) -> Picture:
        """Draw how the absolute error of an output is distributed.

        Raises:
            UnknownOutputError: No such output was compared.
            DataError: There is nothing to draw: no errors were computed, or there are none.
            PluginError: The plugin that draws is not installed or broken.
        """
        item = self[output]
        shown = [row for table in self.result.blocks(Table) if table.subject == item.candidate for row in table.rows]
        rows = list(self.candidates[item.candidate])
        row: Row = shown[rows.index(output)]
        if row.drawing is None:
            raise DataError(f"there is no error of {output!r} to draw", why=item.reason)
        html = result_as_html(self.result, self._registry, row.name)
        if not html:
            raise PluginError("no installed plugin draws", hint="pip install polycmp-report")
        return Picture(html)


class UnknownOutputError(DataError, KeyError):
    """An output was asked for that was not compared; also a `KeyError`, as Python programs expect."""

    def __str__(self) -> str:
        return PolycmpError.__str__(self)


class Run(Comparison):
    """A model run on several backends: a `Comparison` that can look inside the model.

    Args:
        result: The findings, as reports render them.
        outcome: The same with its figures.
        registry: The plugins.
        plan: The plan of the run.
        search: Searches the model for the first tensor that goes wrong.
    """

    def __init__(
        self, result: Result, outcome: Outcome, registry: Registry, plan: Plan, search: Callable[[], Located]
    ) -> None:
        super().__init__(result, outcome, registry, plan)
        self._search = search

    def locate(self) -> Located:
        """Find the first tensor inside the model that goes wrong, as `polycmp locate` does, on the same inputs.

        Raises:
            PluginError: polycmp-locate is not installed.
            PolycmpError: The search failed.
        """
        return self._search()


class Located(Answer):
    """Result of a search inside a model: `f.found`, `f.operator`, `f.tensor`, `f.own_error`."""

    @property
    def found(self) -> bool:
        """Whether a tensor goes wrong."""
        return self.verdict == "failed"

    @cached_property
    def _row(self) -> Row | None:
        rows = [row for table in self.result.blocks(Table) if table.causal for row in table.rows]
        return next((row for row in rows if row.chosen), None)

    @property
    def tensor(self) -> str:
        """Name of the first tensor that goes wrong; empty for none."""
        return "" if self._row is None else self._row.name

    @property
    def operator(self) -> str:
        """Type of the operator that makes it; empty for none."""
        operator = self.result.document.get("operator")
        return str(operator["type"]) if operator else ""

    @property
    def own_error(self) -> float:
        """Relative error of that operator alone, fed with the reference's tensors; NaN where that was not measured."""
        if self._row is None:
            return math.nan
        titles = [column.title for table in self.result.blocks(Table) if table.causal for column in table.columns]
        value = self._row.cells[titles.index("Own")] if "Own" in titles else None
        number = getattr(value, "value", value)
        return float(number) if isinstance(number, int | float) else math.nan


def _weight(item: OutputResult) -> tuple[int, float]:
    """Return the sort key of an output of several candidates: the worst first."""
    return _WEIGHTS.index(item.verdict), -item.max_abs if item.max_abs == item.max_abs else -math.inf
