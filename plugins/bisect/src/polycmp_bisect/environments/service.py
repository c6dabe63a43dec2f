"""The service `environments`: the interpreter of an environment with a release of a backend's runtime."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from polycmp_bisect.environments.answers import cached_releases
from polycmp_bisect.environments.making import Maker
from polycmp_bisect.environments.packages import (
    contents_for,
    installed_release,
    parse_version,
    pick_release,
    runtimes_of,
)
from polycmp_bisect.environments.polycmp_packages import polycmp_packages
from polycmp_bisect.environments.tools import interpreters, this_python

if TYPE_CHECKING:
    from polycmp.plugins import Registry

log = logging.getLogger("polycmp.environments")


def make(registry: Registry) -> Environments:
    """Return the lookup of environments, which makes those that are missing."""
    return Environments(registry, Maker(tell=log.info))


class Environments:
    """Finds or makes the environments of backends.

    Args:
        registry: The plugins.
        maker: Makes environments.
    """

    def __init__(self, registry: Registry, maker: Maker) -> None:
        self._registry = registry
        self._maker = maker

    def __call__(self, backend: str, version: str) -> str:
        """Return the interpreter of an environment with a release of a backend's runtime.

        Args:
            backend: The backend's name.
            version: The release, a series ("1.20") or "latest"; with `,onnx==1.16.0` another package beside it, with
                `,python==3.10` another Python.

        Raises:
            PolycmpError: The environment cannot be made.
        """
        runtimes = dict(runtimes_of(self._registry, backend))
        request = parse_version(version, list(runtimes))
        package, module = request.package, runtimes[request.package]
        ours = polycmp_packages(self._registry, backend)
        release = request.release or installed_release(package) or "latest"
        for known in [request.python] if request.python else interpreters():  # nothing is asked where it is there
            contents = contents_for(release, package, module, request.beside, known)
            if self._maker.has(contents, ours):
                return str(self._maker.environment(contents, ours))
        before_final = release != "latest" and any(mark in release for mark in "abrd")
        releases = cached_releases(package, self._maker.find_links, pre=before_final)
        release = pick_release(release, list(releases), package)
        python = request.python or releases.get(release, this_python())
        contents = contents_for(release, package, module, request.beside, python)
        return str(self._maker.environment(contents, ours))
