"""Judgement of candidates as good, bad or skipped: by the verdict of `polycmp run`, or by time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polycmp.errors import PolycmpError
from polycmp.report import duration, figure
from polycmp.runs import labels_called
from polycmp.sentences import cut
from polycmp_bisect.search import Judgement
from polycmp_bisect.sentences import NO_DIFFERENCE

if TYPE_CHECKING:
    from polycmp.plan import BackendPlan, Plan
    from polycmp.report import Result

#: The share of the words of two messages that has to be in both for them to tell of one fault. Of ONNX Runtime's
#: messages on one fusion, worded anew between releases, 0.57 to 0.61 were; of those on different faults at most 0.39.
_MIN_SHARED_WORDS = 0.5
#: The detail of a judgement by time.
TIME = "seconds"
_WORD = re.compile(r"[A-Za-z]{3,}")
#: Runs a plan.
RunPlan = Callable[["Plan"], "Result"]


class CannotJudgeError(PolycmpError):
    """A run whose failure has nothing to do with the candidate, so that every other one would fare alike."""


@dataclass
class Judge:
    """Judges runs.

    Attributes:
        run: Runs a plan as `polycmp run` does.
        varied: The label of the backend that the candidates differ in; empty where they differ otherwise.
        named_bad: Whether the one that is judged first was named as bad: where it cannot run the model, that is the
            fault to look for.
        slower: Factor by which a bad one takes longer than a good one; 0 to judge by what is computed.
        slow_seconds: The time of the bad end, once it is known.
        seen_bad: Whether a run was wrong: another one that cannot tell anything is not wrong in the same way.
        failing_is_bad: Whether one that cannot run the model is wrong, whatever it says, instead of skipped.
        alone: Whether nothing is there to compare runs with, so that one that ends tells only beside one that failed.
        failure: Error of the bad end, where the fault is that it cannot run the model: who says nearly the same is
            bad, too, and who says something else, such as that the model is too new for it, is skipped.
    """

    run: RunPlan
    varied: str
    slower: float = 0.0
    named_bad: bool = False
    slow_seconds: float = 0.0
    seen_bad: bool = False
    failing_is_bad: bool = False
    alone: bool = False
    failure: str = ""

    def judge(self, plan: Plan) -> Judgement:
        """Judge a candidate by its run.

        Raises:
            CannotJudgeError: Another backend failed.
        """
        judgement = self._judged(plan)
        self.note(judgement)
        return judgement

    def note(self, judgement: Judgement) -> None:
        """Update the state by a judgement, new or stored."""
        self.seen_bad = self.seen_bad or judgement.state == "bad"
        if self.named_bad and judgement.state == "bad" and judgement.seconds is None:
            self.failure = judgement.reason
        self.named_bad = False
        if self.slower and not self.slow_seconds and judgement.seconds:  # the first that is judged is the bad end
            self.slow_seconds = judgement.seconds

    def _judged(self, plan: Plan) -> Judgement:
        document = self.run(plan).document
        verdict = document["verdict"]
        results: Mapping[str, Any] = document["inference_results"]
        failed = {label: str(item["error"]) for label, item in results.items() if item["error"]}
        others = {label: text for label, text in failed.items() if label != self.varied}
        if self.varied and others:
            label, text = next(iter(others.items()))
            raise CannotJudgeError(f"{label} failed, with which every candidate is compared", why=text)
        if failed:
            reason = _short(next(iter(failed.values())))
            is_end = self.named_bad and not self.slower
            is_bad = self.failing_is_bad or is_end or _is_alike(reason, self.failure)
            return Judgement("bad" if is_bad else "skip", reason)
        seconds = self._seconds(results)
        if self.slower:
            return self._by_time(seconds, passes=bool(document["comparison_results"]) and verdict == "passed")
        if self.alone:
            reason = "it runs the model, and there is nothing to compare it with"
            return Judgement("good" if self.seen_bad else "skip", reason, None, seconds)
        reason, error, detail = _worst(document["comparison_results"])
        if verdict in {"passed", "failed"}:
            return Judgement("good" if verdict == "passed" else "bad", reason, error, seconds, detail)
        if verdict == "blind" and self.seen_bad:  # what tells a wrong run apart, a shape say, is as it should be here
            return Judgement("good", reason or NO_DIFFERENCE, error, seconds, detail)
        words = {"blind": NO_DIFFERENCE, "undecided": "rounding may explain anything"}
        return Judgement("skip", reason or words.get(verdict, "nothing could be compared"), error, seconds, detail)

    def _seconds(self, results: Mapping[str, Any]) -> float | None:
        labels = [self.varied] if self.varied in results else list(results)[:1]
        times = [results[label]["runtime"] for label in labels]
        return float(times[0]["median"]) if times and times[0] else None

    def _by_time(self, seconds: float | None, *, passes: bool) -> Judgement:
        if seconds is None:
            return Judgement("skip", "nothing was measured")
        state: Any = "good" if (self.slow_seconds or seconds) / seconds >= self.slower else "bad"
        return Judgement(state, "its results pass" if passes else "", seconds, seconds, TIME)


def _worst(pairs: list[dict[str, Any]]) -> tuple[str, float | None, str]:
    """Return the reason, the figure and the output of what differs most, failures first."""
    errors: list[tuple[bool, float, str, str]] = []
    for pair in pairs:
        for name, output in pair["outputs"].items():
            share = output.get("share_of_range")
            value = share if share is not None else output.get("max_error")
            number = math.inf if isinstance(value, str) else value
            errors.append((not output["passed"], -1.0 if number is None else float(number), output["reason"], name))
    if not errors:
        return next((pair["reason"] for pair in pairs if pair["reason"]), ""), None, ""
    failed, number, reason, name = max(errors, key=lambda item: item[:2])
    text = f"{name}: {reason}" if failed and reason else ""
    return _short(text), None if number < 0 else number, name


def _is_alike(one: str, other: str) -> bool:
    """Return whether two messages share most of their words."""
    words, other_words = set(_WORD.findall(one)), set(_WORD.findall(other))
    return bool(other) and len(words & other_words) >= _MIN_SHARED_WORDS * len(words | other_words)


def _short(text: str) -> str:
    """Return the first line of a message, not too long for a table."""
    return cut(" ".join(text.split("\n", maxsplit=1)[0].split()), 240)


def words_of(judgement: Judgement) -> str:
    """Return a judgement's figures in a few words."""
    if judgement.state == "skip":
        return f"skipped: {judgement.reason}"
    if judgement.detail == TIME and judgement.error is not None:
        return f"{judgement.state}, {duration(judgement.error)}"
    if judgement.state == "bad" and judgement.seconds is None:
        return f"cannot run it: {judgement.reason}"
    if judgement.error is None:
        return f"{judgement.state}: {judgement.reason}" if judgement.reason else judgement.state
    return f"{judgement.state}, {judgement.detail} off by {figure(judgement.error)} of its range"


def with_backend(plan: Plan, backend: BackendPlan) -> Plan:
    """Return a plan with another backend in the place of the one with its label."""
    return replace(plan, backends=tuple(backend if item.label == backend.label else item for item in plan.backends))


def reference_backend(plan: Plan) -> BackendPlan | None:
    """Return the backend that the others are compared with; None where that is a saved run, or where nothing is."""
    if not plan.compare.reference:
        return None if plan.files.load_outputs or len(plan.backends) < 2 else plan.backends[-1]
    labels = labels_called(plan.compare.reference, plan.backends)
    return next((backend for backend in plan.backends if backend.label in labels), None)
