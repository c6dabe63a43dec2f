"""What reports say of the machine."""

from __future__ import annotations

from polycmp.results.outcome import describe_environment


def test_environment_names_versions_and_machine():
    found = describe_environment()
    assert set(found) == {"python", "polycmp", "numpy", "platform", "cpu", "cpu_count"}
    assert all(found.values())
