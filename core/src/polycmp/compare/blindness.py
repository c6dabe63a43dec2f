"""Whether a comparison could have failed: which impostors of the reference it would have let pass, too.

Where every iteration lets one pass, nothing is known of the candidate either. `polycmp.compare.impostors` makes them
and asks; here is what follows for an output, over all iterations.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp import sentences
from polycmp.compare.blind_words import holds_one, tolerances_of, why_passed, why_scaled
from polycmp.compare.impostor_parts import can_be_asked, why_part_passes
from polycmp.compare.impostors import MOST, SCALED, Functions, Impostors, constant_like, ignored_by, is_ours, sample_of
from polycmp.compare.scripted import PairFunction, as_pair_function
from polycmp.compare.verdicts import DetailedVerdict, OutputComparison, PairComparison
from polycmp.options.values import is_named
from polycmp.spec import IMPOSTORS, Verdict
from polycmp.tensors import dtype_class, to_numpy

Array = NDArray[Any]

#: Elements of an iteration that are kept to be the next one's impostor.
_KEPT = 1 << 16
#: Iterations in which functions that others wrote are asked: they may be slow. By count and not by time, so that a busy
#: machine says the same.
_ASKED = 4
#: What is asked beside whole impostors: whether there is any number, and whether each part could have failed.
_NAN, _PART = "nan", "part"


class Watch:
    """Watch over the comparison of one output: keeps the impostors that every iteration so far let pass.

    Args:
        functions: The compare functions that judge the output, by name.
        output: The output's name.
    """

    def __init__(self, functions: Functions, output: str) -> None:
        functions = {name: item.of_output(output) if is_ours(item) else item for name, item in functions.items()}
        self._functions, self._output = functions, output
        kinds = [kind for kind in IMPOSTORS if any(kind not in ignored_by(item) for item in functions.values())]
        #: Reasons why each impostor passed so far, in words; empty where it was the reference itself.
        self._alive = dict.fromkeys([_NAN, *kinds, *([_PART] if can_be_asked(functions) else ())], "")
        self._previous: Array | None = None
        self._left = math.inf if all(map(is_ours, functions.values())) else _ASKED
        self._remarks: set[str] = set()
        self._one_value = False

    def look(self, reference: Array, verdicts: Mapping[str, Verdict]) -> None:
        """Ask with the impostors of one iteration.

        Args:
            reference: The reference's array.
            verdicts: Verdicts of the functions on the candidate, by name, as far as they were asked.
        """
        if dtype_class(reference.dtype) == "string":
            self._alive = {}
            self._remarks.add(_one_text(reference))
            return
        if not reference.size or not self._left or (not self._alive and "" in self._remarks):
            return
        self._left -= 1
        asked = Impostors(self._functions, self._output, reference, verdicts, self._previous)
        remark = ""
        with np.errstate(all="ignore"):
            self._keep(_NAN, sentences.nan_everywhere(self._output) if asked.is_nan else "")
            if _PART in self._alive:
                self._keep(_PART, why_part_passes(self._functions, self._output, reference, verdicts))
            for kind in [kind for kind in IMPOSTORS if kind in self._alive]:
                passes = asked.passes(kind)
                if passes is False:
                    del self._alive[kind]
                elif passes:
                    self._alive[kind] = self._alive[kind] or why_passed(
                        kind, self._output, asked, list(verdicts.values())
                    )
                elif kind == "zeros" and asked.hidden:  # zeros would pass for it if the sides changed places
                    self._alive[kind] = why_scaled(
                        kind, self._output, asked.hidden, tolerances_of(list(verdicts.values()))
                    )
                elif kind == "constant" and asked.one_value:
                    is_bool = reference.dtype.kind == "b"
                    self._one_value = reference.size > 1
                    if self._one_value or is_bool or asked.scale == 0.0:  # a single number may well be the same
                        remark = holds_one(asked.value, size=reference.size, is_bool=is_bool)
            self._remarks.add(remark or ("every value is 0 or 1" if asked.is_saturated else ""))
        keeps = "iteration" in self._alive and reference.size <= _KEPT
        self._previous = reference.copy() if keeps else None

    def _keep(self, kind: str, why: str) -> None:
        """Keep why something passes, if it has passed in all iterations so far."""
        if not why:
            self._alive.pop(kind, None)
        elif kind in self._alive:
            self._alive[kind] = self._alive[kind] or why

    @property
    def blind(self) -> str:
        """The reason, in words, why the comparison could not have failed; empty if it could have."""
        return next(filter(None, self._alive.values()), "")

    @property
    def is_silent(self) -> bool:
        """Whether the last iteration tells nothing of a model: it is blind, or one number everywhere."""
        return any(self._alive.get(kind) for kind in IMPOSTORS) or self._one_value

    @property
    def remark(self) -> str:
        """The remark on an output that holds next to nothing; empty for all others."""
        if not self._remarks or "" in self._remarks:
            return ""
        return next(iter(self._remarks)) if len(self._remarks) == 1 else "the reference holds one value everywhere"


def _one_text(reference: Array) -> str:
    """Return the remark on an output that holds one text everywhere, as a table has for all that it does not know."""
    first = next(iter(reference.flat), None)
    is_one = reference.size > 1 and bool((reference == first).all())
    return holds_one(first, size=reference.size, is_bool=False) if is_one else ""


def silent_outputs(outputs: Mapping[str, Any], functions: Functions, accepted: Iterable[str] = ()) -> list[str]:
    """Return the outputs that tell nothing of the model that made them, as a comparison with themselves shows.

    An output that is empty, text, or differs from itself, as NaN does, is no reason to look for other inputs.

    Args:
        outputs: Arrays by name.
        functions: The compare functions, by name.
        accepted: Names or patterns of outputs that may tell nothing.
    """
    with np.errstate(all="ignore"):
        return [
            name
            for name, array in outputs.items()
            if not is_named(name, accepted) and _is_silent(name, to_numpy(array), functions)
        ]


def _is_silent(name: str, array: Array, functions: Functions) -> bool:
    sample = sample_of(array)
    for part in (sample, array) if sample.size < array.size else (array,):
        if not part.size:
            return False
        verdicts = {key: item(part, part, output=name) for key, item in functions.items()}
        watch = Watch(functions, name)
        if not all(item.passed for item in verdicts.values()):
            return False
        watch.look(part, verdicts)
        if not watch.is_silent:
            return False
    return True


def said_of(
    outputs: Mapping[str, OutputComparison], watches: Mapping[str, Watch], accepted: Iterable[str]
) -> dict[str, OutputComparison]:
    """Return the verdicts on outputs with what is known of the comparison itself.

    Args:
        outputs: The verdicts by output.
        watches: The watch over each output's comparison, by output.
        accepted: Names or patterns of outputs that pass all the same.
    """
    remarked = {}
    for name, item in outputs.items():
        watch = watches.get(name)
        if watch is None or not item.passed:
            remarked[name] = item
        elif watch.blind:
            remarked[name] = blind(item, watch.blind, accepted)
        else:
            remarked[name] = replace(item, reason="; ".join(filter(None, (item.reason, watch.remark))))
    return remarked


def blind(item: OutputComparison, why: str, accepted: Iterable[str]) -> OutputComparison:
    """Return the verdict on an output that passed although nothing could have differed.

    Args:
        item: The verdict so far.
        why: The reason why nothing could differ, in words.
        accepted: Names or patterns of outputs that pass all the same.
    """
    if is_named(item.output, accepted):
        return replace(item, passed=True, inconclusive="", reason=f"{why} (accepted: --allow-blind)")
    return replace(item, passed=False, inconclusive="blind", reason=why)


def without_elements(pair: PairComparison, accepted: Iterable[str]) -> PairComparison:
    """Return the verdict on a pair, which is blind where no output has any elements: nothing was compared.

    Args:
        pair: The verdict so far.
        accepted: Names or patterns of outputs that pass all the same.
    """
    if not pair.passed or not pair.outputs or not all(item.is_empty for item in pair.outputs.values()):
        return pair
    outputs = {name: blind(item, sentences.no_elements(name), accepted) for name, item in pair.outputs.items()}
    return pair.with_outputs(outputs)


def blind_pair(pair: PairComparison, why: Mapping[str, str], accepted: Iterable[str]) -> PairComparison:
    """Return the verdict on a pair of runs some of whose outputs could not have differed.

    Args:
        pair: The verdict so far.
        why: The reasons, in words, by output.
        accepted: Names or patterns of outputs that pass all the same.
    """
    if not pair.passed:
        return pair
    outputs = {name: blind(item, why[name], accepted) if name in why else item for name, item in pair.outputs.items()}
    return pair.with_outputs(outputs)


def blind_by_figures(function: Any, verdict: Verdict, output: str) -> str:
    """Explain from figures alone why nothing could have differed; empty if something could.

    Args:
        function: The compare function.
        verdict: The verdict of the function on figures.
        output: The output's name.
    """
    quick = getattr(function, "passes_scaled", None)
    stats = verdict.stats if isinstance(verdict, DetailedVerdict) else None
    if quick is None or stats is None or not stats.scale or not verdict.passed:
        return ""
    kinds = [kind for kind in SCALED if kind not in ignored_by(function)]
    impostor = next((kind for kind in kinds if quick(SCALED[kind][0], verdict, output=output)), "")
    return why_scaled(impostor, output, stats.scale, getattr(verdict, "tolerance", {})) if impostor else ""


def impostors_judge(function: Callable[..., Any]) -> Callable[[], PairFunction]:
    """Return a factory of copies of a function for all outputs together, so that the original keeps its state."""

    def make() -> PairFunction:
        asked = function if inspect.isfunction(function) else copy.deepcopy(function)
        return as_pair_function(asked) or (lambda _made, _expected: [])

    return make


class PairImpostors:
    """The impostors that a function for all outputs together lets pass in every iteration."""

    def __init__(self, make: Callable[[], PairFunction]) -> None:
        self._make = make
        self._alive: dict[str, set[str] | None] = {"zeros": None, "constant": None}
        self._left = _ASKED

    def look(self, reference: Mapping[str, Any]) -> None:
        """Ask with the impostors of one iteration."""
        if not self._left:
            return
        self._left -= 1
        for kind, before in list(self._alive.items()):
            passing = _passing_outputs(self._make, reference, kind)
            if passing is not None:
                self._alive[kind] = passing if before is None else before & passing
            if self._alive[kind] == set():
                del self._alive[kind]

    @property
    def passed(self) -> dict[str, str]:
        """The reasons, in words and by output, why nothing could differ."""
        words = {"zeros": "zeros", "constant": "the mean everywhere"}
        return {
            name: sentences.would_have_passed(f"{words[kind]} in place of {name!r}")
            for kind, names in reversed(self._alive.items())
            for name in names or ()
        }


def _passing_outputs(make: Callable[[], PairFunction], reference: Mapping[str, Any], kind: str) -> set[str] | None:
    """Return the outputs that pass although they are impostors; None where there is no impostor of this kind."""
    impostors: dict[str, Any] = copy.copy(reference) if isinstance(reference, dict) else dict(reference)
    others = set()
    for name, value in reference.items():
        array = to_numpy(value)
        if dtype_class(array.dtype) == "string" or not 0 < array.size <= MOST:
            continue
        impostor = constant_like(array, kind)
        if impostor is not None:
            impostors[name] = impostor
            others.add(name)
    if not others:
        return None
    try:
        with np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            comparisons = make()(impostors, reference)
    except (Exception, SystemExit):  # noqa: BLE001 - whatever it raises, it does not let the impostor pass
        return set()
    return {
        item.output for item in comparisons if item.passed and (item.output in others or item.output not in impostors)
    }
