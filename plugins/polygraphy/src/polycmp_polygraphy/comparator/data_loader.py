"""Sources of inputs under the names of `polygraphy.comparator`."""

from __future__ import annotations

from polycmp.comparator import DataLoader as DataLoader
from polycmp.comparator import StreamingDataLoader as StreamingDataLoader
