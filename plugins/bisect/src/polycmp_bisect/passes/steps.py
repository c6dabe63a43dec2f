"""The passes of a command that writes the model: which of them have to be left out for the file to be right."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, PolycmpError, UsageError
from polycmp.model import Model
from polycmp.spec import Switch
from polycmp_bisect.environments.errors import NotInstallableError
from polycmp_bisect.judging import words_of
from polycmp_bisect.passes.pass_search import PassSearchResult, omitted_rewrites
from polycmp_bisect.passes.search import PassSearch
from polycmp_bisect.search import EndError, FlakyError, Judgement
from polycmp_bisect.sentences import WHICH_PASSES, not_the_same_twice
from polycmp_bisect.writing import check_step, write_model

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.plan import Plan
    from polycmp.plugins import Registry
    from polycmp_bisect.judgement_store import JudgementStore
    from polycmp_bisect.judging import Judge
    from polycmp_locate.trials.rewriting import Rewrite

#: What stands in a command for the passes that are run, and for those that are not.
KEPT, SKIPPED = "{passes}", "{skipped}"
_EXAMPLE = (
    "polycmp bisect out.onnx -b onnxrt -b onnxrt:model=m.onnx --over passes -- "
    "onnxoptimizer m.onnx out.onnx -p nop {passes}"
)
_LISTS_THEM = "onnxoptimizer"


def passes_of(step: Sequence[str], named: Sequence[str], model: str) -> tuple[str, ...]:
    """Return the passes that a command can run or omit.

    Args:
        step: The words of the command.
        named: The passes that the user names; empty to ask the command, which onnxoptimizer answers.
        model: The model that it writes.

    Raises:
        UsageError: The command does not say where they stand or which there are, or does not write the model.
    """
    check_step(step, model)
    if not {KEPT, SKIPPED} & {*step}:
        raise UsageError(
            f"the command has neither {KEPT} nor {SKIPPED} in it", whose=shlex.join(step),
            why="one of them stands for the passes to run or to leave out", hint=_EXAMPLE,
        )  # fmt: skip
    if named:
        return tuple(dict.fromkeys(named))
    place = next((place for place, word in enumerate(step) if Path(word).name == _LISTS_THEM), None)
    if place is not None:
        words = [*step[: place + 1], "--print_fuse_elimination_passes"]
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
            if done.returncode == 0:
                return tuple(name for name in done.stdout.split() if name != "nop")
    raise UsageError("no passes named", whose=shlex.join(step), hint="--passes NAME NAME, with all that it may run")


def with_passes(step: Sequence[str], names: Sequence[str], omitted: Sequence[str]) -> list[str]:
    """Return the words of a command without some passes; an option that loses all its values is removed."""
    words: list[str] = []
    for word in step:
        if word in {KEPT, SKIPPED}:
            listed = [name for name in names if (name in omitted) == (word == SKIPPED)]
            if not listed and words and words[-1].startswith("-"):
                words.pop()
            words += listed
        else:
            words.append(word)
    return words


def search_step(
    step: Sequence[str],
    names: Sequence[str],
    plan: Plan,
    registry: Registry,
    judge: Judge,
    store: JudgementStore,
    tell: Callable[[str], None],
) -> PassSearchResult:
    """Search for the fewest passes that a command has to leave out for the file that it writes to be right.

    Args:
        step: The words of the command.
        names: All of its passes.
        plan: The run, whose model the command writes.
        registry: The plugins.
        judge: Judges a run.
        store: Keeps judgements on the disk.
        tell: Told what happens next.

    Raises:
        BackendError: The run is not the same twice, or cannot be judged.
    """
    switch = Switch("passes", tuple(names))
    with tempfile.TemporaryDirectory(prefix="polycmp-bisect-", ignore_cleanup_errors=True) as folder:
        written: dict[tuple[str, ...], Path] = {}
        numbers = count()

        def look(turned: Switch | None, value: Any, number: int) -> Judgement:
            omitted = () if turned is None else tuple(value)
            name = _name_of(omitted)

            def make() -> Judgement:
                tell(f"judging {name}")
                target = Path(folder) / str(next(numbers)) / Path(plan.model).name
                try:
                    write_model(with_passes(step, names, omitted), plan.model, target, name)
                except NotInstallableError as error:
                    return Judgement("bad", error.in_words)
                written[omitted] = target
                return judge.judge(replace(plan, model=str(target)))

            return store.judged(name, number, judge, make)

        search = PassSearch(look, lambda _: True)
        try:
            guilty = search.find([(switch, names)])
        except FlakyError as error:
            raise BackendError(
                not_the_same_twice("the file", words_of(error.once), words_of(error.again)),
                why=WHICH_PASSES,
            ) from None
        except EndError as error:
            raise BackendError("the file cannot be judged", why=error.judgement.reason, hint=_EXAMPLE) from None
        looks = tuple((_name_of(value or ()), judged) for _, value, judged in search.looks)
        label = Path(step[0]).name
        if guilty is None:
            return PassSearchResult(label, looks)
        suffix = Path(plan.model).suffix
        sources = [word for word in step if word != plan.model and Path(word).suffix == suffix]
        source = next((word for word in sources if Path(word).is_file()), "")
        files = [written.get(omitted) for omitted in ((), guilty.value)]
        replaced = _replaced(source, files, registry)
    words = shlex.join(with_passes(step, names, guilty.value))
    return PassSearchResult(label, looks, guilty, _name_of(guilty.value), words, replaced=replaced)


def _name_of(omitted: Sequence[str]) -> str:
    return f"without {', '.join(omitted)}" if omitted else "as it is"


def _replaced(source: str, paths: Sequence[Path | None], registry: Registry) -> tuple[Rewrite, ...]:
    """Return the operators that only the file with all passes has in place of the source's."""
    graph = _graph(source, registry) if source else None
    files = [_graph(str(path), registry) if path is not None else None for path in paths]
    if graph is None or files[0] is None or files[1] is None:
        return ()
    return omitted_rewrites(graph, files[0].nodes, files[1].nodes)


def _graph(path: str, registry: Registry) -> ModelGraph | None:
    try:
        return Model(path, registry).graph()
    except PolycmpError:
        return None
