"""Random pairs of files: what of them is contrary, and that one gets an answer."""

from __future__ import annotations

import pytest

from truth.judge import Said
from truth.pairs import COMMANDS, ask, contrary, make_pair


@pytest.mark.parametrize(
    ("exits", "is_contrary"),
    [
        *((exits, False) for exits in [(0, 0, 0), (1, 1, 1), (3, 3, 3), (0, 1, 1), (0, 0, 1), (3, 1, 1)]),
        *((exits, True) for exits in [(3, 3, 0), (1, 1, 3), (0, 1, 0), (1, 0, 1), (3, 0, 0), (1, 0, 0)]),
    ],
)
def test_looking_inside_may_only_add_a_name(exits, is_contrary):
    said = {
        name: Said(status, "undecided" if status == 3 else "") for name, status in zip(COMMANDS, exits, strict=True)
    }
    assert contrary(said) is is_contrary


def test_a_fused_kernel_and_still_outputs_are_not_contrary():
    marked = {"run --mark-all": Said(0)}
    assert not contrary({"run": Said(1), **marked, "locate": Said(1, "probing removes the fault")})
    assert not contrary({"run": Said(3, document={"verdict": "blind"}), **marked, "locate": Said(0, "equal")})


def test_a_pair_is_asked_about(polycmp, tmp_path):
    del polycmp  # it gives back what commands in this process change
    pair = make_pair(1, tmp_path, is_beside_backend=False)
    said = ask(pair, tmp_path)
    assert all(item.exit in {0, 1, 3} for item in said.values())
    assert not contrary(said)
