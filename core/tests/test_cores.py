"""Cores that calculations share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from polycmp._cores import all_cores, sharing_cores, usable_cores


def test_cores_are_shared_by_those_of_a_thread_only():
    assert usable_cores() == all_cores()
    with sharing_cores(2), ThreadPoolExecutor(1) as pool:
        assert usable_cores() == max(1, all_cores() // 2)
        assert pool.submit(usable_cores).result() == all_cores()
        with sharing_cores(10_000):
            assert usable_cores() == 1
        assert usable_cores() == max(1, all_cores() // 2)
    assert usable_cores() == all_cores()
