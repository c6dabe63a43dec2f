"""Read and write arrays, results and plain values as JSON that Polygraphy reads, too."""

from __future__ import annotations

from polycmp.builtin.api.json import from_json, load_json, save_json, to_json

__all__ = ["from_json", "load_json", "save_json", "to_json"]
