"""Base of all contract classes: capabilities closed by default, and expected failures that are strict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, TypeVar

import pytest

from polycmp.errors import did_you_mean
from polycmp.testing.marks import Expected

Test = TypeVar("Test", bound=Callable[..., None])


def needs(*capabilities: str) -> Callable[[Test], Test]:
    """Mark a test that is skipped unless the plugin declares all these capabilities."""

    def decorate(test: Test) -> Test:
        test.__dict__["needs_capabilities"] = capabilities
        return test

    return decorate


class Contract:
    """Base of the contracts.

    Attributes:
        KNOWN_CAPABILITIES: Capabilities that this contract can ask about, with a sentence each. A test that a later
            version of the kit adds for a new capability does not run until a plugin declares it.
        capabilities: Capabilities that the plugin under test declares; none by default.
        expected_failures: Known failures, by the name of the test.
    """

    KNOWN_CAPABILITIES: ClassVar[Mapping[str, str]] = {}
    capabilities: ClassVar[Collection[str]] = frozenset()
    expected_failures: ClassVar[Mapping[str, Expected]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check what a test class declares: its capabilities and expected failures must exist."""
        super().__init_subclass__(**kwargs)
        for name in cls.capabilities:
            if name not in cls.KNOWN_CAPABILITIES:
                raise TypeError(f"{cls.__name__}: no capability {name!r}; {did_you_mean(name, cls.KNOWN_CAPABILITIES)}")
        tests = [name for name in dir(cls) if name.startswith("test_")]
        for name in cls.expected_failures:
            if name not in tests:
                raise TypeError(f"{cls.__name__}: no test {name!r} to fail; {did_you_mean(name, tests)}")

    @pytest.fixture(autouse=True)
    def _apply_declarations(self, request: pytest.FixtureRequest) -> None:
        test = getattr(request, "function", None)
        for capability in getattr(test, "needs_capabilities", ()):
            if capability not in self.capabilities:
                pytest.skip(f"capability not declared: {capability} ({self.KNOWN_CAPABILITIES[capability]})")
        expected = self.expected_failures.get(getattr(test, "__name__", ""))
        if expected is not None:
            request.applymarker(expected.mark())
