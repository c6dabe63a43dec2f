"""The name of `polygraphy.tools`; of its command-line groups there are none here."""

from __future__ import annotations

from polycmp_polygraphy.tools.base import *
