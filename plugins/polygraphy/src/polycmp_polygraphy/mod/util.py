"""Versions under the names of `polygraphy.mod`."""

from __future__ import annotations

from packaging.version import Version


def version(version_str: str) -> tuple[int, ...]:
    """Return the numbers of a version, which can be compared; `1.13.0a0+nv` counts as `1.13.0`.

    Raises:
        ValueError: The text is no version.
    """
    return Version(version_str).release
