"""The conformance kit, `polycmp_testing`, under the name by which plugins have always known it.

It is a package of its own: `pip install polycmp-testing`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the core depends on no other package of ours, not even for types

    def __getattr__(name: str) -> Any: ...


_KIT = "polycmp_testing"

try:
    _kit = import_module(_KIT)
except ModuleNotFoundError as error:
    if error.name != _KIT:
        raise
    hint = f"{__name__} is in a package of its own: pip install polycmp-testing"
    raise ModuleNotFoundError(hint, name=_KIT) from None
for _name in ("compare_funcs", "contract", "data_loaders", "loaders", "marks", "nodes", "reports", "runners"):
    sys.modules[f"{__name__}.{_name}"] = import_module(f"{_KIT}.{_name}")
sys.modules[__name__] = _kit
