"""The contract of reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from polycmp.errors import FileError
from polycmp.report import (
    Bar,
    Cell,
    Column,
    Fact,
    Facts,
    Histogram,
    NextStep,
    Note,
    Point,
    Problem,
    Repeat,
    Result,
    Row,
    Series,
    Table,
)
from polycmp.testing.contract import Contract, needs

#: A text as a model or a user may hold it: markup, line breaks, control characters, half a surrogate pair.
SPITEFUL = "</td><script>x</script>\"'&\x00\x1b[2J\n::error::\r|%\u202e\udc80"


def sample_results() -> Iterator[tuple[str, Result]]:
    """Yield results of every shape with a name each: verdicts, tables of all kinds, nothing at all, spiteful texts."""
    yield "nothing", Result("run", "error", "ERROR", "nothing ran")
    yield "passed", _sample("passed", "PASSED")
    yield "failed", _sample("failed", "FAILED")
    yield "error", _sample("error", "ERROR")
    yield "spiteful", _sample("failed", SPITEFUL)
    empty = Table("a against b", (), subject="a", against="b", problem=Problem("all outputs", "nothing in common"))
    yield "empty table", Result("run", "error", "ERROR", "no output in common", content=(empty,))


def _sample(verdict: Any, text: str) -> Result:
    failure = Problem(f"{text} failed", text, f"try {text}", subject=text)
    invalid = Problem(f"{text} is not finite", "3 NaN", state="failed", subject=text, case="y", iteration=2)
    content = (
        Table("", (Row(text, "info", ("1.2", 3, 0.25), "ran", drawing=Bar((1.0, 0.5))),), _RUN_COLUMNS, judged=False),
        *((failure,) if verdict == "error" else ()),
        Note(text, text),
        *((invalid,) if verdict == "failed" else ()),
        _judged(text, failed=verdict != "passed"),
        _causal(text),
        Repeat(1, text, f"polycmp run {text}", text),
        NextStep(f"polycmp locate {text}", text),
        Facts(text, (Fact(text, text), Fact(text, text, "failed", (text,)))),
        Facts("Inputs", (Fact(text, text),), background=True),
    )
    return Result(
        command="run",
        verdict=verdict,
        heading=text,
        sentence=text,
        title=text,
        content=content,
        facts=(Fact(text, text),),
        environment={text: text},
        command_line=f"polycmp run {text}",
        seconds=1.5,
        timed=True,
        document={"schema": 1, "verdict": verdict, "text": text, "error": float("inf")},
    )


_RUN_COLUMNS = (Column("Version"), Column("Iterations", "number"), Column("Median", "duration"))
_FIGURES = (Column("Max abs", "number"), Column("Mean abs", "number", wide=True))


def _judged(text: str, *, failed: bool) -> Table:
    histogram = Histogram((1e-9, 1e-6, 1e-3), (3, 4), "Absolute error", text, 1e-5, "atol")
    details = (Facts("Compare functions", (Fact("simple", "atol 1e-05", "failed", (text,)),)),)
    bad = Row(
        f"{text} bad", "failed", (float("nan"), float("inf")), text, type=text, details=details, drawing=histogram
    )
    rows = (
        Row("equal", "passed", (0.0, 0.0), "equal", type="float32[2]", drawing=histogram),
        Row("missing", "skipped", (None, Cell("none", None, text)), text),
        *((bad,) if failed else ()),
    )
    problem = Problem("all outputs", text, text, state="failed", subject=text) if failed else None
    return Table(
        f"{text} against b", rows, _FIGURES, "Output", "Type", "Verdict", "Distribution", subject=text, against="b",
        summary=text, problem=problem, failures_first=True,
    )  # fmt: skip


def _causal(text: str) -> Table:
    rows = [Row(f"t{index}", "passed", (0.0, None), mark="ok", remarks=(text,)) for index in range(12)]
    return Table("in order", tuple(rows), _FIGURES, "Tensor", heading=text, subject=text, causal=True)


class ReportContract(Contract):
    """Requirements on every report. Write the factory.

    Attributes:
        suffix: The suffix of its files.
    """

    KNOWN_CAPABILITIES: ClassVar[Mapping[str, str]] = {
        "text": "its files are UTF-8 text that names what failed",
        "drawings": "it draws series of points",
    }
    suffix: ClassVar[str] = ".out"

    def make_report(self) -> Callable[[Result, str], None]:
        """Return the function that writes a result to a path."""
        raise NotImplementedError

    def write(self, result: Result, path: Path) -> bytes:
        """Write a result and return what is in the file."""
        self.make_report()(result, str(path))
        return path.read_bytes()

    @pytest.mark.parametrize(("name", "result"), list(sample_results()), ids=[name for name, _ in sample_results()])
    def test_it_writes_every_kind_of_result(self, name: str, result: Result, tmp_path: Path) -> None:
        """Require a file that is not empty for what passed, failed or could not run, and for no tables."""
        assert self.write(result, tmp_path / f"r{self.suffix}"), name

    def test_it_makes_the_folder_and_leaves_only_its_file(self, tmp_path: Path) -> None:
        """Require that missing folders are made, and no temporary file stays."""
        path = tmp_path / "deep" / f"r{self.suffix}"
        self.write(_sample("passed", "PASSED"), path)
        assert list(path.parent.iterdir()) == [path]

    def test_it_replaces_an_older_report(self, tmp_path: Path) -> None:
        """Require that a longer file of the same name is replaced, not written over from its start."""
        path = tmp_path / f"r{self.suffix}"
        path.write_bytes(b"x" * 10_000_000)
        assert len(self.write(_sample("passed", "PASSED"), path)) < 10_000_000

    def test_a_file_that_cannot_be_written_is_an_error_of_ours(self, tmp_path: Path) -> None:
        """Require a `FileError` where the path cannot be a file, as `polycmp.files.atomic_write` raises it."""
        (tmp_path / "taken").write_text("")
        with pytest.raises(FileError):
            self.make_report()(_sample("passed", "PASSED"), str(tmp_path / "taken" / f"r{self.suffix}"))

    def test_it_says_nothing_on_standard_output(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        """Require that it prints nothing: standard output holds the result already."""
        self.write(_sample("error", "ERROR"), tmp_path / f"r{self.suffix}")
        assert capfd.readouterr().out == ""

    def test_it_does_not_change_the_current_folder(self, tmp_path: Path) -> None:
        """Require that relative paths mean the same afterwards: other reports are written after it."""
        before = Path.cwd()
        self.write(_sample("passed", "PASSED"), tmp_path / f"r{self.suffix}")
        assert Path.cwd() == before

    @needs("text")
    def test_it_names_what_failed_and_why(self, tmp_path: Path) -> None:
        """Require the row's name, its reason and the run compared with, in UTF-8 (capability `text`)."""
        bad = Row("the_output", "failed", (0.5, 0.1), "it differs by half")
        table = Table("one against two", (bad,), _FIGURES, reason_title="Verdict", subject="one", against="two")
        result = replace(_sample("failed", "FAILED"), content=(table,))
        text = self.write(result, tmp_path / f"r{self.suffix}").decode("utf-8")
        for said in ("the", "output", "it differs by half", "two"):
            assert said in text

    @needs("drawings")
    def test_it_draws_a_series(self, tmp_path: Path) -> None:
        """Require that a `Series` with zeros, infinity and NaN adds to the file (capability `drawings`)."""
        points = tuple(Point(f"t{index}", value, "failed", "here", 1e-3) for index, value in enumerate(_VALUES))
        series = Series("Error along the graph", points, ends=("first", "last"))
        plain = replace(_sample("failed", "FAILED"), content=())
        drawn = replace(plain, content=(series,))
        target = tmp_path / f"r{self.suffix}"
        assert len(self.write(drawn, target)) > len(self.write(plain, target))


_VALUES = (0.0, 1e-12, 1e-3, float("inf"), float("nan"))
