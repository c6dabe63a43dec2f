"""Which numbers of the judge are needed? `python -m truth.ablation` sets each to nothing, a half, twice, everything.

    python -m truth.ablation [--fast] [--only REGEX] [--each N] [--minutes N] [--again] [--output FILE]

A number is changed in the process of the scenario, wherever it was imported; no file of polycmp is touched. First all
scenarios are answered as they are, and it is noted which of them reach a line that reads which number: the others need
not be asked. Nothing (0) and everything (infinity) are tried of every number, a half and twice only of those that
changed an answer so. An answer is the exit status, the verdict and the operators that are named, not the sentence,
whose figures change with most numbers. What was answered is kept in .cache/ablation until a source file changes, so
that a run that was stopped goes on where it was. The table is written to truth/limits.md.
"""

from __future__ import annotations

import argparse
import contextlib
import dis
import importlib
import io
import json
import math
import multiprocessing
import pkgutil
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from truth.judge import RIGHT, judge
from truth.scenarios import SCENARIOS
from truth.working import folder_of

HERE = Path(__file__).parent
ROOT = HERE.parent
KEPT = ROOT / ".cache" / "ablation"
#: Seconds that a scenario may take; those of a number that makes a search endless count as no answer.
PATIENCE = 60.0
#: Changed answers of a setting after which no more are asked for: it is needed.
ENOUGH = 6
SETTINGS: Mapping[str, Callable[[float], float]] = {
    "nothing": lambda value: 0,
    "half": lambda value: value / 2,
    "twice": lambda value: value * 2,
    "everything": lambda value: math.inf,
}
#: Scenarios of each setting that the table names.
_SHOWN = 3
HEAD = """# Which numbers of the judge are needed

Written by `python -m truth.ablation{words}`. {when}, tree {tree}; {of}.

Each number was set to nothing (0), a half, twice and everything (infinity) for {which} ({count}). *Read by*: those
that reach a line which reads it. The columns behind count those whose exit status, verdict or named operators change,
and in brackets those of them that become wrong. A half and twice were tried where nothing or everything changed an
answer. The number behind *of* says how many were asked: after {enough} changed answers no further one is.

| number | value | decides | read by | nothing | half | twice | everything | |
|---|---|---|---|---|---|---|---|---|"""
_JUDGING, _LOCATE = "polycmp.builtin.judging", "polycmp_locate"


@dataclass(frozen=True)
class Limit:
    """A number that decides a word.

    Attributes:
        module: The module that defines it.
        name: Its name there.
        decides: What it decides.
        most: What stands for everything, of a number of runs, of which there cannot be infinitely many.
    """

    module: str
    name: str
    decides: str
    most: float = math.inf

    @property
    def key(self) -> str:
        """The module and the name."""
        return f"{self.module}:{self.name}"

    @property
    def value(self) -> Any:
        """The number."""
        return getattr(importlib.import_module(self.module), self.name)

    def setting(self, how: str) -> float:
        """Return the number of a setting, a whole number for a whole number."""
        made = min(SETTINGS[how](self.value), self.most)
        if not isinstance(self.value, int):
            return made
        return 1 << 40 if math.isinf(made) else math.ceil(made)


LIMITS = tuple(
    Limit(*words)
    for words in (
        (f"{_JUDGING}.limits", "SAMPLES", "runs with moved tensors, from which rounding is measured", 16.0),
        (f"{_JUDGING}.limits", "DECISION_SAMPLES", "the same, by as much as rounding may do, for whole numbers", 32.0),
        (f"{_JUDGING}.limits", "MARGIN", "by how many times what was measured an error may be larger"),
        (f"{_JUDGING}.limits", "SAME_NETWORK_MARGIN", "the same where two files hold the same network"),
        (f"{_JUDGING}.limits", "SMALL_SHARE", "share of the spread up to which an explained error passes"),
        (f"{_JUDGING}.limits", "RUINED_SHARE", "share of the spread from which on an output is of no use"),
        (f"{_JUDGING}.limits", "LEAST_UNITS", "units that a channel varies by that is alive"),
        (f"{_JUDGING}.floor", "_NEGLIGIBLE", "how much finer a side has to be not to be run with its own roundings"),
        (f"{_JUDGING}.masks", "MASKING", "magnitude from which on negative numbers may mask others"),
        (f"{_JUDGING}.masks", "_FAR", "how many times as large as all beside them masks are"),
        (f"{_JUDGING}.types", "_LEVELS", "steps of a weight of 8 bits whose scale a file does not show"),
        ("polycmp.precision", "_COARSEST", "largest error of a single operator that is taken for rounding"),
        ("polycmp.compare.scales", "_APART", "how far apart slices are that have scales of their own"),
        ("polycmp.compare.scales", "_FEWEST_OF_AXIS", "share of an axis that has to have such a scale"),
        ("polycmp.compare.channels", "FEWEST_IN_CHANNEL", "numbers that make a channel or a row"),
        ("polycmp.session.sensitivity", "_LESS", "factor of inputs that are one number"),
        ("polycmp.session.sensitivity", "_LEAST_MOVE", "share by which an output has to move with its weights"),
        ("polycmp.session.upstream", "_MATRIX", "bytes of the smallest weight of a network"),
        (f"{_LOCATE}.row_rules", "JUMP", "growth of an error in one operator that is looked at"),
        (f"{_LOCATE}.row_rules", "_SELECTION_MARGIN", "units of operators that round nothing"),
        (f"{_LOCATE}.row_rules", "_ONCE_MARGIN", "units of operators of coarse types that round once"),
        (f"{_LOCATE}.causes.narrowed", "_EXCEPTION", "share of a model's parts up to which a type is an exception"),
        (f"{_LOCATE}.causes.narrowed", "_COARSER", "how much coarser such a type is"),
        (f"{_LOCATE}.measure.operators", "_AFFORDABLE_ALONE", "numbers of a tensor up to which an operator is moved"),
        (f"{_LOCATE}.measure.operators", "_DIRECTIONS", "directions that inputs move in to measure a condition", 64.0),
        (f"{_LOCATE}.measure.operators", "_TELL_SMOOTH", "directions of which one tells", 64.0),
        (f"{_LOCATE}.measure.operators", "_TIED_DIRECTIONS", "the same of numbers that are tied", 128.0),
        (f"{_LOCATE}.network.comparison", "_SETTING", "difference of settings that float16 may have made"),
        (f"{_LOCATE}.network.comparison", "_TRAINED_AGAIN", "constants that deviate in a file that was trained again"),
        (f"{_LOCATE}.network.comparison", "_LONE", "one constant in so many deviates for no reason that shows"),
        (f"{_LOCATE}.network.deviation", "LIFTED", "magnitude up to which converters to float16 lift numbers"),
        (f"{_LOCATE}.network.deviation", "_FOLDED", "slack for constants that one file computes of several"),
        (f"{_LOCATE}.network.deviation", "_ROUNDED_TWICE", "steps of a number that was rounded twice"),
        (f"{_LOCATE}.network.deviation", "_IN_PLACE", "correlation of numbers that are at their places"),
        (f"{_LOCATE}.network.deviation", "_FEW", "share of a constant's numbers up to which they are few"),
        (f"{_LOCATE}.network.deviation", "_FEW_CODES", "the same of codes"),
        (f"{_LOCATE}.network.deviation", "_FACTOR_OF_CODES", "distance of a factor of codes from 1"),
        (f"{_LOCATE}.network.deviation", "_NOTHING", "share of the largest number of a slice that holds nothing"),
        (f"{_LOCATE}.pairing.matching", "_DEPTH", "operators around a tensor that tell it from others"),
        (f"{_LOCATE}.report.summed", "_MIN_ERROR", "error of outputs that is worth a word on the worst part"),
        (f"{_LOCATE}.report.words", "_CLIPPED_SHARE", "share of numbers at the ends of a range"),
        (f"{_LOCATE}.rounding.figures", "_EXPLAINED", "share of a row's error that the row explains"),
        (f"{_LOCATE}.rounding.figures", "_ENOUGH", "numbers that make up a row"),
        (f"{_LOCATE}.rounding.figures", "_SYSTEMATIC", "share of an error that a factor of all makes"),
        (f"{_LOCATE}.rounding.quantised", "_GAIN", "distance from 1 of the factor of a quantised tensor"),
        (f"{_LOCATE}.rounding.quantised", "_CLIPPED_BY", "share of the largest number that clipping may lose"),
        (f"{_LOCATE}.rounding.quantised", "_CLIPPED", "share of numbers that a range may leave out"),
        (f"{_LOCATE}.rounding.quantised", "_SHIFT", "shift of a channel beyond rounding to steps"),
        (f"{_LOCATE}.rounding.quantised", "_FEW", "numbers of a channel below which chance looks like a shift"),
        (f"{_LOCATE}.rounding.quantised", "_DROWNED", "share of numbers beside masks whose loss drowns them"),
        (f"{_LOCATE}.rounding.quantised", "_MEASURED", "by how many times what was measured steps may be off"),
        (f"{_LOCATE}.rounding.quantised", "_LEAST", "least factor that is taken for that of a scale"),
        (
            f"{_LOCATE}.rounding.thresholds",
            "OPERATOR_MARGIN",
            "by how many times its noise an operator's error may be larger",
        ),
        (f"{_LOCATE}.rounding.thresholds", "BEYOND_EIGHT_BITS", "error that no type of eight bits explains"),
        (f"{_LOCATE}.rounding.thresholds", "TIE_WIDTH", "units by which a quotient may be off"),
        (f"{_LOCATE}.rounding.thresholds", "_TIES_AT_MOST", "share of a tensor that ties are"),
        (f"{_LOCATE}.rounding.thresholds", "_SHIFTED_FROM", "numbers whose common direction is no chance"),
        (f"{_LOCATE}.rounding.thresholds", "LEVELS", "levels of a tensor of 8 bits"),
        (f"{_LOCATE}.rounding.thresholds", "_GAIN_MARGIN", "units of a factor of a row"),
        (f"{_LOCATE}.rounding.thresholds", "AT_LIMIT", "share of a type's largest number that is at its limit"),
        (f"{_LOCATE}.rounding.thresholds", "_VANISHING", "least scale that an error is compared with"),
        (f"{_LOCATE}.sweep.sweep", "_LOOKS", "how often a sweep looks at what it has"),
        (f"{_LOCATE}.trials.probing", "SHARE", "share of an error that probing may change and still be evidence"),
        (f"{_LOCATE}.trials.probing", "_OBVIOUS_SHARE", "share of the outputs' error that needs no trial"),
        (f"{_LOCATE}.trials.probing", "_EXPLAINED_SHARE", "share of an error that a trial has to take away"),
    )
)


class Answer(NamedTuple):
    """What was said of a scenario, without figures.

    Attributes:
        exit: The exit status; -1 where there was no answer in time.
        verdict: The verdict.
        named: The operators that are named.
        right: Whether it is right.
    """

    exit: int
    verdict: str
    named: tuple[str, ...]
    right: bool


def modules() -> None:
    """Import all modules of polycmp and its plugins that can be, so that none reads a number later."""
    for name in ("polycmp", "polycmp_onnx", "polycmp_onnxrt", "polycmp_locate"):
        package = importlib.import_module(name)
        for item in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not item.name.endswith("__main__"):
                with contextlib.suppress(Exception):
                    importlib.import_module(item.name)


def set_limit(limit: Limit, value: float) -> None:
    """Set a number in this process, in every module that imported it, and where it is a default."""
    old = limit.value
    for name, module in list(sys.modules.items()):
        own = name == limit.module
        if not name.startswith("polycmp") or not (own or not limit.name.startswith("_")):
            continue
        if vars(module).get(limit.name) is old:
            setattr(module, limit.name, value)
        if own:
            for item in vars(module).values():
                made = getattr(item, "__init__", None) if isinstance(item, type) else item
                if not isinstance(old, float) or not isinstance(made, FunctionType):
                    continue
                defaults = made.__defaults__ or ()
                if any(default is old for default in defaults):
                    made.__defaults__ = tuple(value if default is old else default for default in defaults)


class Reads:
    """Notes which numbers are read by the lines that run."""

    def __init__(self) -> None:
        self._values = {limit: limit.value for limit in LIMITS}
        self._lines: dict[CodeType, dict[int, set[str]]] = {}
        self.seen: set[str] = set()

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Note in all threads that start meanwhile, and this one."""
        self.seen = set()
        threading.settrace(self._called)
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code not in self._lines:
            self._lines[frame.f_code] = self._reading(frame)
        return self._line if self._lines[frame.f_code] else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.seen |= self._lines[frame.f_code].get(frame.f_lineno, set())
        return self._line

    def _reading(self, frame: FrameType) -> dict[int, set[str]]:
        """Return which numbers each line of a function reads."""
        own = frame.f_globals.get("__name__", "")
        if not own.startswith("polycmp"):
            return {}
        known = {
            limit.name: limit.key for limit, value in self._values.items()
            if limit.name in frame.f_code.co_names and frame.f_globals.get(limit.name) is value
            and (own == limit.module or not limit.name.startswith("_"))
        }  # fmt: skip
        lines: dict[int, set[str]] = {}
        line = frame.f_code.co_firstlineno
        for step in dis.get_instructions(frame.f_code) if known else ():
            line = step.starts_line or line
            if step.argval in known and step.opname.startswith("LOAD_GLOBAL"):
                lines.setdefault(line, set()).add(known[step.argval])
        return lines


def _answers(
    names: Sequence[str], limit: Limit | None, value: float, folder: Path, sender: Connection, *, tracing: bool
) -> None:
    """Answer scenarios in this process, and send what was said of each and what was read for it."""
    if limit is not None:
        set_limit(limit, value)
    reads = Reads()
    for name in names:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                with reads.noting() if tracing else contextlib.nullcontext():
                    found = judge(SCENARIOS[name], folder_of(name, folder))
                said = found.said
                answer = Answer(said.exit, said.verdict, said.named, found.grade == RIGHT)
            except BaseException as error:  # noqa: BLE001 - an answer as well: this number makes polycmp fail
                answer = Answer(-1, f"{type(error).__name__}: {error}"[:80], (), False)
        sender.send((name, answer, sorted(reads.seen)))
    sender.close()


def answers(
    names: Sequence[str],
    limit: Limit | None = None,
    value: float = 0.0,
    *,
    tracing: bool = False,
    folder: Path = KEPT / "work",
) -> Generator[tuple[str, Answer, list[str]], None, None]:
    """Yield the answer to each scenario, and the numbers that were read, from a child of this process.

    Args:
        names: The scenarios.
        limit: The number to set; None for polycmp as it is.
        value: To what.
        tracing: Whether it is noted which numbers are read.
        folder: Where the scenarios are written to.
    """
    context, left = multiprocessing.get_context("fork"), list(names)
    while left:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_answers, args=(left, limit, value, folder, sender), kwargs={"tracing": tracing})
        child.start()
        sender.close()
        try:
            while left:
                if not receiver.poll(PATIENCE * (4 if tracing else 1)):
                    raise EOFError
                name, answer, read = receiver.recv()
                left.remove(name)
                yield name, answer, read
        except EOFError:
            yield left.pop(0), Answer(-1, "no answer", (), False), []
        finally:
            child.kill()
            child.join()


class Tried(NamedTuple):
    """A setting that was tried.

    Attributes:
        asked: Number of scenarios that were asked.
        changed: Those whose answers changed, with these answers.
    """

    asked: int
    changed: dict[str, Answer]


class Ablation:
    """What was answered, kept in a folder until a source file changes.

    Args:
        fast: Whether only the fast scenarios are asked.
        again: Whether to forget what was answered before.
    """

    def __init__(self, *, fast: bool, again: bool) -> None:
        self.names = [name for name, item in SCENARIOS.items() if item.here and (item.fast or not fast)]
        known = sha256()
        for path in sorted([*ROOT.glob("core/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py"),
                            *ROOT.glob("truth/scenarios/*.py"), *ROOT.glob("truth/models/*.py")]):  # fmt: skip
            known.update(path.read_bytes())
        self._folder = KEPT / f"{known.hexdigest()[:12]}-{len(self.names)}"
        if again:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        self.usual: dict[str, Answer] = {}
        self.reading: dict[str, list[str]] = {}
        self._steady: dict[str, bool] = {}

    def look(self) -> None:
        """Answer all scenarios as they are, and note what each of them reads."""
        path = self._folder / "usual.json"
        if not path.exists():
            seen = {name: (answer, read) for name, answer, read in answers(self.names, tracing=True)}
            path.write_text(json.dumps(seen))
        for name, (answer, read) in json.loads(path.read_text()).items():
            self.usual[name] = _answer(answer)
            for key in read:
                self.reading.setdefault(key, []).append(name)

    def tried(self, limit: Limit, how: str) -> Tried:
        """Return what was tried of a setting of a number."""
        path = self._path(limit, how)
        asked, kept = json.loads(path.read_text()) if path.exists() else (0, {})
        return Tried(asked, {name: _answer(item) for name, item in kept.items()})

    def work(self, limit: Limit, how: str, most: int) -> Tried:
        """Ask scenarios that read a number with a setting of it, after those that were asked before.

        Args:
            limit: The number.
            how: The setting.
            most: How many scenarios to ask at most, those asked before included.
        """
        asked, changed = self.tried(limit, how)
        order = sorted(self.reading.get(limit.key, []), key=lambda name: sha256(name.encode()).digest())
        with contextlib.closing(answers(order[asked:most], limit, limit.setting(how))) as made:
            while len(changed) < ENOUGH and (said := next(made, None)):
                name, answer, _ = said
                asked += 1
                if answer != self.usual[name] and self._is_steady(name):
                    changed[name] = answer
        self._path(limit, how).write_text(json.dumps((asked, changed)))
        return Tried(asked, changed)

    def _is_steady(self, name: str) -> bool:
        """Return whether a scenario is answered as before without any change."""
        if name not in self._steady:
            (_, answer, _), *_ = answers([name])
            self._steady[name] = answer == self.usual[name]
        return self._steady[name]

    def _path(self, limit: Limit, how: str) -> Path:
        return self._folder / f"{limit.key.replace(':', '.')}.{how}.json"


def _tree() -> str:
    words = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def _answer(kept: Sequence[Any]) -> Answer:
    return Answer(kept[0], kept[1], tuple(kept[2]), kept[3])


def main(words: Sequence[str]) -> int:
    """Try what is left, write the table, and return 0."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.ablation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fast", action="store_true", help="only the scenarios of make test-corpus")
    parser.add_argument("--only", default="", help="only numbers whose module and name match")
    parser.add_argument(
        "--each", type=int, default=sys.maxsize, help="scenarios to ask of each setting; all by default"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many")
    parser.add_argument("--again", action="store_true", help="forget what was answered before")
    parser.add_argument("--output", type=Path, default=HERE / "limits.md", help="where the table goes")
    given = parser.parse_args(words)
    modules()
    ablation, start = Ablation(fast=given.fast, again=given.again), time.monotonic()
    ablation.look()
    print(f"{len(ablation.usual)} of {len(ablation.names)} scenarios, {time.monotonic() - start:.0f} s", flush=True)
    chosen = [limit for limit in LIMITS if re.search(given.only, limit.key)]
    for limit in chosen:
        if time.monotonic() - start > 60.0 * given.minutes:
            break
        found = {how: ablation.work(limit, how, given.each) for how in ("nothing", "everything")}
        if any(item.changed for item in found.values()):
            found |= {how: ablation.work(limit, how, given.each) for how in ("half", "twice")}
        counts = ", ".join(f"{how} {len(item.changed)} of {item.asked}" for how, item in found.items())
        print(f"{limit.key}: {counts}, {time.monotonic() - start:.0f} s", flush=True)
    given.output.write_text(page(ablation, chosen, fast=given.fast), "utf-8")
    print(f"wrote {given.output}")
    return 0


def page(ablation: Ablation, limits: Iterable[Limit], *, fast: bool) -> str:
    """Return the table of what was tried."""
    now = datetime.now(timezone.utc).astimezone()
    of = ", ".join(f"{name} {version(name)}" for name in ("onnx", "onnxruntime", "numpy"))
    lines = [HEAD.format(
        words=" --fast" if fast else "", when=f"{now:%Y-%m-%d, %H:%M}", tree=_tree(), of=of,
        which="the fast scenarios" if fast else "all scenarios", count=len(ablation.usual), enough=ENOUGH,
    )]  # fmt: skip
    told = []
    for limit in limits:
        asked = len(ablation.reading.get(limit.key, []))
        tried = {how: ablation.tried(limit, how) for how in SETTINGS}
        names = {name for found in tried.values() for name in found.changed}
        least = min(tried[how].asked for how in ("nothing", "everything"))
        note = f"one: {min(names)}" if len(names) == 1 else ""
        if not asked:
            note = "no scenario reads it"
        elif not names and least:
            note = "**needless**" if least == asked else f"no change in {least}"
        place = f"{limit.module.removeprefix('polycmp.builtin.')}:{limit.name}"
        cells = [f"`{place}`", f"{limit.value:.4g}", limit.decides, asked]
        cells += [_count(ablation.usual, tried[how]) if tried[how].asked else "" for how in SETTINGS]
        lines.append(f"| {' | '.join(map(str, [*cells, note]))} |")
        told += [(place, tried)] if names else []
    lines += ["", "## The scenarios that change", ""]
    for place, tried in told:
        lines.append(f"- `{place}`")
        for how, found in tried.items():
            shown = [f"{name}{'' if answer.right else ' (wrong)'}" for name, answer in sorted(found.changed.items())]
            more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
            lines += [f"  - {how}: {'; '.join(shown[:_SHOWN])}{more}"] if shown else []
    return "\n".join(lines) + "\n"


def _count(usual: Mapping[str, Answer], tried: Tried) -> str:
    """Return how many answers change, how many of them become wrong, and of how many where not all were asked."""
    wrong = sum(usual[name].right and not answer.right for name, answer in tried.changed.items())
    text = f"{len(tried.changed)} ({wrong})" if wrong else str(len(tried.changed))
    return f"{text} of {tried.asked}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
