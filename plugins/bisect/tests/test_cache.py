"""The cache of environments: each is made once and whole, and the one used longest ago goes first."""

from __future__ import annotations

import sys
import threading

import pytest
from made_environments import make

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of files")


def test_what_was_used_again_is_not_the_oldest(cache):
    make(cache, "first", 1, age=200)
    make(cache, "second", 1, age=100)
    cache.use("first").close()
    assert cache.set_limit(1 << 20) == ["second"]


def test_what_fails_while_it_is_made_is_gone(cache):
    with pytest.raises(KeyboardInterrupt), cache.making("half") as folder:
        folder.mkdir()
        (folder / "some").touch()
        raise KeyboardInterrupt
    assert not (cache.folder / "half").exists()
    assert cache.environments() == []


def test_two_that_make_the_same_wait_for_each_other_and_make_it_once(cache):
    begun, made = threading.Event(), []

    def second():
        begun.wait()
        with cache.making("shared"):
            made.append(cache.is_complete("shared"))

    other = threading.Thread(target=second)
    other.start()
    with cache.making("shared") as folder:
        begun.set()
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").symlink_to(sys.executable)
        assert not cache.is_complete("shared")
    other.join()
    assert made == [True]


def test_a_search_ends_although_the_cache_is_full_and_keeps_its_limit_afterwards(place, monkeypatch):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    assert place.polycmp("cache", "limit", "1").returncode == 0
    done, report = place.over_toyconv("--good", "1.0", "--bad", "1.2")
    assert (done.returncode, report["first_bad"]) == (1, "1.2"), done.stderr
    assert report["prepared"] == 3  # in use to the end, and then there is no room for them
    assert place.made() == set()


def test_a_cache_that_cannot_be_written_ends_the_search_with_what_to_do(place, monkeypatch):
    (place.root / "file").write_text("")
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "file"))
    done, _ = place.over_toyconv("--bad", "1.2")
    assert done.returncode == 3
    assert "toyconv 1.2 cannot be kept in" in done.stderr
    assert "POLYCMP_CACHE=DIR" in done.stderr
