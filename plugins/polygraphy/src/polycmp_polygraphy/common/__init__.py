"""Metadata of tensors under the names of `polygraphy.common`."""

from __future__ import annotations

from polycmp_polygraphy.common.struct import *
from polycmp_polygraphy.exception import *
