"""What the tests of commands to type next share: the packages that these commands are of, and finding one in a text."""

from __future__ import annotations

import shlex

import pytest
from commandline import core_alone_with

#: A backend that goes wrong inside a chain.
WRONG = "toy:fault=scale,amount=0.5,at=h2"


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide ONNX, ONNX Runtime and our plugins but those that the commands lead to."""
    with core_alone_with("polycmp_checks", "polycmp_locate", "polycmp_report"):
        yield


def next_of(done):
    """Return the words of the command that stands behind the verdict; None if there is none."""
    lines = done.out.splitlines()
    found = [line.removeprefix("  next: ") for line in lines if line.startswith("  next: polycmp locate")]
    assert len(found) < 2
    if not found:
        return None
    assert lines[-1] == f"  next: {found[0]}"
    return shlex.split(found[0])[1:]
