"""Repeating a step until a good one, a bad one, or often enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from polycmp.builtin.debug.check import Checked
from polycmp.builtin.debug.replay import Replay
from polycmp.builtin.debug.steps import Stepper
from polycmp.errors import PluginError, PolycmpError, UsageError, describe_exception
from polycmp.report import Block, Cell, Column, Fact, Note, Result, Row, State, Table, Verdict
from polycmp.sentences import heading_of

#: Steps after which a search that waits for something is given up.
MOST = 100_000


@dataclass(frozen=True)
class CheckedStep:
    """A step and its verdict.

    Attributes:
        index: Counted from 0.
        checked: Result of the check, or of what came in its place.
        error: Reason why there was nothing to check; empty if there was.
        known: Whether the verdict comes from an earlier search.
        files: Paths of its artifacts.
    """

    index: int
    checked: Checked
    error: str = ""
    known: bool = False
    files: tuple[str, ...] = ()


@dataclass
class Repeated:
    """Results of all steps.

    Attributes:
        until: `good`, `bad`, or a number.
        steps: All of them.
        stopped: Whether the user stopped it.
        notes: Remarks.
    """

    until: str
    steps: list[CheckedStep] = field(default_factory=list)
    stopped: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def good(self) -> int:
        """Number of steps that passed."""
        return sum(step.checked.passed for step in self.steps)

    @property
    def bad(self) -> int:
        """Number of steps that failed."""
        return len(self.steps) - self.good

    @property
    def is_done(self) -> bool:
        """Whether there is what it was to go on until."""
        if self.until in {"good", "bad"}:
            return bool(self.good if self.until == "good" else self.bad) or len(self.steps) >= MOST
        return len(self.steps) >= int(self.until)


def parse_until(text: str) -> str:
    """Return `good`, `bad`, or a number of steps as text.

    Raises:
        ValueError: It is none of these.
    """
    if text in {"good", "bad"}:
        return text
    if not text.isdecimal() or not 0 < int(text) <= MOST:
        raise ValueError(f"{text!r} is neither good nor bad, nor a number of steps from 1 to {MOST}")
    return text


def repeat(
    until: str,
    stepper: Stepper,
    replay: Replay,
    prepare: Callable[[], None] | None = None,
    on_stage: Callable[[str], None] = lambda _: None,
) -> Repeated:
    """Repeat a step.

    Args:
        until: When to end, as `parse_until` returns it.
        stepper: Runs the check and sorts artifacts.
        replay: Keeps the steps.
        prepare: Makes what is checked; an error of its own is a step that failed.
        on_stage: Told what happens next.
    """
    done = Repeated(until)
    try:
        while not done.is_done:
            index = len(done.steps)
            on_stage(f"step {index}: {done.good} good, {done.bad} bad so far")
            known = replay.find({"iteration": index})
            if known is not None:
                step = CheckedStep(index, Checked(known, None), known=True)
            else:
                step = _step(index, stepper, prepare)
            done.steps.append(step)
            replay.add(index, "", {"iteration": index}, step.checked.passed)
    except KeyboardInterrupt:
        if not done.steps:
            raise
        done.stopped = True
    finally:
        stepper.close()
    return done


def _step(index: int, stepper: Stepper, prepare: Callable[[], None] | None) -> CheckedStep:
    stepper.begin(index)
    start = time.perf_counter()
    try:
        if prepare is not None:
            prepare()
    except (UsageError, PluginError):
        raise  # it would be the same in every step
    except PolycmpError as error:
        files = stepper.sort(index, False)
        return CheckedStep(
            index,
            Checked(False, None, seconds=time.perf_counter() - start),
            describe_exception(error),
            files=tuple(files),
        )
    checked = stepper.check()
    return CheckedStep(index, checked, files=tuple(stepper.sort(index, checked.passed)))


def result_of(done: Repeated, command: str, typed: str, seconds: float) -> Result:
    """Build the result of the steps for reports.

    Exit status 0: the steps that were asked for were made, whatever their checks said, or the step was found that was
    looked for; 1: it was not found; 3: the user stopped.

    Args:
        done: The steps.
        command: The words of the command: `debug repeat`.
        typed: The command line as typed.
        seconds: Duration in seconds.
    """
    verdict = _verdict(done)
    return Result(
        command=command,
        verdict=verdict,
        heading=heading_of(verdict),
        sentence=_sentence(done),
        title=command,
        content=tuple(_content(done)),
        facts=(Fact("good", str(done.good)), Fact("bad", str(done.bad))),
        command_line=typed,
        seconds=seconds,
        timed=True,
        document=_document(done, command, verdict, typed, seconds),
    )


def _verdict(done: Repeated) -> Verdict:
    if done.stopped:
        return "error"
    status = {"good": done.good, "bad": done.bad}.get(done.until, 1)
    return "passed" if status else "failed"


def _sentence(done: Repeated) -> str:
    ended = f"{'Stopped after' if done.stopped else 'Finished'} {len(done.steps)} iteration(s)"  # as Polygraphy says it
    text = f"{ended} | Passed: {done.good}/{len(done.steps)} | Pass Rate: {100 * done.good / len(done.steps):.1f}%"
    return text if done.good or done.until != "good" else f"{text}, so there is no good one"


def _content(done: Repeated) -> Iterator[Block]:
    rows = []
    for step in done.steps:
        state: State = "passed" if step.checked.passed else "failed"
        status = "" if step.checked.status is None else str(step.checked.status)
        reason = step.error or ("of an earlier search" if step.known else "")
        rows.append(
            Row(f"step {step.index}", state, (Cell(status), step.checked.seconds, Cell(" ".join(step.files))), reason)
        )
    columns = (Column("Exit status"), Column("Time", "duration"), Column("Artifacts", wide=True))
    yield Table("Steps", tuple(rows), columns, name_title="Step", judged=False, reason_title="Why")
    yield from (Note(text) for text in done.notes)


def _document(done: Repeated, command: str, verdict: str, typed: str, seconds: float) -> dict[str, Any]:
    steps = [
        {
            "iteration": step.index,
            "passed": step.checked.passed,
            "status": step.checked.status,
            "seconds": step.checked.seconds,
            "error": step.error or None,
            "artifacts": list(step.files),
        }
        for step in done.steps
    ]
    head = {"schema": 1, "kind": command, "verdict": verdict, "until": done.until, "good": done.good, "bad": done.bad}
    return {**head, "steps": steps, "command": typed, "seconds": seconds}
