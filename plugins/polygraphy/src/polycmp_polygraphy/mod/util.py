"""Versions under the names of `polygraphy.mod`."""

from __future__ import annotations

from packaging.version import Version


def version(version_str: str) -> Version:
    """Return a version, which can be compared; a build that its maker marked (`1.13.0a0+nv`) counts as `1.13.0`.

    Raises:
        ValueError: The text is no version.
    """
    release = Version(version_str)
    return Version(release.base_version if release.local else release.public)
