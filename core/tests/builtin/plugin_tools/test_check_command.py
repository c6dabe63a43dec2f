"""`plugins check`: which plugins do not work as they should."""

from __future__ import annotations

import pytest
from fakes import BROKEN, REASONS, FakeSite, install_broken, runner


@pytest.fixture
def sick(tmp_path):
    site = FakeSite(tmp_path / "sick")
    site.plugin("acme", runner("acme", factory="acme_heavy:make"))
    (site.folder / "acme_heavy.py").write_text("def make(model, options, *, name): ...\n")
    install_broken(site)
    return site


def test_the_others_pass_their_check(sick):
    result = sick.polycmp("plugins", "check", "acme")
    assert result.returncode == 0
    assert "acme (fake-acme 1.0): ok" in result.stdout


def test_check_fails_and_names_them(sick):
    result = sick.polycmp("plugins", "check", *BROKEN, "acme")
    assert result.returncode == 3
    assert "5 of 6 plugins do not work as they should" in result.stderr
    for _, reason in REASONS.values():
        assert reason in result.stdout


def test_a_plugin_that_is_not_there_is_named_with_a_close_one_and_with_what_to_install(polycmp):
    done = polycmp("plugins", "check", "toybax")
    assert done.status == 3
    assert "there is no plugin 'toybax'\n  why:  did you mean 'toybox'?" in done.err
    assert "pip install 'polycmp-trt" in polycmp("plugins", "check", "trt").err
