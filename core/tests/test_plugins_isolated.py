"""Plugins that take their process along: looked at in a child, which may die."""

from __future__ import annotations

import os
import sys

import pytest
from fakes import FakeSite, install_broken, runner

from polycmp.plugins.discovery import discover
from polycmp.plugins.isolated import check_plugin, list_plugins

SEGFAULT = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
LOUD = "import os\nprint('noise')\nos.write(1, b'{\"row\": 1}\\nmore noise')\nos.write(2, b'and here')\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    site = FakeSite(tmp_path / "site")
    monkeypatch.syspath_prepend(str(site.folder))
    return site


def rows(timeout=20.0, **kwargs):
    return {row["name"]: row for row in list_plugins(os.environ, timeout=timeout, **kwargs)}


def check(name, timeout=20.0):
    [candidate] = [item for item in discover({}) if item.record.name == name]
    return check_plugin(candidate.record, os.environ, timeout=timeout)


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


class TestCheck:
    def test_good_plugin_says_what_was_loaded(self, site):
        site.plugin("good", runner("good", factory="fake_heavy:make"))
        (site.folder / "fake_heavy.py").write_text(LOUD + "def make(model, options, *, name): ...\n")
        result = check("good")
        assert result.problems == ()
        assert result.loaded == ("backend 'good' of fake-good: fake_heavy:make",)

    def test_segfault_of_a_heavy_library_is_reported_as_one(self, site):
        site.plugin("crashing", runner("crashing", factory="fake_heavy:make"))
        (site.folder / "fake_heavy.py").write_text(SEGFAULT)
        [problem] = check("crashing").problems
        assert problem == "loading fake_heavy:make: the process died with signal 11 (SIGSEGV)"

    def test_hang_is_a_time_out(self, site):
        site.plugin("hangs", runner("hangs", factory="fake_heavy:make"))
        (site.folder / "fake_heavy.py").write_text("import time\ntime.sleep(600)\n")
        [problem] = check("hangs", timeout=2.0).problems
        assert problem == "loading fake_heavy:make: the process did not answer for 2 s and was ended"

    @pytest.mark.parametrize(
        ("source", "heavy", "says"),
        [
            (runner("sick", needs="('not_there',)"), "", "needs the Python module 'not_there'"),
            (runner("sick", factory="fake_heavy:make"), "import not_there", "needs the Python module 'not_there'"),
            (runner("sick", factory="fake_heavy:make"), "make = 3", "fake_heavy:make is int, not callable"),
            (runner("sick", factory="fake_heavy:make"), "", "has no attribute 'make'"),
            ("import numpy\n" + runner("sick"), "", "its light module fake_sick also imports numpy"),
            ("raise SystemExit", "", "cannot be imported: SystemExit"),
        ],
    )
    def test_problems(self, site, source, heavy, says):
        site.plugin("sick", source)
        (site.folder / "fake_heavy.py").write_text(heavy)
        result = check("sick")
        assert any(says in problem for problem in result.problems)

    def test_excluded_plugin_is_a_problem_and_not_imported(self, site):
        site.plugin("too_new", SEGFAULT, requires=["polycmp>=99"])
        [problem] = check("too_new").problems
        assert problem.startswith("excluded: needs polycmp>=99")

    def test_hint_says_what_to_install(self, site):
        site.plugin("sick", runner("sick", needs="('not_there',)"))
        assert check("sick").hints == ("pip install not_there",)
