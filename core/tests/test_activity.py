"""What backends are doing, where another process can read it."""

from __future__ import annotations

import mmap
import threading

import pytest

from polycmp._activity import SIZE, Record, read


@pytest.fixture
def page():
    return mmap.mmap(-1, SIZE)


def test_what_is_done_is_there_for_as_long_as_it_is_done(page):
    record = Record(page)
    assert read(page) == ([], None)
    with record.doing("outer"):
        with record.doing("inner"):
            assert read(page) == (["inner"], None)
        assert read(page) == (["outer"], None)
    assert read(page) == ([], None)


def test_each_thread_does_something_of_its_own(page):
    record, begun, may_end = Record(page), threading.Event(), threading.Event()

    def work():
        with record.doing("there"):
            begun.set()
            may_end.wait(60)

    thread = threading.Thread(target=work)
    with record.doing("here"):
        thread.start()
        begun.wait(60)
        assert sorted(read(page)[0]) == ["here", "there"]
        may_end.set()
        thread.join()
        assert read(page) == (["here"], None)
        record.ending(3)
        assert read(page) == ([], 3)


def test_long_texts_and_many_threads_fit(page):
    record, all_here, may_end = Record(page), threading.Barrier(41), threading.Event()

    def work():
        with record.doing("\udcff" * 1000):
            all_here.wait(60)
            may_end.wait(60)

    threads = [threading.Thread(target=work) for _ in range(40)]
    for thread in threads:
        thread.start()
    all_here.wait(60)
    doing, status = read(page)
    assert (len(doing), {len(text) for text in doing}, status) == (16, {500}, None)
    may_end.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("content", [b"\xff" * 40, b"\x02\x00\x00\x00{}", b"\x04\x00\x00\x00null"])
def test_what_was_half_written_is_nothing(page, content):
    page[: len(content)] = content
    assert read(page) == ([], None)


def test_without_memory_nothing_is_kept(page):
    record = Record()
    with record.doing("alone"):
        record.share(page)
        assert read(page) == ([], None)
    record.ending(0)
    assert read(page) == ([], 0)
