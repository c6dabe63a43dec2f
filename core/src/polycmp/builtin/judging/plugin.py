"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import ToleranceSpec, hookimpl


@hookimpl
def polycmp_tolerances() -> Iterable[ToleranceSpec]:
    """Contribute tolerances by measured rounding, which are the default."""
    yield ToleranceSpec("auto", "Tolerances from measured rounding", "polycmp.builtin.judging.floor:RoundingTolerances")
