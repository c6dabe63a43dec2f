"""Conversion of the result of a search to the contents of its page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from polycmp_bisect.candidates.backwards import Backwards
from polycmp_bisect.explaining import Story
from polycmp_bisect.judging import words_of
from polycmp_bisect.locating import words_for
from polycmp_bisect.passes.pass_search import labels_of, replaced_words
from polycmp_bisect.sentences import only_together

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry
    from polycmp_bisect.passes.pass_search import PassSearchResult
    from polycmp_bisect.result import Answer


def story_of(answer: Answer, base: Plan, over: Sequence[str], registry: Registry) -> Story:
    """Return the story of a search over releases, files or the like, whose first bad one is known.

    Args:
        answer: The result of the search.
        base: The run as the user asked for it.
        over: The words of the command that say what is searched over; empty where the typed command alone says it.
        registry: The plugins.
    """
    turning_point, line = answer.turning_point, answer.candidates
    assert turning_point.first_bad is not None
    bad, good = line.names[turning_point.first_bad], answer.name(turning_point.last_good)
    mended = isinstance(line, Backwards)
    package = line.what.partition("release of ")[2]
    shown = {name: f"{package} {name}" if package else name for name in line.names}
    fails = turning_point.judged[turning_point.first_bad].seconds is None
    title = f"{shown[bad]} {'cannot run a model' if fails else 'gives wrong results'}"
    turn = f"{shown[bad]} is the oldest that could be judged, and it is wrong, too."
    if good is not None:
        title += f"; {shown[good]} {'can' if fails else 'is right'}"
        turn = f"{good} is right, {bad} is the first that is not."
        if mended:
            turn = f"Mended in {good}; {bad} is the last that is wrong."
    ends = [] if good is None else ["--good", good]
    words = words_for("bisect", base, registry) if over else None
    again = shlex.join(["polycmp", *words, *over, *ends, "--bad", bad]) if words is not None else answer.command
    places = {
        name: place
        for name, place in ((bad, turning_point.first_bad), (good, turning_point.last_good))
        if place is not None
    }
    pythons = {str(shown[str(name)]): line.interpreter(place) for name, place in places.items()}
    return Story(
        title,
        turn,
        line.what,
        [(line.names[place], words_of(item)) for place, item in sorted(turning_point.judged.items(), reverse=mended)],
        line.plan(turning_point.first_bad),
        answer.operator.sentence,
        answer.operator.way_round,
        [*filter(None, [answer.operator.command]), again],
        line.runtime,
        {name: python for name, python in pythons.items() if python},
        line.as_typed(turning_point.first_bad),
        "" if line.runtime else package,
        [
            *([] if line.runtime or not package else [f"pip install {package}=={bad}"]),
            *line.steps(turning_point.first_bad),
        ],
    )


def story_of_passes(passes: PassSearchResult, plan: Plan, package: str, python: str, command: str) -> Story:
    """Return the story of a search over passes that found some.

    Args:
        passes: The result of the search.
        plan: The run that is wrong.
        package: The package of the runtime; empty if it is not known.
        python: The interpreter of the environment that it runs in.
        command: The command line as typed.
    """
    operators = ""
    if passes.replaced:
        operators = f"it computes {replaced_words(passes.replaced)}"
    elif passes.together:
        operators = only_together(labels_of(passes.together))
    wrong = "cannot run a model" if passes.cannot_run else "gives wrong results"
    return Story(
        f"{package or passes.label} {wrong}; {passes.off} it is right",
        f"{passes.label} is wrong as it is, and right {passes.off}.",
        "setting",
        [(name, words_of(item)) for name, item in passes.looks],
        plan,
        operators,
        passes.words,
        [command],
        package,
        {f"{passes.label} as it is": python},
    )
