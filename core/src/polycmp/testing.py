"""The conformance kit, the package `polycmp-testing`, under the name by which plugins know it."""

from __future__ import annotations

from polycmp.alias import stand_for

_MODULES = ("compare_funcs", "contract", "data_loaders", "loaders", "marks", "nodes", "reports", "runners")
stand_for(__name__, "polycmp_testing", _MODULES)
