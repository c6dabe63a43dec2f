"""A fault that a later release mended is looked for from new to old."""

from __future__ import annotations


def test_the_release_that_mended_a_fault_is_found(place):
    done, report = place.over_toyconv("--bad", "1.2", "--good", "2.0")
    assert done.returncode == 1
    assert (report["first_bad"], report["last_good"]) == ("1.2", "2.0")
    assert "mended in release of toyconv 2.0, last bad 1.2 (1.3 between them could not be judged)" in done.stdout
