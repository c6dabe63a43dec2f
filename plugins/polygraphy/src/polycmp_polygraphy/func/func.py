"""Functions that become loaders, under the names of `polygraphy.func`."""

from __future__ import annotations

from polycmp.func import extend as extend
from polycmp.func import invoke as invoke
