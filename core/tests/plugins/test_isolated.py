"""Plugins that take their process along: looked at in a child, which may die."""

from __future__ import annotations

import os
import sys

from fakes import LOUD, SEGFAULT, install_broken, runner

from polycmp.plugins.isolated import list_plugins


def rows(timeout=20.0, **kwargs):
    return {row["name"]: row for row in list_plugins(os.environ, timeout=timeout, **kwargs)}


class TestList:
    def test_imports_nothing_here(self, site):
        site.plugin("good", runner("good"))
        row = rows()["good"]
        assert (row["package"], row["version"], row["state"], row["reason"]) == ("fake-good", "1.0", "ok", "")
        assert row["provides"] == [{"kind": "runner", "name": "good", "summary": "A fake.", "missing": []}]
        assert "fake_good" not in sys.modules

    def test_segfault_and_silent_exit_are_rows_and_the_rest_is_looked_at(self, site):
        site.plugin("aa_segfault", SEGFAULT)
        site.plugin("bb_exit", "import os, sys\nsys.stderr.write('licence expired')\nsys.stderr.flush()\nos._exit(3)\n")
        install_broken(site)
        site.plugin("good", runner("good"))
        found = rows()
        assert found["aa_segfault"]["state"] == "broken"
        assert "died with signal 11 (SIGSEGV)" in found["aa_segfault"]["reason"]
        assert "ended with exit status 3: licence expired" in found["bb_exit"]["reason"]
        assert "No module named" in found["cannot_import"]["reason"]
        assert found["good"]["state"] == "ok"

    def test_hang_is_ended(self, site):
        site.plugin("hangs", "import time\ntime.sleep(600)\n")
        site.plugin("good", runner("good"))
        found = rows(timeout=2.0)
        assert "did not answer for 2 s" in found["hangs"]["reason"]
        assert found["good"]["state"] == "ok"

    def test_noise_on_every_channel_does_no_harm(self, site):
        site.plugin("loud", LOUD + runner("loud"))
        assert rows()["loud"]["state"] == "ok"

    def test_missing_modules_make_it_incomplete_and_say_what_to_install(self, site):
        requires = ["polycmp", "not_there; extra == 'rt'"]
        site.plugin("hungry", runner("hungry", needs="('not_there',)"), requires=requires)
        row = rows()["hungry"]
        assert row["state"] == "incomplete"
        assert row["provides"][0]["missing"] == ["not_there"]
        [note] = row["notes"]
        assert "needs the Python module 'not_there'" in note
        assert "pip install 'fake-hungry[rt]'" in note

    def test_refused_aliases_are_notes(self, site):
        site.plugin("one", runner("one", options="O: x: int = opt(1, help='h', alias=('--shared', '--model'))"))
        site.plugin("two", runner("two", options="O: y: int = opt(1, help='h', alias='--shared')"))
        found = rows(reserved=["--model"])
        assert found["one"]["state"] == found["two"]["state"] == "ok"
        assert "--shared refused: also option 'y' of backend 'two' of fake-two" in found["one"]["notes"]
        assert "--model refused: also polycmp's own option" in found["one"]["notes"]
        assert "--shared refused: also option 'x' of backend 'one' of fake-one" in found["two"]["notes"]
