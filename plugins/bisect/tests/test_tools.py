"""pip and uv: an index that does not answer is told from a release that is not there."""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from polycmp_bisect.environments.tools import Done


@contextmanager
def index_of(folder):
    """A package index on this machine with the wheels of a folder; yields its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_words):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_where_one_of_several_indexes_is_gone_its_releases_are_not_held_for_impossible(place, monkeypatch):
    index, links = place.root / "index/toyconv", place.root / "links"
    index.mkdir(parents=True)
    links.mkdir()
    for wheel in place.shelf.wheels.glob("toyconv-*.whl"):
        shutil.copy(wheel, links if "-1.0-" in wheel.name else index)
    for name, value in {"NO_INDEX": "", "RETRIES": "1", "FIND_LINKS": str(links)}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    with index_of(index.parent) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        done, _ = place.over_toyconv("--bad", "2.0")
        assert "2.0 is good, not bad" in done.stderr
    done, _ = place.over_toyconv("--good", "1.0", "--bad", "1.2")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "toyconv 1.2 cannot be installed: a package index does not answer" in done.stderr
    assert "go on with --resume" in done.stderr
    assert place.made() == {"toyconv-2.0"}


@pytest.mark.parametrize(
    "said",
    [
        "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection "
        "broken by 'ProxyError('Cannot connect to proxy.')': /simple/toyrt/",
        "error: Request failed after 3 retries in 4.3s\n  cause: Failed to fetch: https://index/simple/rich/\n"
        "  cause: error sending request for url (https://index/simple/rich/)",
    ],
)
def test_what_pip_and_uv_say_of_an_index_that_does_not_answer_is_understood(said):
    assert Done(1, said).lacks_answers
    assert not Done(1, "ERROR: No matching distribution found for toyrt==9.9").lacks_answers


def test_an_index_that_never_answers_is_told_in_one_line(place, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(place.root / "nowhere"))
    done, _ = place.over_toyrt()
    assert done.returncode == 3
    assert "no package index that pip knows has toyrt, or none answers" in done.stderr
