"""The modules of Polygraphy by name, answered by polycmp: `import polycmp_polygraphy as polygraphy`.

`python -m polycmp_polygraphy app.py` runs a program that imports `polygraphy` itself.
"""

from __future__ import annotations

from polycmp_polygraphy import config as config

#: The version of Polygraphy whose names these are: programs compare it with the oldest one that they work with.
__version__ = "0.53.6"
