"""The service `environments`: the interpreter of an environment with a release of a backend's runtime."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from polycmp_bisect.environments.answers import kept_releases
from polycmp_bisect.environments.making import Maker, own_python
from polycmp_bisect.environments.own_packages import ours_for
from polycmp_bisect.environments.packages import (
    installed_release,
    parse_version,
    pick_release,
    runtimes_of,
    wanted_for,
)
from polycmp_bisect.environments.tools import interpreters

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
        asked = parse_version(version, list(runtimes))
        package, module = asked.package, runtimes[asked.package]
        ours = ours_for(self._registry, backend)
        release = asked.release or installed_release(package) or "latest"
        for known in [asked.python] if asked.python else interpreters():  # nothing is asked where it is there
            wanted = wanted_for(release, package, module, asked.beside, known)
            if self._maker.has(wanted, ours):
                return str(self._maker.environment(wanted, ours))
        before_final = release != "latest" and any(mark in release for mark in "abrd")
        releases = kept_releases(package, self._maker.find_links, pre=before_final)
        release = pick_release(release, list(releases), package)
        python = asked.python or releases.get(release, own_python())
        wanted = wanted_for(release, package, module, asked.beside, python)
        return str(self._maker.environment(wanted, ours))
