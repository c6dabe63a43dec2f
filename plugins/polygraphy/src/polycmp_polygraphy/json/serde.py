"""JSON under the names of `polygraphy.json`."""

from __future__ import annotations

from polycmp.json import from_json as from_json
from polycmp.json import load_json as load_json
from polycmp.json import save_json as save_json
from polycmp.json import to_json as to_json
