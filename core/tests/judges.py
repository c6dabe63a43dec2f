"""The compare function of the core, and what becomes of outputs, with as little to write as in a program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polycmp._builtin_options import SimpleOptions
from polycmp.compare.blindness import without_elements
from polycmp.compare.pair import PairComparer
from polycmp.compare.simple import Simple

PER_OUTPUT = ("atol", "rtol", "error_quantile")


def simple(check_error_stat=None, *, detail=False, **values):
    """Return `simple`; a single value holds for all outputs."""
    for name in PER_OUTPUT:
        if name in values and not isinstance(values[name], Mapping):
            values[name] = {"": values[name]}
    if check_error_stat is not None:
        named = check_error_stat if isinstance(check_error_stat, Mapping) else {"": check_error_stat}
        values["check_error_stat"] = {
            name: (item,) if isinstance(item, str) else tuple(item) for name, item in named.items()
        }
    return Simple(SimpleOptions(**values), detail)


def comparison_of(*references, accepted=(), functions=None, candidates=None, **options):
    """Return the comparison of `y` over iterations in which both sides agree, unless there are other candidates."""
    functions = functions or {"simple": Simple(SimpleOptions(**{name: {"": v} for name, v in options.items()}))}
    comparer = PairComparer("a", "b", functions, accepted=accepted)
    for number, reference in enumerate(references):
        candidate = reference if candidates is None else candidates[number]
        comparer.add({"y": np.asarray(candidate)}, {"y": np.asarray(reference)})
    return without_elements(comparer.result(), accepted).outputs["y"]


def normal_values(*shape, seed=0, scale=1.0, dtype=np.float32):
    """Return normally distributed numbers."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)
