"""Backends under the names of `polygraphy.backend`."""

from __future__ import annotations
