"""Reading TOML, with Python's own module where there is one."""

from __future__ import annotations

import sys
from typing import Any


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a text in TOML.

    Raises:
        ValueError: It is not TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib  # most commands do without
    else:
        import tomli as tomllib
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("its values are nested too deeply") from error
    return content
