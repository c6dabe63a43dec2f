"""The search for further outputs that make the final outputs right."""

from __future__ import annotations

from itertools import cycle

import pytest

from polycmp_locate.trials.fusion import find_probes


class Backend:
    """Gives 0, which is right, where `cure` is an output, and else the numbers of a list in turn."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = cycle(numbers)
        self.asked: list[list[str]] = []

    def run_whole(self, feed, names):
        self.asked.append(names)
        number = 0.0 if "cure" in names else next(self._numbers)
        return dict.fromkeys(names, number)


def is_right(outputs):
    return outputs["y"] < 0.25


@pytest.mark.parametrize("runs", [1, 2])
def test_the_one_tensor_that_helps_is_found(runs):
    backend = Backend(1.0)
    assert find_probes(backend, {}, [["a", "b", "cure", "c"]], ["y"], is_right, runs) == ("cure",)
    assert all("y" in names for names in backend.asked)


def test_a_run_that_is_right_by_chance_helps_once_and_not_twice():
    assert find_probes(Backend(0.1, 1.0), {}, [["a", "b"]], ["y"], is_right, 1) != ()
    assert find_probes(Backend(0.1, 1.0), {}, [["a", "b"]], ["y"], is_right, 2) == ()
    assert find_probes(Backend(0.1, 1.0), {}, [["a", "cure", "b"]], ["y"], is_right, 2) == ("cure",)


def test_groups_are_tried_one_by_one_and_then_all_at_once():
    class Both(Backend):
        def run_whole(self, feed, names):
            self.asked.append(names)
            return dict.fromkeys(names, 0.0 if {"a", "b"} <= set(names) else 1.0)

    backend = Both()
    assert find_probes(backend, {}, [["a", "y"], ["b"]], ["y"], is_right) == ("a", "b")
    assert backend.asked[:3] == [["y", "a"], ["y", "b"], ["y", "a", "b"]]


def test_no_probe_that_helps_is_none():
    assert find_probes(Backend(1.0), {}, [["a"], ["b"]], ["y"], is_right) == ()
    assert find_probes(Backend(1.0), {}, [["y"]], ["y"], is_right) == ()
