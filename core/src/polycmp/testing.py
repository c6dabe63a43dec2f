"""The conformance kit, `polycmp_testing`, under the name by which plugins have always known it.

It is a package of its own: `pip install polycmp-testing`.
"""

from __future__ import annotations

from polycmp.alias import stand_for

_MODULES = ("compare_funcs", "contract", "data_loaders", "loaders", "marks", "nodes", "reports", "runners")
stand_for(__name__, "polycmp_testing", _MODULES)
