"""The comparator under the names of `polygraphy.comparator`."""

from __future__ import annotations

from polycmp.comparator import Comparator as Comparator
