"""Result of tuning, in the form that reports render."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from polycmp.report import Bar, Block, Cell, Column, Note, Point, Problem, Result, Row, Series, Table, Verdict, duration
from polycmp.results import Outcome
from polycmp.sentences import heading_of
from polycmp_tune.latency import Latency
from polycmp_tune.options import TuneSection
from polycmp_tune.settings import TunedSetting, fastest, pareto

_COLUMNS = (
    Column("Median", "duration"),
    Column("Noise"),
    Column("p90", "duration"),
    Column("p99", "duration", wide=True),
    Column("Calls/s", "number"),
    Column("Error of range", "number", digits=2),
    Column("Pareto"),
)


def result_of(settings: Sequence[TunedSetting], outcome: Outcome, how: TuneSection, command_line: str) -> Result:
    """Build the result for reports.

    Args:
        settings: The settings.
        outcome: The outcome of the run that compared them.
        how: How they were timed.
        command_line: The command line as typed.
    """
    verdict = verdict_of(settings)
    return Result(
        command="tune",
        verdict=verdict,
        heading=heading_of(verdict),
        sentence=sentence(settings),
        title=" · ".join(setting.label for setting in settings[:3]),
        content=tuple(_blocks(settings, outcome, how)),
        environment={key: str(value) for key, value in outcome.environment.items()},
        command_line=command_line,
        document={"schema": 1, "verdict": verdict, "command": command_line, "tune": _document(settings, how)},
    )


def verdict_of(settings: Sequence[TunedSetting]) -> Verdict:
    """Return the verdict on all: passed where any setting but the reference is right."""
    tried = [setting.verdict for setting in settings if not setting.is_reference]
    order: tuple[Verdict, ...] = ("passed", "undecided", "failed", "blind")
    return next((verdict for verdict in order if verdict in tried), "error")


def sentence(settings: Sequence[TunedSetting]) -> str:
    """Return in one sentence which setting is the fastest whose outputs are right, and by how much."""
    best = fastest(settings)
    if not best or best[0].latency is None or verdict_of(settings) != "passed":
        return "no setting is right" if any(setting.latency for setting in settings) else "no setting could be run"
    first, latency = best[0], best[0].latency
    words = f"the fastest that is right is {first.label}, {duration(latency.median)} a call"
    if len(best) > 1:
        others = [setting.label for setting in best[1:]]
        listed = " and ".join(filter(None, (", ".join(others[:-1]), others[-1])))
        words += f"; {listed} may be as fast, within the noise"
    reference = next((setting for setting in settings if setting.is_reference), None)
    if reference is not None and reference not in best and reference.latency is not None:
        words += f"; {reference.latency.median / latency.median:.2g} times as fast as {reference.label}"
    return words


def _blocks(settings: Sequence[TunedSetting], outcome: Outcome, how: TuneSection) -> Iterator[Block]:
    for setting in settings:
        if setting.failure:
            yield Problem(f"{setting.label} failed", setting.failure, setting.hint, subject=setting.label)
    timed = sorted(
        (setting for setting in settings if setting.latency is not None),
        key=lambda setting: setting.latency.median if setting.latency else 0.0,
    )
    front, best = pareto(settings), fastest(settings)[:1]
    if timed:
        slowest = max(setting.latency.median for setting in timed if setting.latency)
        yield Table(
            "Settings",
            tuple(_row(setting, setting in front, setting in best, slowest) for setting in timed),
            _COLUMNS,
            name_title="Setting",
            reason_title="Why",
            drawing_title="Median",
            judged=False,
        )
        yield _picture(timed, best)
    rounds = f"{how.rounds} rounds of {how.seconds / how.rounds:.2g} s each"
    streams = f", {how.streams} sessions at the same time" if how.streams > 1 else ""
    yield Note(f"timed in turns: {rounds} after {how.warm_up} calls to warm up{streams}", label="")
    yield from (Note(note) for note in outcome.notes)
    yield from (Note(note, setting.label) for setting in settings for note in setting.notes)


def _row(setting: TunedSetting, is_on_front: bool, is_best: bool, slowest: float) -> Row:
    latency = setting.latency
    assert latency is not None
    cells = (
        latency.median,
        Cell(f"± {100 * latency.noise:.1f} %", latency.noise),
        latency.timing.p90,
        latency.timing.p99,
        latency.rate,
        setting.error,
        "•" if is_on_front else "",
    )
    return Row(
        setting.label,
        "info" if setting.is_reference else setting.verdict,
        cells,
        reason=setting.reason,
        tags=("reference",) if setting.is_reference else (),
        chosen=is_best,
        drawing=Bar((latency.median / slowest,)) if slowest else None,
    )


def _picture(timed: Sequence[TunedSetting], best: Sequence[TunedSetting]) -> Series:
    points = tuple(
        Point(
            setting.label,
            setting.error,
            setting.verdict,
            f"{setting.label}: {duration(setting.latency.median)}, {setting.error:.2g} of the range",
            mark="fastest that is right" if setting in best else "",
        )
        for setting in timed
        if setting.error is not None and setting.latency is not None and not setting.is_reference
    )
    return Series(
        "Error over latency",
        points,
        remark="The largest error of an output as a share of its range; settings from the fastest to the slowest.",
        summary="; ".join(point.text for point in points),
        ends=("fastest", "slowest"),
        legend={"passed": "right", "failed": "differs", "undecided": "undecided"},
    )


def _document(settings: Sequence[TunedSetting], how: TuneSection) -> dict[str, Any]:
    front, best = pareto(settings), fastest(settings)
    return {
        "timing": {name: getattr(how, name) for name in ("seconds", "rounds", "warm_up", "streams")},
        "fastest": [setting.label for setting in best],
        "settings": [
            {
                "label": setting.label,
                "verdict": setting.verdict,
                "reason": setting.reason or None,
                "reference": setting.is_reference,
                "error_of_range": setting.error,
                "pareto": setting in front,
                "failure": setting.failure or None,
                "latency": None if setting.latency is None else _figures(setting.latency),
            }
            for setting in settings
        ],
    }


def _figures(latency: Latency) -> dict[str, float]:
    timing = latency.timing
    return {
        "median": timing.median, "p90": timing.p90, "p99": timing.p99,
        "noise": latency.noise, "rate": latency.rate, "calls": timing.count,
    }  # fmt: skip
