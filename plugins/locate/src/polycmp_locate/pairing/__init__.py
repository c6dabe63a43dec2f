"""Pairing of tensors of two models that differ: an export, a conversion, a quantised or optimised file.

`pair_graphs` says it of two graphs, `pair_names` of two lists of names; `align`, in the module `view`, makes of two
backends with different models two that can be gone through side by side.
"""

from polycmp_locate.pairing.matching import pair_graphs
from polycmp_locate.pairing.names import pair_names
from polycmp_locate.pairing.result import Match, Pairing

__all__ = ["Match", "Pairing", "pair_graphs", "pair_names"]
