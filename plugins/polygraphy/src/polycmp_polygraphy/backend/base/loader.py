"""The base of loaders under the name that Polygraphy has for it."""

from __future__ import annotations

from polycmp.loader import Loader as BaseLoader
