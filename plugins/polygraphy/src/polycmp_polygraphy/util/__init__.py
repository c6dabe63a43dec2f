"""Small helpers under the names of `polygraphy.util`."""

from __future__ import annotations

from polycmp_polygraphy.util import array as array
from polycmp_polygraphy.util.util import *
