"""The compare function of the core, made with as little to write as in a program."""

from __future__ import annotations

from collections.abc import Mapping

from polycmp._builtin_options import SimpleOptions
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
