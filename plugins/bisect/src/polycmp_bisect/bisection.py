"""The command's search: opening the candidates, judging them, and presenting the result."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, FileError, PolycmpError, UsageError, did_you_mean
from polycmp.options import split_script
from polycmp.plan import without_written_files
from polycmp.runs import open_environments
from polycmp.session import run_plan
from polycmp.terminal import echo, visible
from polycmp_bisect.candidates.backwards import Backwards
from polycmp_bisect.candidates.base import Candidates
from polycmp_bisect.candidates.converters import open_converters
from polycmp_bisect.candidates.files import Files, open_files
from polycmp_bisect.candidates.pythons import open_pythons
from polycmp_bisect.candidates.releases import Releases, open_releases
from polycmp_bisect.environments.errors import NotInstallableError, UnreachableError
from polycmp_bisect.environments.making import Maker
from polycmp_bisect.environments.packages import PYTHON, runtime_of
from polycmp_bisect.explaining import explain
from polycmp_bisect.judgement_store import JudgementStore
from polycmp_bisect.judging import Judge, words_of
from polycmp_bisect.locating import Operator, locate, words_for
from polycmp_bisect.page_content import story_of, story_of_passes
from polycmp_bisect.passes.pass_search import candidate_of, search_passes
from polycmp_bisect.passes.result import result_of as passes_result
from polycmp_bisect.passes.steps import passes_of, search_step
from polycmp_bisect.result import Answer, compared_with_itself, result_of
from polycmp_bisect.search import EndError, FlakyError, Judgement, Search, TurningPoint, remaining_looks
from polycmp_bisect.sentences import REDUCING, SHOWN_BY_RUN, not_the_same_twice
from polycmp_bisect.writing import state_of

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.plan import Plan
    from polycmp.report import Result
    from polycmp.runs import ResolvedBackend
    from polycmp_bisect.passes.pass_search import PassSearchResult
    from polycmp_bisect.sections import BisectSection

#: Word for the passes of a backend, after `--over`.
PASSES = "passes"
#: Word for several files in place of releases, after `--over`.
FILES = "files"
_EXAMPLE = "polycmp bisect MODEL -b onnxrt -b onnx --over onnxruntime"


def bisect(call: Invocation, section: BisectSection) -> int:
    """Search, show the result, and return the exit status."""
    call.needs_backends(_EXAMPLE)
    begun = time.monotonic()
    _refuse_stray_words(call, section)
    plan = call.plan()
    call.begin(plan)
    plan = replace(without_written_files(plan), command="")
    _check_files(plan)
    if section.over == PASSES:
        return _over_passes(call, section, plan, begun)
    if _is_alone(plan, section) and not section.bad:
        raise UsageError(
            "there is nothing to compare with",
            hint="a second -b, --load-outputs, --validate or --slower; or --bad, with one that cannot run the model",
        )
    with call.progress() as tell, closing(Maker(find_links=section.find_links)) as maker:
        maker.tell = tell
        tell("asking for what there is to search over")
        candidates = open_candidates(call, section, plan, maker)
        named_bad = _named_bad(candidates, section)
        bad = candidates.find(named_bad) if named_bad else candidates.first
        good = candidates.find(section.good) if section.good else None
        if good == bad:
            raise UsageError(f"{candidates.names[bad]} cannot be both good and bad", whose="--good, --bad")
        if isinstance(candidates, Releases) and not section.slower and candidates.is_reference(bad):
            return call.present(compared_with_itself(candidates, bad, call.options.command, time.monotonic() - begun))
        if good is not None and good > bad:
            candidates = Backwards(candidates)
            bad, good = len(candidates.names) - 1 - bad, len(candidates.names) - 1 - good
        judge = _judge(call, section, plan, candidates.varied, named_bad=bool(named_bad))
        step: tuple[str, ...] = call.params["step"]
        further: dict[str, Any] = {"over": section.over, "with": list(section.beside), "slower": section.slower}
        further["find_links"] = maker.digests(())
        if isinstance(candidates, Files):
            stats = [Path(name).stat() for name in candidates.names]
            further["files"] = [(item.st_size, item.st_mtime_ns) for item in stats]
        elif step:
            further["step"] = [*step, *state_of(step)]
        store = JudgementStore(plan, call.registry, further, resume=section.resume)
        work = Work(candidates, judge, store, tell)
        maker.tell = work.say
        operator, page = Operator(), ""
        with _judgements_kept(store, call):
            turning_point = work.search(bad, good, is_bad_named=bool(named_bad))
            if turning_point.first_bad is not None and not section.slower and not section.no_locate:
                tell("looking for the operator that differs")
                place = turning_point.first_bad
                operator = locate(candidates.plan(place), call.registry, candidates.as_typed(place))
            answer = Answer(
                candidates,
                turning_point,
                operator,
                len(maker.new_names),
                call.options.command,
                time.monotonic() - begun,
            )
            if section.explain and turning_point.first_bad is not None:
                tell(REDUCING)
                words = [] if step else ["--over", section.over or candidates.runtime]
                beside = [word for item in section.beside for word in ("--with", item)]
                story = story_of(answer, plan, [*words, *beside] if words else [], call.registry)
                page = explain(story, Path(section.explain), call.registry)
    about = None  # the run that was asked for; of several files, that of the one to blame
    if isinstance(candidates, Files) and turning_point.first_bad is not None:
        about = candidates.plan(turning_point.first_bad)
    return call.present(result_of(answer, page=page), plan=about)


def _named_bad(candidates: Candidates, section: BisectSection) -> str:
    """Return the release or file named as bad: by `--bad`, or as the candidate's `version=`.

    Raises:
        UsageError: These name two.
    """
    named = candidates.named if isinstance(candidates, Releases) and section.over != PYTHON else ""
    if named and section.bad and candidates.find(named) != candidates.find(section.bad):
        raise UsageError(
            f"version={named} and --bad {section.bad} name two releases to begin at", hint="leave one of them out"
        )
    return section.bad or named


def _refuse_stray_words(call: Invocation, section: BisectSection) -> None:
    """Refuse files where none are searched, and a command where files are.

    Raises:
        UsageError: There are some.
    """
    files, step = call.params["files"], call.params["step"]
    if section.over == FILES and step:
        raise UsageError(
            f"a command after --, and --over {FILES}", whose=shlex.join(step), hint="leave one of them out"
        )
    if files and section.over != FILES:
        raise UsageError(
            f"what shall become of {shlex.join(files)}?",
            why="a command that writes MODEL follows --, and several files are searched with --over files",
            hint=visible(shlex.join(["polycmp", "bisect", "MODEL", "…", "--", *files])),
        )


@contextmanager
def _judgements_kept(store: JudgementStore, call: Invocation) -> Iterator[None]:
    """Keep judgements until a search has ended; if it is interrupted, tell how to resume it."""
    try:
        yield
    except KeyboardInterrupt:
        again = call.options.command.replace(" --resume", "")
        echo(visible(f"polycmp: what was judged is kept ({len(store)}); go on with: {again} --resume"), err=True)
        raise
    store.discard()


def _check_files(plan: Plan) -> None:
    """Refuse a run with missing files before anything is installed for it.

    Raises:
        FileError: One is not there.
    """
    scripts = [split_script(text, "")[0] for text in (plan.data.script, plan.compare.script)]
    for path in map(Path, filter(None, [*plan.data.files, *plan.files.load_outputs, *scripts])):
        if not path.exists():
            beside = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
            why = did_you_mean(path.name, beside) if beside else ""
            raise FileError("no such file or folder", whose=str(path), why=why, hint=f"ls {path.parent}")


def _is_alone(plan: Plan, section: BisectSection) -> bool:
    """Return whether a run can only be judged by whether it ends."""
    judged = plan.files.load_outputs or plan.compare.validate or section.slower
    return len(plan.backends) < 2 and not judged


def _judge(
    call: Invocation,
    section: BisectSection,
    plan: Plan,
    varied: str,
    *,
    named_bad: bool = False,
    failing_is_bad: bool = False,
) -> Judge:
    def run(item: Plan) -> Result:
        outcome = run_plan(item, call.registry)
        if outcome.errors:
            raise outcome.errors[0]
        return call.result_of(outcome, "bisect")

    alone = _is_alone(plan, section)
    return Judge(run, varied, slower=section.slower, named_bad=named_bad, failing_is_bad=failing_is_bad, alone=alone)


def _over_passes(call: Invocation, section: BisectSection, plan: Plan, begun: float) -> int:
    if call.params["step"]:
        return _over_passes_of_step(call, section, plan, begun)
    backend = candidate_of(plan, call.registry)
    judge = _judge(call, section, plan, backend.label, failing_is_bad=True)
    store = JudgementStore(plan, call.registry, {"over": PASSES, "slower": section.slower}, resume=section.resume)
    with call.progress() as tell, _judgements_kept(store, call):
        result = search_passes(backend, plan, judge, store, tell)
        if result.guilty and result.cannot_run and not result.replaced and not section.no_locate:
            tell("looking for the operators that it does not run together")
            graph, node_outputs = backend.model.graph(), locate(plan, call.registry).together
            nodes = () if graph is None else tuple(node for node in graph.nodes if {*node.outputs} & {*node_outputs})
            result = replace(result, together=nodes)
        page = _page_of_passes(call, section, plan, backend, result, tell) if section.explain and result.guilty else ""
    mended_plan = result.plan
    words = words_for("run", mended_plan, call.registry) if mended_plan is not None else None
    run_words = shlex.join(["polycmp", *words]) if words else ""
    return call.present(passes_result(result, run_words, call.options.command, time.monotonic() - begun, page=page))


def _over_passes_of_step(call: Invocation, section: BisectSection, plan: Plan, begun: float) -> int:
    step: tuple[str, ...] = call.params["step"]
    if section.explain:
        raise UsageError("no page is written on the passes of a command", whose="--explain", hint="leave it out")
    names = passes_of(step, section.passes, plan.model)
    further = {"over": PASSES, "slower": section.slower, "step": [*step, *state_of(step)], "passes": list(names)}
    judge = _judge(call, section, plan, "", failing_is_bad=True)
    store = JudgementStore(plan, call.registry, further, resume=section.resume)
    with call.progress() as tell, _judgements_kept(store, call):
        result = search_step(step, names, plan, call.registry, judge, store, tell)
    return call.present(passes_result(result, "", call.options.command, time.monotonic() - begun))


def _page_of_passes(
    call: Invocation,
    section: BisectSection,
    plan: Plan,
    backend: ResolvedBackend,
    result: PassSearchResult,
    tell: Callable[[str], None],
) -> str:
    tell(REDUCING)
    package, python = "", backend.plan.python or sys.executable
    with suppress(PolycmpError):
        package = runtime_of(call.registry, backend.plan.backend)[0]
        if backend.plan.version:
            python = open_environments(call.registry, "--explain")(backend.plan.backend, backend.plan.version)
    story = story_of_passes(result, plan, package, python, call.options.command)
    return explain(story, Path(section.explain), call.registry)


def open_candidates(call: Invocation, section: BisectSection, plan: Plan, maker: Maker) -> Candidates:
    """Open the line of candidates to search.

    Raises:
        UsageError: That is nothing for this run.
        UnreachableError: No package index answers.
    """
    step: tuple[str, ...] = call.params["step"]
    if section.over == FILES:
        if section.releases:
            raise UsageError(
                "files are no releases", whose="--releases", hint=f"{call.path} old.onnx new.onnx --over files"
            )
        return open_files([call.options.model, *call.params["files"]], plan)
    if section.over == PYTHON:
        return open_pythons(plan, call.registry, maker, section.beside)
    over = section.over or runtime_of(call.registry, plan.backends[0].backend)[0]
    chosen: Any = {"listed": section.releases, "beside": section.beside, "pre": section.pre}
    if step:
        return open_converters(over, plan, step, maker, **chosen)
    return open_releases(over, plan, call.registry, maker, **chosen)


@dataclass
class Work:
    """Judges candidates for the search, and keeps the judgements.

    Attributes:
        candidates: The candidates.
        judge: Judges a run.
        store: Keeps judgements on the disk.
        tell: Told what happens next.
        seconds: Duration of each new look.
        remaining: Description of the remaining range.
    """

    candidates: Candidates
    judge: Judge
    store: JudgementStore
    tell: Callable[[str], None]
    seconds: list[float] = field(default_factory=list)
    remaining: str = ""

    def search(self, bad: int, good: int | None, *, is_bad_named: bool) -> TurningPoint:
        """Search.

        Raises:
            PolycmpError: An end is not what it was said to be, or a candidate is good once and bad another time.
        """
        names, what = self.candidates.names, self.candidates.what
        try:
            return Search(self.look, self.narrowed).find(bad, good, is_bad_named=is_bad_named)
        except FlakyError as error:
            raise BackendError(
                not_the_same_twice(names[error.index], words_of(error.once), words_of(error.again)),
                why="one run alone does not tell which candidates are wrong",
                hint="more --iterations, another tolerance, or threads=1 and deterministic options of the backend",
            ) from None
        except EndError as error:
            name, judgement = names[error.index], error.judgement
            if judgement.state == "skip" and error.tried > 1:
                raise BackendError(
                    f"none of the {error.tried} {what.replace(' ', 's ', 1)} that were tried could be judged",
                    why=f"{name}: {judgement.reason}",
                    hint=f"--bad {name} searches for the first {what} that cannot run the model",
                ) from None
            if judgement.state == "skip":
                raise BackendError(
                    f"{name} could not be judged, and it is where the search begins",
                    why=judgement.reason,
                    hint=f"--{error.expected} with another {what}",
                ) from None
            raise UsageError(
                f"{name} is {judgement.state}, not {error.expected}: {words_of(judgement)}",
                whose=f"--{error.expected}",
                hint=SHOWN_BY_RUN,
            ) from None

    def narrowed(self, good: int, bad: int) -> None:
        """Record the range in which the line turns."""
        names = self.candidates.names
        if good < 0:
            self.remaining = f"looking for a good one before {names[bad]}"
            return
        looks = remaining_looks(good, bad)
        spent = sum(self.seconds) / len(self.seconds) if self.seconds else 0.0
        about = f", about {looks * spent:.0f} s" if looks and spent else ""
        self.remaining = f"between {names[good]} and {names[bad]}: {looks} to look at{about}"

    def look(self, place: int, look: int) -> Judgement:
        """Judge a candidate."""
        return self.store.judged(self.candidates.names[place], look, self.judge, lambda: self._timed(place))

    def say(self, text: str) -> None:
        """Report the next action and the remaining range."""
        self.tell("; ".join(filter(None, [text, self.remaining])))

    def _timed(self, place: int) -> Judgement:
        begun = time.monotonic()
        judgement = self._judge(place, self.candidates.names[place])
        self.seconds.append(time.monotonic() - begun)
        return judgement

    def _judge(self, place: int, name: str) -> Judgement:
        kept_words = f"what was judged is kept ({len(self.store)})"
        try:
            if not self.candidates.is_ready(place):
                self.say(f"preparing {name}")
            self.candidates.prepare(place)
        except NotInstallableError as error:
            return Judgement("skip", error.in_words)
        except UnreachableError as error:
            raise UnreachableError(
                error.what, why=error.why, hint=f"{error.hint}; {kept_words}: go on with --resume"
            ) from None
        self.say(f"judging {name}")
        return self.judge.judge(self.candidates.plan(place))
