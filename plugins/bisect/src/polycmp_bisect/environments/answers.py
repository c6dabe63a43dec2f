"""Answers of the package index, cached for minutes: each case of a suite asks which release `latest` is."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from polycmp.errors import PolycmpError
from polycmp.files import atomic_write, make_folder, to_bytes
from polycmp_bisect.environments.cache import cache_folder, digest
from polycmp_bisect.environments.errors import UnreachableError
from polycmp_bisect.environments.packages import known_releases

#: Seconds for which an answer holds; where no index answers, an older one has to do.
_MAX_AGE = 600.0


def cached_releases(package: str, find_links: Sequence[str] = (), *, pre: bool = False) -> dict[str, str]:
    """Return `known_releases`, from the cache if it is minutes old or no index answers.

    Folders that the user names are looked at each time: a wheel may have been put there a moment ago.

    Raises:
        UnreachableError: No package index answers, and none ever did.
    """
    settings = sorted(item for item in os.environ.items() if item[0].startswith(("PIP_", "UV_")))
    path = cache_folder() / "index" / f"{package}-{digest(package, list(find_links), pre, settings)}.json"
    cached = _read(path)
    if cached is not None and not find_links and 0 <= time.time() - path.stat().st_mtime < _MAX_AGE:
        return cached
    try:
        releases = known_releases(package, find_links, pre=pre)
    except UnreachableError:
        if cached is None:
            raise
        return cached
    with suppress(OSError, PolycmpError):  # what cannot be kept is asked for again
        make_folder(path.parent)
        with atomic_write(path) as file:
            file.write(to_bytes(json.dumps(releases) + "\n"))
    return releases


def _read(path: Path) -> dict[str, str] | None:
    with suppress(OSError, ValueError, AttributeError):
        return {str(release): str(python) for release, python in json.loads(path.read_text("utf-8")).items()}
    return None
