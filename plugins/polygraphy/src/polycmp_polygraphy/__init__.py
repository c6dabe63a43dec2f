"""The modules of Polygraphy by name, answered by polycmp: `import polycmp_polygraphy as polygraphy`.

`python -m polycmp_polygraphy app.py` runs a program that imports `polygraphy` itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: The version of Polygraphy whose names these are: programs compare it with the oldest one that they work with.
__version__ = "0.53.6"


def __getattr__(name: str) -> Any:
    """Return `config`, whose variables are read when a program asks for it: it may set them before."""
    if name == "config":
        return import_module(f"{__name__}.config")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
