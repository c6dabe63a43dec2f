"""`polycmp cache`: environments are listed with their sizes, kept below a limit, and removed unless in use."""

from __future__ import annotations

import sys

import pytest
from made_environments import make

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of files")


def test_environments_are_listed_with_their_sizes_those_used_last_first(cache, polycmp):
    make(cache, "old-1.0", 2, age=3 * 86400)
    make(cache, "new-1.0", 1)
    lines = polycmp("cache", "list").out.splitlines()
    assert [line.split() for line in lines] == [
        ["1", "MiB", "new-1.0", "used", "today"],
        ["2", "MiB", "old-1.0", "used", "3", "days", "ago"],
        ["3", "MiB", "of", "20480", "MiB", "in", str(cache.folder)],
    ]


def test_an_empty_cache_is_no_error(cache, polycmp):
    assert polycmp("cache", "list").out.split()[:4] == ["0", "MiB", "of", "20480"]
    assert polycmp("cache", "remove", "--all").status == 0
    assert not cache.folder.exists()


def test_a_limit_removes_what_was_not_used_for_longest(cache, polycmp):
    for age, name in enumerate(["new", "middle", "old"]):
        make(cache, name, 1, age=age * 100)
    done = polycmp("cache", "limit", "2M")
    assert done.out.splitlines()[0] == "removed old"
    assert {item.name for item in cache.environments()} == {"new", "middle"}
    assert polycmp("cache", "limit").out.startswith("2 MiB for ")


def test_what_is_in_use_stays(cache, polycmp):
    make(cache, "busy", 1, age=100)
    make(cache, "idle", 1)
    with cache.use("busy"):
        assert polycmp("cache", "limit", "1").out.splitlines()[0] == "removed idle"
        done = polycmp("cache", "remove", "busy")
        assert (done.status, done.out) == (3, "busy is in use, and stays\n")
    assert polycmp("cache", "remove", "busy").status == 0
    assert cache.environments() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["remove"], "no environment named"),
        (["remove", "onnxruntime-9"], "there is no environment onnxruntime-9"),
        (["limit", "much"], "'much' is not a size"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(cache, polycmp, words, said):
    done = polycmp("cache", *words)
    assert (done.status, said in done.err) == (2, True), done.err


@pytest.mark.parametrize("limit", ["1e400", "-1", "null", "true", '"much"', "NaN"])
def test_settings_that_are_none_are_as_good_as_none(cache, polycmp, limit):
    make(cache, "one-1.0", 1)
    (cache.folder / "settings.json").write_text(f'{{"limit": {limit}}}')
    (cache.folder / "one-1.0" / "complete.json").write_text(f'{{"size": {limit}}}')
    done = polycmp("cache", "list")
    assert (done.status, "of 20480 MiB" in done.out) == (0, True)
    assert "one-1.0  not made to the end" in done.out
