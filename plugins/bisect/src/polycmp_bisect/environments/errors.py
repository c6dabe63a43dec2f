"""Errors of environments: a release that cannot be had is skipped, all else ends the search."""

from __future__ import annotations

from polycmp.errors import PolycmpError


class NotInstallableError(PolycmpError):
    """A release that cannot be installed here, or whose module cannot be imported."""

    @property
    def in_words(self) -> str:
        """What is said of a candidate that is passed over for it."""
        return f"{self.what}{f': {self.why}' if self.why else ''}"


class UnreachableError(PolycmpError):
    """A package index that does not answer, or a disk that is full: the next release would fare no better."""
