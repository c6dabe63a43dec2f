"""Expected failures: each says why, and whose turn it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

Raises = type[BaseException] | tuple[type[BaseException], ...]


@dataclass(frozen=True)
class Expected:
    """A test that is known to fail.

    Attributes:
        kind: `notimpl`, `notyet` or `never`.
        reason: Reason in words.
        raises: Exception that the test fails with; any other one is an unexpected failure.
    """

    kind: str
    reason: str
    raises: Raises = AssertionError

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError(f"{self.kind} needs a reason")

    def mark(self) -> Any:
        """Return the strict xfail mark: a test that starts to pass fails the run."""
        return pytest.mark.xfail(reason=f"{self.kind}: {self.reason}", raises=self.raises, strict=True)


def notimpl(reason: str, *, raises: Raises = AssertionError) -> Expected:
    """Mark what this plugin could do, but which is not written yet."""
    return Expected("notimpl", reason, raises)


def notyet(reason: str, *, raises: Raises = AssertionError) -> Expected:
    """Mark what the library underneath would have to do first."""
    return Expected("notyet", reason, raises)


def never(reason: str, *, raises: Raises = AssertionError) -> Expected:
    """Mark what cannot be, by the nature of the backend."""
    return Expected("never", reason, raises)
