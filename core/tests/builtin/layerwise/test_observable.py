"""Finding out which tensors a backend can show, with few attempts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polycmp.builtin.layerwise.observable import MOST_ATTEMPTS, largest_working

NAMES = [f"t{index}" for index in range(64)]


class Backend:
    """Refuses some tensors, and remembers the attempts."""

    def __init__(self, *refused):
        self.refused = set(refused)
        self.attempts = []

    def __call__(self, names):
        self.attempts.append(list(names))
        return not self.refused & set(names)


@settings(deadline=None)
@given(st.sets(st.sampled_from(NAMES[1:]), max_size=3))
def test_everything_but_what_is_refused_is_shown(refused):
    backend = Backend(*refused, "odd")
    shown = largest_working(backend, NAMES[:1], NAMES[1:], ["odd"])
    assert set(shown) == set(NAMES) - refused
    assert [names for names in backend.attempts if not backend.refused & set(names)][-1] == shown
    assert len(backend.attempts) <= MOST_ATTEMPTS + 1


def test_what_probably_cannot_be_shown_goes_first():
    backend = Backend("odd")
    assert largest_working(backend, ["y"], ["a", "b"], ["odd", "even"]) == ["y", "a", "b"]
    assert len(backend.attempts) == 1


def test_a_backend_that_fails_anyway_is_asked_twice():
    backend = Backend("y")
    assert largest_working(backend, ["y"], ["a", "b"], ["odd"]) is None
    assert len(backend.attempts) == 2


@pytest.mark.parametrize("most", [1, 8, MOST_ATTEMPTS])
def test_after_so_many_attempts_what_was_not_tried_is_not_shown(most):
    backend = Backend(*NAMES[::2])
    shown = largest_working(backend, [], NAMES, [], most)
    assert set(shown) <= set(NAMES[1::2])
    assert len(backend.attempts) < most + 1
