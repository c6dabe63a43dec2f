"""Releases of a package whose command writes the model: a converter, an optimiser, an exporter."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from polycmp_bisect.candidates.releases import ReleasesOfPackage, chosen_releases
from polycmp_bisect.environments.making import EnvironmentContents, Maker
from polycmp_bisect.writing import check_step, write_model

if TYPE_CHECKING:
    from polycmp.plan import Plan


@dataclass
class Converters(ReleasesOfPackage):
    """Releases of a package, each of which writes the model anew: that of the run is the file that its command writes.

    Attributes:
        step: The command.
        beside: Further packages that every environment has.
        maker: Makes environments.
    """

    step: Sequence[str]
    beside: Sequence[str]
    maker: Maker
    varied: str = ""
    runtime: str = ""
    _folder: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="polycmp-bisect-", ignore_cleanup_errors=True)
    )

    def prepare(self, place: int) -> None:
        """Create the environment of a release, and run its command to write the model.

        Raises:
            NotInstallableError: It cannot be installed, or its command fails.
        """
        target = self._target(place)
        if target.exists():
            return
        tools = Path(self.interpreter(place)).parent
        environ = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"}
        environ.pop("PYTHONPATH", None)
        write_model(self.step, self.base.model, target, f"{self.package} {self.names[place]}", environ)

    def is_ready(self, place: int) -> bool:
        """Return whether the model of a release is written."""
        return self._target(place).exists() or self.maker.has(self._contents(place))

    def plan(self, place: int) -> Plan:
        """Return the run of the model that a release writes."""
        return replace(self.base, model=str(self._target(place)))

    def interpreter(self, place: int) -> str:
        """Return the interpreter of a release's environment, which is made if it is missing."""
        return str(self.maker.environment(self._contents(place)))

    def as_typed(self, place: int) -> Plan:
        """Return the run as typed after the command has written the model."""
        return self.base

    def steps(self, place: int) -> Sequence[str]:
        """Return the command that writes the model for the run as typed."""
        return [shlex.join(self.step)]

    def _target(self, place: int) -> Path:
        return Path(self._folder.name) / self.names[place] / Path(self.base.model).name

    def _contents(self, place: int) -> EnvironmentContents:
        name = self.names[place]
        return EnvironmentContents((f"{self.package}=={name}", *self.beside), self.pythons[name])


def open_converters(
    package: str,
    plan: Plan,
    step: Sequence[str],
    maker: Maker,
    *,
    listed: Sequence[str] = (),
    beside: Sequence[str] = (),
    pre: bool = False,
) -> Converters:
    """Return the releases of a package to search over; arguments as for `open_releases`.

    Raises:
        UsageError: No word of the command is the model that it writes.
        UnreachableError: No package index answers.
    """
    check_step(step, plan.model)
    package = canonicalize_name(package)
    known = chosen_releases(package, maker, listed, pre=pre)
    return Converters(package, list(known), known, plan, step, beside, maker)
