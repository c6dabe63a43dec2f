"""The base of runners under the name that Polygraphy has for it."""

from __future__ import annotations

from polycmp.runner import Runner as BaseRunner
